"""A conditional random field on a Dask cluster: one against two worker processes of one thread each.

Sentences are drawn from a hidden Markov model that was trained on CoNLL-2002 (es): lengths are those of the
corpus, labels and words come from the model; workers draw their partitions themselves. A gradient is one
evaluation of the objective on all samples, which workers hold encoded. What is compared is asked in turn, so
that a machine that is slower for a while is slower for all of it; the median of some repeats counts. Workers
run on this machine, so that what is measured of the communication is that between processes; times for more
workers are projected from measured compute and communication, for a network as fast as these pipes and for
one of 1 Gbit/s.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._drawn import parts_of, sentences, window
from benchmarks._measure import RESULTS, arguments, best, in_fresh_process, resident, write_results

STORE = RESULTS / "cluster.json"  # what was measured, part by part
PER_PART = {10**6: 200_000, 10**7: 500_000}  # tokens of a partition, by the number of all; else a million
MAX_ITER, FEW_ITER = 10, 1  # of data that fit into one process, and of more
GBIT = 125e6  # bytes per second of 1 Gbit/s
LATENCY = 0.5e-3  # seconds for a message between machines
MEMORY = "4GB"  # of a worker


def most_resident() -> float:
    """Largest resident memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def critical_seconds(client: Any) -> float:
    """Processor seconds so far of this process and of the worker that had the most."""
    return time.process_time() + max(client.run(time.process_time).values())


def structure() -> Any:
    import trelliswork as tw

    return tw.Chain(emissions="observed")


def drawn(args: Any, folder: str, n_tokens: int) -> list[Any]:
    return parts_of(args.data, Path(folder), n_tokens, PER_PART.get(n_tokens, 10**6))


def fitted(batch: Any, w: np.ndarray, max_iter: int) -> float:
    """Seconds of some iterations."""
    from trelliswork.learners.crf import fit_crf

    return best(lambda: fit_crf(batch, w, l1=0.0, l2=0.1, max_iter=max_iter, tol=0.0), 1)[0]


def in_turn(
    asked: dict[str, tuple[Any, Callable[[], float]]], w: np.ndarray, repeat: int
) -> dict[str, dict[str, float]]:
    """Gradients of batches in turn, after one that does not count: medians by the clock and of processors."""
    for batch, _ in asked.values():
        batch.expected(w + 0.0)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(repeat):
        for name, (batch, clock) in asked.items():
            busy, started = clock(), time.perf_counter()
            batch.expected(w + 0.0)  # a new array, which has to be sent
            seconds = time.perf_counter() - started
            taken[name].append((seconds, clock() - busy))
    return {
        name: {"gradient": median(s for s, _ in rows), "busy": median(b for _, b in rows)}
        for name, rows in taken.items()
    }


def work_overhead(args: Any, n_tokens: int) -> dict[str, Any]:
    """The same samples in the memory of this process, read from partitions, and on one worker."""
    import trelliswork as tw
    from trelliswork.shards.leaves import in_leaves

    with tempfile.TemporaryDirectory() as folder, tw.dask.local_cluster(1, memory=MEMORY) as client:
        parts = drawn(args, folder, n_tokens)
        X, y = sentences(parts)
        encode = {}
        started = time.perf_counter()
        space, one = structure().compile(window().transform(X), y)
        local = in_leaves(one)
        encode["local"] = time.perf_counter() - started
        del X, y
        started = time.perf_counter()
        _, shards = tw.Shards(parts, memory=1 << 40).compile(structure())
        encode["shards"] = time.perf_counter() - started
        started = time.perf_counter()
        _, there = tw.dask.Parts(parts, client=client).compile(structure())
        encode["worker"] = time.perf_counter() - started
        w = np.zeros(space.n_features)
        clocks = {"local": time.process_time, "shards": time.process_time}
        clocks["worker"] = lambda: critical_seconds(client)
        batches = {"local": local, "shards": shards, "worker": there}
        rows: dict[str, Any] = in_turn({k: (batches[k], clocks[k]) for k in batches}, w, args.repeat)
        fits: dict[str, list[float]] = {name: [] for name in batches}
        for _ in range(2):
            for name, batch in batches.items():
                fits[name].append(fitted(batch, w, MAX_ITER))
        for name, row in rows.items():
            row |= {"fit": min(fits[name]), "encode": encode[name]}
        return rows | {"weights": space.n_features, "tokens": n_tokens}


