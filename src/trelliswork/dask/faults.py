"""What can go wrong with a cluster, in one line."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

__all__ = ["SchedulerLost", "is_lost"]


class SchedulerLost(ConnectionError):
    """The scheduler of a cluster does not answer any more.

    Examples
    --------
    >>> from trelliswork.dask import SchedulerLost
    >>> issubclass(SchedulerLost, ConnectionError)
    True
    """

    @classmethod
    def of(cls, client: Any) -> SchedulerLost:
        """The error, with the address of the scheduler."""
        address = getattr(getattr(client, "scheduler", None), "address", None) or "its address"
        return cls(
            f"the Dask scheduler at {address} was lost; start the cluster again and fit again "
            "(keep_best=True keeps the best weights so far)"
        )


def is_lost(client: Any, error: BaseException) -> bool:
    """Whether an error comes from the loss of the scheduler, and not of a worker."""
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    if isinstance(error, (ClosedClientError, CommClosedError)):
        return True
    return isinstance(error, (CancelledError, OSError, RuntimeError)) and client.status != "running"
