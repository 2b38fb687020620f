"""A cluster on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

__all__ = ["local_cluster"]

# Dask's workers look at their own stack a hundred times a second, for a page that few open.
_QUIET = {"distributed.worker.profile.enabled": False}


@contextlib.contextmanager
def local_cluster(
    n_workers: int | None = None, *, memory: Any = "auto", dashboard: str | None = ":0"
) -> Iterator[Any]:
    """Client of a cluster of processes on this machine, which ends with the block.

    Every worker is a process with one thread, and does nothing but what it is asked: Dask's statistical
    profiler is off.

    Parameters
    ----------
    n_workers : int or None, default=None
        Number of processes; None is that of the cores. More than cores bring nothing.
    memory : int, str or "auto", default="auto"
        Memory of a worker, for instance ``"4GB"``; with more, fewer samples go to the disk. "auto" shares
        out that of the machine.
    dashboard : str or None, default=":0"
        Address of Dask's page; None for no page.

    Yields
    ------
    distributed.Client
        For :class:`Parts` and the learners of this package, which take the client in use by default.

    Examples
    --------
    >>> import trelliswork as tw
    >>> with tw.dask.local_cluster(2) as client:  # doctest: +SKIP
    ...     model = tw.dask.CRF(tw.Chain(), client=client).fit("train-*.conll")
    """
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(_QUIET),
        LocalCluster(
            n_workers=n_workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory,
            dashboard_address=dashboard,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