def work_workers(args: Any, n_tokens: int) -> dict[str, Any]:
    """The same samples on a cluster of one worker and on one of two, both of which are there all the time."""
    import trelliswork as tw

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        parts = drawn(args, folder, n_tokens)
        rows: dict[str, Any] = {}
        asked, clients = {}, {}
        for n in (1, 2):
            client = clients[str(n)] = stack.enter_context(tw.dask.local_cluster(n, memory=MEMORY))
            started = time.perf_counter()
            space, batch = tw.dask.Parts(parts, client=client).compile(structure())
            rows[str(n)] = {"encode": time.perf_counter() - started}
            asked[str(n)] = batch, lambda client=client: critical_seconds(client)
        w = np.zeros(space.n_features)
        for n, row in in_turn(asked, w, args.repeat).items():
            rows[n] |= row | {"send": sent(clients[n], w), "fit": fitted(asked[n][0], w, FEW_ITER)}
            rows[n] |= memory(clients[n])
        rows |= {"leaves": int(asked["1"][0].blocks.lengths.size), "iterations": FEW_ITER}
        return rows | {"weights": space.n_features, "tokens": n_tokens}


def work_huge(args: Any, n_tokens: int) -> dict[str, Any]:
    """More samples than two workers have memory for."""
    import trelliswork as tw

    with (
        tempfile.TemporaryDirectory() as folder,
        tw.dask.local_cluster(2, memory=MEMORY) as client,
    ):
        parts = drawn(args, folder, n_tokens)
        whole = time.perf_counter()
        space, batch = tw.dask.Parts(parts, client=client).compile(structure())
        encode = time.perf_counter() - whole
        print(f"encoded after {encode:.0f} s; {memory(client)}", file=sys.stderr, flush=True)
        w = np.zeros(space.n_features)
        first, _ = best(lambda: batch.expected(w + 0.0), 1)
        print(f"first gradient {first:.0f} s; {memory(client)}", file=sys.stderr, flush=True)
        busy = critical_seconds(client)
        fit = fitted(batch, w, args.iterations)
        row = {"encode": encode, "gradient": first, "fit": fit, "iterations": args.iterations}
        row |= {"busy": critical_seconds(client) - busy, "whole": time.perf_counter() - whole}
        return row | memory(client) | {"weights": space.n_features, "tokens": n_tokens}


def sent(client: Any, w: np.ndarray) -> float:
    """Seconds that weights take to all workers and back."""
    return best(lambda: client.gather(client.scatter(w + 0.0, broadcast=True, hash=False)), 5)[0]


def memory(client: Any) -> dict[str, float]:
    """Of the worker that has the most, now and at its largest."""
    return {"memory": max(client.run(resident).values()), "peak": max(client.run(most_resident).values())}


def projected(found: dict[str, Any], n_workers: int, speed: float, latency: float) -> float:
    """Seconds of a gradient with more workers: leaves are shared out, weights go down a tree, sums up."""
    depth = math.ceil(math.log2(n_workers)) if n_workers > 1 else 0
    there_and_back = 2 * (latency + 8 * found["weights"] / speed)
    leaves = found["leaves"]  # the units of work
    return found["compute"] * math.ceil(leaves / n_workers) / leaves + found["tasks"] + depth * there_and_back


def measure(args: Any) -> dict[str, Any]:
    """Measure the parts that were asked for; the others are those of the last run."""
    kept = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    kept = {part: row for part, row in kept.items() if "weights" in row}  # earlier runs had another form
    sizes = {"overhead": args.overhead, "workers": args.tokens, "huge": args.huge}
    for part in sizes if args.part == "all" else args.part.split(","):
        if not sizes[part]:
            continue
        found = in_fresh_process("cluster", f"{part}-{sizes[part]}-{args.iterations}", args)
        print(part, found, file=sys.stderr, flush=True)
        kept[part] = {**found, "date": str(datetime.date.today())}
        RESULTS.mkdir(parents=True, exist_ok=True)
        STORE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


def report(found: dict[str, Any]) -> str:
    """Tables of what was measured."""
    sections = {"overhead": overhead_table, "workers": workers_tables, "huge": huge_text}
    return "\n\n".join(make(found[part]) for part, make in sections.items() if part in found)


