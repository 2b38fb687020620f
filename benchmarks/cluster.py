"""A conditional random field on a Dask cluster: one against two worker processes of one thread each.

Sentences are drawn from a hidden Markov model that was trained on CoNLL-2002 (es): lengths are those of the
corpus, labels and words come from the model. A gradient is one evaluation of the objective on all
samples, which workers hold encoded; the least time of some repeats counts. Workers run on this machine, so
that what is measured of the communication is that between processes; times for more workers are projected
from measured compute and communication, for a network as fast as these pipes and for one of 1 Gbit/s.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import RESULTS, arguments, best, in_fresh_process, resident, write_results
from benchmarks.ner import read

STORE = RESULTS / "cluster.json"  # what was measured, part by part
PER_PART = 200_000  # tokens of a partition
MAX_ITER, FEW_ITER = 10, 3  # of data that fit into one process, and of more
ONE_PROCESS = 2 * 10**6  # tokens
GBIT = 125e6  # bytes per second of 1 Gbit/s
LATENCY = 0.5e-3  # seconds for a message between machines


class Part:
    """Loads the sentences of a partition from a compact file, with features of their words."""

    def __init__(self, path: str):
        self.path = path

    def sentences(self) -> tuple[list[list[str]], list[list[str]]]:
        """Words and labels."""
        data = np.load(self.path)
        words, names, bounds = data["words"], data["names"], np.cumsum(data["lengths"])[:-1]
        X = [row.tolist() for row in np.split(words[data["tokens"]], bounds)]
        return X, [row.tolist() for row in np.split(names[data["codes"]], bounds)]

    def __call__(self) -> tuple[Any, Any]:
        """Features and labels."""
        X, y = self.sentences()
        return window().transform(X), y


def window() -> Any:
    from trelliswork.features import TokenWindow

    return TokenWindow(suffixes=(3,), flags=("title",))


def draw(folder: str, target: Path, n_tokens: int) -> list[Part]:
    """Files with so many tokens, drawn from a model of the corpus."""
    import trelliswork as tw

    train = read(folder, "train")
    words = [[token[0] for token in x] for x in train.X]
    model = tw.Generative(tw.Chain()).fit(words, train.y)
    space, k = model.space_, model.space_.n_labels
    chances = np.exp(model.log_prob_ if hasattr(model, "log_prob_") else model.coef_)
    n_real = len(space.attributes)
    table = chances[: (n_real + space.n_markers) * k].reshape(-1, k)
    emission = table[:n_real] / table[:n_real].sum(axis=0)
    start = table[n_real + space.marker_names.index("start")]
    move = chances[space.n_features - k * k :].reshape(k, k)
    start, move = start / start.sum(), move / move.sum(axis=1, keepdims=True)
    sizes = np.array([len(x) for x in words if x])
    rng = np.random.default_rng(0)
    by_label = [np.cumsum(emission[:, c]) for c in range(k)]
    parts, done = [], 0
    vocabulary = np.array(space.attributes)
    while done < n_tokens:
        lengths = rng.choice(sizes, int(min(PER_PART, n_tokens - done) / sizes.mean()) + 1)
        longest = int(lengths.max())
        labels = np.zeros((lengths.size, longest), dtype=np.int64)
        labels[:, 0] = rng.choice(k, lengths.size, p=start)
        steps = np.cumsum(move, axis=1)
        for t in range(1, longest):
            labels[:, t] = (rng.random(lengths.size)[:, None] > steps[labels[:, t - 1]]).sum(axis=1)
        codes = labels[np.arange(longest) < lengths[:, None]].clip(0, k - 1)
        tokens = np.empty(codes.size, dtype=np.int32)
        for c in range(k):
            mine = np.flatnonzero(codes == c)
            found = np.searchsorted(by_label[c], rng.random(mine.size) * by_label[c][-1])
            tokens[mine] = found.clip(0, n_real - 1)
        path = target / f"part-{len(parts):05d}.npz"
        np.savez(
            path,
            tokens=tokens,
            codes=codes.astype(np.int16),
            lengths=lengths,
            words=vocabulary,
            names=np.array(space.labels),
        )
        parts.append(Part(str(path)))
        done += codes.size
    return parts


def most_resident() -> float:
    """Largest resident memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def critical_seconds(client: Any) -> float:
    """Processor seconds so far of this process and of the worker that had the most."""
    return time.process_time() + max(client.run(time.process_time).values())


def structure() -> Any:
    import trelliswork as tw

    return tw.Chain(emissions="observed")


