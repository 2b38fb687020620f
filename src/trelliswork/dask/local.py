"""A cluster on this machine."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from typing import Any

__all__ = ["local_cluster"]

# Dask's processes look at themselves many times a second, for a page that few open: together a tenth of a
# core. Workers that fill up are still noticed, twice a second.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
}


@contextlib.contextmanager
def local_cluster(
    n_workers: int | None = None, *, memory: Any = "auto", dashboard: str | None = ":0"
) -> Iterator[Any]:
    """Client of a cluster of processes on this machine, which ends with the block.

    Every worker is a process with one thread, and does nothing but what it is asked: Dask's statistical
    profiler is off, and its other looks at itself are rare.

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
        Client(cluster, direct_to_workers=True) as client,  # nothing lies between them
    ):
        try:
            yield client
        finally:
            # A heartbeat that meets a scheduler which has just gone would print a traceback.
            with contextlib.suppress(Exception):
                client.run(_hush)


def _hush() -> None:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
