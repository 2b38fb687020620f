"""The scheduler is killed while a fit runs: the best weights are kept if asked, else one clear error."""

import os
import re
import warnings

import dask
import distributed
import numpy as np
import pytest
from distributed.deploy.subprocess import SubprocessScheduler

import trelliswork as tw
from trelliswork.dask import blocks


def tagged(n=40):
    rng = np.random.default_rng(0)
    y = [["ABC"[k] for k in rng.integers(0, 3, rng.integers(1, 6))] for _ in range(n)]
    X = [[a.lower() + str(rng.integers(4)) if rng.random() < 0.8 else "x" for a in row] for row in y]
    return X, y


def main():
    X, y = tagged()
    dask.config.set({"distributed.comm.timeouts.connect": "1s", "distributed.comm.timeouts.tcp": "12s"})
    scheduler = {"cls": SubprocessScheduler, "options": {"scheduler_kwargs": {"host": "127.0.0.1"}}}
    worker = {"cls": distributed.Worker, "options": {"nthreads": 1}}  # in this process: one start less
    cluster = distributed.SpecCluster({0: worker}, scheduler)
    client = distributed.Client(cluster)
    calls, submitted = [], blocks.ClusterBlocks._submitted

    def killing(self, *args):
        futures = submitted(self, *args)
        calls.append(args)
        if len(calls) == 12:
            cluster.scheduler.process.kill()
        return futures

    blocks.ClusterBlocks._submitted = killing
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = tw.dask.CRF(tw.Chain(), client=client, keep_best=True).fit([(X, y)])
    assert any(re.search("scheduler.* was lost", str(w.message)) for w in caught)
    assert any(issubclass(w.category, tw.FitInterrupted) for w in caught)
    assert model.n_iter_ > 0
    print(model.stop_)
    print("good" if model.to_local().score(X, y) > 0.5 else "bad")
    with pytest.raises(tw.dask.SchedulerLost, match=r"the Dask scheduler at .* was lost"):
        tw.dask.CRF(tw.Chain(), client=client).fit([(X, y)])
    print("SchedulerLost", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
    os._exit(0)  # threads of the cluster wait for what is gone