def work_local(args: Any, n_tokens: int) -> dict[str, float]:
    """All samples in the memory of this process."""
    import trelliswork as tw
    from trelliswork.learners.crf import fit_crf
    from trelliswork.shards.leaves import in_leaves

    with tempfile.TemporaryDirectory() as folder:
        parts = draw(args.data, Path(folder), n_tokens)
        loaded = [part.sentences() for part in parts]
        X, y = ([x for part in loaded for x in part[k]] for k in (0, 1))
        started = time.perf_counter()
        space, one = structure().compile(window().transform(X), y)
        batch = in_leaves(one)
        encode = time.perf_counter() - started
        w = np.zeros(space.n_features)
        one.expected(w)
        whole, _ = best(lambda: one.expected(w), args.repeat)
        tokens = float(one.n_tokens)
        batch.expected(w)
        seconds, _ = best(lambda: batch.expected(w), args.repeat)
        busy, _ = best(lambda: batch.expected(w), args.repeat, time.process_time)
        fit, _ = best(lambda: fit_crf(batch, w, l1=0.0, l2=0.1, max_iter=MAX_ITER, tol=0.0), 1)
        del X, y, loaded
        started = time.perf_counter()
        _, sharded = tw.Shards(parts, memory=1 << 40).compile(structure())
        encode_blocks = time.perf_counter() - started
        sharded.expected(w)
        blocks, _ = best(lambda: sharded.expected(w), args.repeat)
        fit_blocks, _ = best(lambda: fit_crf(sharded, w, l1=0.0, l2=0.1, max_iter=MAX_ITER, tol=0.0), 1)
        return {
            "encode": encode,
            "gradient": seconds,
            "busy": busy,
            "whole": whole,
            "fit": fit,
            "blocks": blocks,
            "encode_blocks": encode_blocks,
            "fit_blocks": fit_blocks,
            "weights": space.n_features,
            "tokens": tokens,
        }


def work_cluster(args: Any, n_tokens: int, n_workers: int) -> dict[str, float]:
    """Samples on worker processes of one thread each."""
    from distributed import Client, LocalCluster

    import trelliswork as tw
    from trelliswork.learners.crf import fit_crf

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit="4GB",
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = draw(args.data, Path(folder), n_tokens)
        there = tw.dask.Parts(parts, client=client)
        started = time.perf_counter()
        space, batch = there.compile(structure())
        encode = time.perf_counter() - started
        w = np.zeros(space.n_features)
        max_iter = MAX_ITER if n_tokens <= ONE_PROCESS else FEW_ITER
        batch.expected(w)
        seconds, _ = best(lambda: batch.expected(w + 0.0), args.repeat)  # a new array, which has to be sent
        busy, _ = best(lambda: batch.expected(w + 0.0), args.repeat, lambda: critical_seconds(client))
        send, _ = best(lambda: client.gather(client.scatter(w + 0.0, broadcast=True, hash=False)), 5)
        fit, _ = best(lambda: fit_crf(batch, w, l1=0.0, l2=0.1, max_iter=max_iter, tol=0.0), 1)
        memory, peak = max(client.run(resident).values()), max(client.run(most_resident).values())
        return {
            "encode": encode,
            "gradient": seconds,
            "busy": busy,
            "fit": fit,
            "memory": memory,
            "peak": peak,
            "send": send,
            "weights": space.n_features,
        }


def projected(found: dict[str, Any], n_workers: int, speed: float, latency: float) -> float:
    """Seconds of a gradient with more workers: compute is shared, sums go up a tree and weights come down."""
    depth = math.ceil(math.log2(n_workers)) if n_workers > 1 else 0
    there_and_back = 2 * (latency + 8 * found["weights"] / speed)
    return found["compute"] / n_workers + found["tasks"] + depth * there_and_back


def measure(args: Any) -> dict[str, Any]:
    """Measure the parts that were asked for; the others are those of the last run."""
    kept = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
    wanted = {
        "overhead": [f"local-{args.overhead}", f"cluster-1-{args.overhead}"],
        "workers": [f"cluster-1-{args.tokens}", f"cluster-2-{args.tokens}"],
        "huge": [f"cluster-2-{args.huge}"] if args.huge else [],
    }
    for part in wanted if args.part == "all" else args.part.split(","):
        rows = {}
        for worker in wanted[part]:
            rows[worker.rsplit("-", 1)[0]] = in_fresh_process("cluster", worker, args)
            print(worker, rows, file=sys.stderr, flush=True)
        if rows:
            rows["tokens"] = int(wanted[part][0].rsplit("-", 1)[1])
            kept[part] = {**rows, "date": str(datetime.date.today())}
            RESULTS.mkdir(parents=True, exist_ok=True)
            STORE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