def overhead_table(found: dict[str, Any]) -> str:
    local, one = found["local"], found["worker"]
    by_clock, busy, fit = (one[name] / local[name] - 1 for name in ("gradient", "busy", "fit"))
    names = {
        "local": "memory, as `CRF.fit(X, y)` has them",
        "shards": "memory, read from partitions (`Shards`)",
        "worker": "one Dask worker",
    }
    lines = [
        f"## Overhead at {found['tokens']:,.0f} tokens, {found['weights']:,.0f} weights ({found['date']})",
        "",
        f"| where the samples are | a gradient, s | processor, s | {MAX_ITER} iterations, s | encoding, s |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for key, name in names.items():
        row = found[key]
        lines.append(
            f"| {name} | {row['gradient']:.3f} | {row['busy']:.3f} | {row['fit']:.2f} | {row['encode']:.1f} |"
        )
    lines += [
        "",
        f"Overhead of a gradient: {by_clock:+.0%} by the clock (wanted: at most 15 %), {busy:+.0%} in "
        "processor seconds of client and worker together, which do not count what others do on the machine; "
        f"of {MAX_ITER} iterations: {fit:+.0%} by the clock (the lesser of two runs each). Partitions are "
        "drawn and read twice, and that is in the time of their encoding.",
    ]
    return "\n".join(lines)


def workers_tables(found: dict[str, Any]) -> str:
    large = {1: found["1"], 2: found["2"]}
    lines = [
        f"## One and two workers, {found['tokens']:,} tokens, {found['weights']:,.0f} weights "
        f"({found['date']})",
        "",
        "| workers | a gradient, s | speed-up | processor, s | speed-up | "
        f"fit, max_iter={found['iterations']}, s | encoding, s | memory of a worker, MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n, row in large.items():
        speed, busy = (large[1][name] / row[name] for name in ("gradient", "busy"))
        lines.append(
            f"| {n} | {row['gradient']:.3f} | {speed:.2f} | {row['busy']:.3f} | {busy:.2f} | "
            f"{row['fit']:.2f} | {row['encode']:.1f} | {row['memory']:.0f} |"
        )
    compute = large[1]["busy"]
    costs = {"compute": compute, "tasks": large[1]["send"], "weights": found["weights"]}
    costs["leaves"] = found["leaves"]
    pipes = 8 * costs["weights"] / max(large[1]["send"] / 2, 1e-9)
    lines += [
        "",
        "Wanted: 1.8 times for the gradient. Processor seconds are those of the client and of the worker "
        "that has the most: what a gradient takes where nothing else runs.",
        "",
        "## Projected from compute and communication",
        "",
        f"A gradient takes {compute:.2f} s of compute; sending {costs['weights']:,.0f} weights and getting "
        f"as many back takes {large[1]['send'] * 1e3:.0f} ms here. An iteration moves weights x 8 bytes x "
        f"depth of the tree. Leaves of the sum, of which there are {costs['leaves']}, are shared out as a "
        "whole. Seconds of a gradient, and worker-seconds that it costs:",
        "",
        "| workers | depth | MB moved | these pipes, s | cost | 1 Gbit/s, s | cost |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    previous = None
    ends = []
    for n in (1, 2, 5, 10, 20, 50, 100, 200):
        depth = math.ceil(math.log2(n)) if n > 1 else 0
        near = projected(costs, n, pipes, 0.0)
        far = projected(costs, n, GBIT, LATENCY)
        moved = 8 * costs["weights"] * max(depth, 1) / 1e6
        lines.append(
            f"| {n} | {depth} | {moved:.0f} | {near:.3f} | {n * near:.1f} | {far:.3f} | {n * far:.1f} |"
        )
        if previous is not None and far > 0.8 * previous[1]:
            ends.append((previous[0], n))
        previous = n, far
    if ends:
        a, b = ends[0]
        lines += [
            "",
            f"From {a} to {b} workers a gradient becomes less than 20 % quicker on 1 Gbit/s: more workers "
            f"than about {a} do not pay for this many tokens.",
        ]
    return "\n".join(lines)


def huge_text(found: dict[str, Any]) -> str:
    tokens = found["tokens"]
    iterations = f"{found['iterations']} iteration" + "s" * (found["iterations"] != 1)
    lines = [
        f"## {tokens:,} tokens on two workers with at most {MEMORY} each ({found['date']})",
        "",
        f"{found['weights']:,.0f} weights. Partitions are drawn on the workers, twice; encoding takes "
        f"{found['encode']:.0f} s, a gradient {found['gradient']:.1f} s, {iterations} {found['fit']:.0f} s "
        f"by the clock ({found['busy']:.0f} s of processors); all of it {found['whole'] / 60:.1f} minutes. "
        f"Most memory of a worker: {found['peak']:.0f} MB, of which {found['memory']:.0f} MB at the end; "
        "what goes beyond a quarter of 4 GB is in files that are mapped into memory.",
    ]
    return "\n".join(lines)


def main() -> int:
    args = arguments(
        __doc__.splitlines()[0],
        tokens=(10**7, "tokens for one against two workers"),
        overhead=(10**6, "tokens for the comparison with a local fit"),
        huge=(0, "tokens that two workers of 4 GB hold on disk; 0 leaves this out"),
        iterations=(1, "iterations on these"),
        part=("all", "overhead, workers, huge, or several of them with commas; others stay as they are"),
    )
    if args.worker:
        part, n_tokens, args.iterations = args.worker.split("-")
        args.iterations = int(args.iterations)
        work = {"overhead": work_overhead, "workers": work_workers, "huge": work_huge}[part]
        print(json.dumps(work(args, int(n_tokens))))
        return 0
    found = measure(args)
    sizes = {"overhead": "overhead", "workers": "tokens", "huge": "huge"}
    options = [f"--{sizes[part]} {found[part]['tokens']}" for part in sizes if part in found]
    write_results("cluster", f"python -m benchmarks cluster {' '.join(options)}", report(found))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    raise SystemExit(main())