def report(found: dict[str, Any]) -> str:
    """Tables of what was measured."""
    sections = {"overhead": overhead_table, "workers": workers_tables, "huge": huge_text}
    return "\n\n".join(make(found[part]) for part, make in sections.items() if part in found)


def overhead_table(found: dict[str, Any]) -> str:
    local, one = found["local"], found["cluster-1"]
    by_clock, busy = (one[name] / local[name] - 1 for name in ("gradient", "busy"))
    lines = [
        f"## Overhead at {local['tokens']:,.0f} tokens, {local['weights']:,.0f} weights ({found['date']})",
        "",
        "| where the samples are | a gradient, s | processor, s | 10 iterations, s | encoding, s |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| memory, as `CRF.fit(X, y)` has them | {local['gradient']:.3f} | {local['busy']:.3f} | "
        f"{local['fit']:.2f} | {local['encode']:.1f} |",
        f"| memory, read from partitions (`Shards`) | {local['blocks']:.3f} | | {local['fit_blocks']:.2f} | "
        f"{local['encode_blocks']:.1f} |",
        f"| one Dask worker | {one['gradient']:.3f} | {one['busy']:.3f} | {one['fit']:.2f} | "
        f"{one['encode']:.1f} |",
        "",
        f"Overhead of a gradient: {by_clock:+.0%} by the clock (wanted: at most 15 %), {busy:+.0%} in "
        "processor seconds of client and worker, which do not count what others do on the machine; of 10 "
        f"iterations: {one['fit'] / local['fit'] - 1:+.0%}. Partitions are read twice. As one batch without "
        f"leaves of the sum a gradient takes {local['whole']:.3f} s.",
    ]
    return "\n".join(lines)


def workers_tables(found: dict[str, Any]) -> str:
    large = {1: found["cluster-1"], 2: found["cluster-2"]}
    iterations = MAX_ITER if found["tokens"] <= ONE_PROCESS else FEW_ITER
    lines = [
        f"## One and two workers, {found['tokens']:,} tokens, {large[1]['weights']:,.0f} weights "
        f"({found['date']})",
        "",
        "| workers | a gradient, s | speed-up | processor, s | speed-up | "
        f"{iterations} iterations, s | encoding, s | memory of a worker, MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n, row in large.items():
        speed, busy = (large[1][name] / row[name] for name in ("gradient", "busy"))
        lines.append(
            f"| {n} | {row['gradient']:.3f} | {speed:.2f} | {row['busy']:.3f} | {busy:.2f} | "
            f"{row['fit']:.2f} | {row['encode']:.1f} | {row['memory']:.0f} |"
        )
    compute = large[1]["busy"]
    costs = {"compute": compute, "tasks": large[1]["send"], "weights": large[1]["weights"]}
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
        "depth of the tree. Seconds of a gradient, and worker-seconds that it costs:",
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
    row = found["cluster-2"]
    return (
        f"## {found['tokens']:,} tokens on two workers with at most 4 GB each ({found['date']})\n\n"
        f"{row['weights']:,.0f} weights. Encoding {row['encode']:.0f} s, a gradient {row['gradient']:.1f} s, "
        f"{FEW_ITER} iterations {row['fit']:.0f} s; most memory of a worker {row['peak']:.0f} MB, of which "
        f"{row['memory']:.0f} MB at the end."
    )


def main() -> int:
    args = arguments(
        __doc__.splitlines()[0],
        tokens=(10**7, "tokens for one against two workers"),
        overhead=(10**6, "tokens for the comparison with a local fit"),
        huge=(0, "tokens that two workers of 4 GB hold on disk; 0 leaves this out"),
        part=("all", "overhead, workers, huge, or several of them with commas; others stay as they are"),
    )
    if args.worker:
        kind, *numbers = args.worker.split("-")
        if kind == "local":
            found = work_local(args, int(numbers[0]))
        else:
            found = work_cluster(args, int(numbers[1]), int(numbers[0]))
        print(json.dumps(found))
        return 0
    found = measure(args)
    sizes = {"overhead": "overhead", "workers": "tokens", "huge": "huge"}
    options = [f"--{sizes[part]} {found[part]['tokens']}" for part in sizes if part in found]
    write_results("cluster", f"python -m benchmarks cluster {' '.join(options)}", report(found))
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    raise SystemExit(main())
