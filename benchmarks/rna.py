"""RNA folding of uniform random sequences with the nearest-neighbour model: ours against ViennaRNA.

One thread each. Both score loops, with internal loops of up to 30 unpaired bases. Times are seconds of the
processor, which other work on the machine hardly changes, the least of several runs; ours include reading
the sequence and writing the structure, or the matrix of pair probabilities.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._measure import Peak, arguments, best, in_fresh_process, resident, write_results
from benchmarks.fold import LARGEST, LENGTHS, PF_LENGTHS, sequence, vienna

GENOME, WINDOW = 50_000, 150
FIRST = 100  # bases of the first sequence that somebody folds


def ours(repeat: int) -> dict[str, Any]:
    import trelliswork as tw

    model = tw.pretrained("rna")
    model.predict([sequence(400)])
    model.predict_marginals([sequence(400)])
    out: dict[str, Any] = {"viterbi": {}, "probabilities": {}}
    for n in LENGTHS:
        x = sequence(n)
        out["viterbi"][n], _ = best(lambda x=x: model.predict([x]), repeat, time.process_time)
        runs = repeat if n <= 2000 else 1
        out["probabilities"][n], _ = best(lambda x=x: model.predict_marginals([x]), runs, time.process_time)
    return out


def memory(repeat: int) -> dict[str, Any]:
    """Peaks of single calls, and a genome with a window."""
    import trelliswork as tw
    from trelliswork.cli._fold import with_gamma

    model = tw.pretrained("rna")
    model.predict([sequence(50)])
    model.predict_mea([sequence(400)])
    out = {"before": resident()}
    for name, call in (("viterbi", model.predict), ("probabilities", model.predict_mea)):
        with Peak() as peak:
            call([sequence(LARGEST)])
        out[name] = peak.value
    windowed = with_gamma(model, window=WINDOW)
    windowed.predict([sequence(400)])
    with Peak() as peak:
        out["seconds"], _ = best(lambda: windowed.predict([sequence(GENOME)]), 1, time.process_time)
    out["genome"] = peak.value
    return out


def first(repeat: int) -> dict[str, Any]:
    """``trelliswork fold``, start of the program included: seconds of the clock and of the processor."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.fa"
        path.write_text(f">one\n{sequence(FIRST)}\n", encoding="utf-8")
        for _ in range(repeat + 1):  # the first run may compile
            used, started = os.times(), time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "trelliswork", "fold", str(path)], check=True, capture_output=True
            )
            seconds, now = time.perf_counter() - started, os.times()
            busy = now.children_user + now.children_system - used.children_user - used.children_system
            out.append((seconds, busy))
    return dict(zip(("clock", "processor"), map(min, zip(*out[1:], strict=True)), strict=True))


def peer(repeat: int) -> dict[str, Any]:
    return vienna(repeat, time.process_time)


WORKERS = {"ours": ours, "memory": memory, "first": first, "vienna": peer}


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args.repeat)))
        return 0
    mine, used, start, other = (in_fresh_process("rna", name, args) for name in WORKERS)
    lines = []
    for title, key, name, lengths in (
        ("Best structure", "viterbi", "mfe", LENGTHS),
        ("All pair probabilities", "probabilities", "pf", PF_LENGTHS),
    ):
        lines += [
            f"{title}, seconds of the processor (ViennaRNA {other['version']})",
            "",
            "| bases | ours | ViennaRNA | times as fast | goal |",
            "| --- | --- | --- | --- | --- |",
        ]
        for n in map(str, lengths):
            a, b = mine[key][n], other[name][n]
            lines.append(f"| {int(n):,} | {a:.3f} | {b:.3f} | {b / a:.1f} | 5 |")
        lines.append("")
    lines += [
        f"All pair probabilities of {LARGEST:,} bases: {mine['probabilities'][str(LARGEST)]:.1f} s.",
        "",
        f"Peak memory at {LARGEST:,} bases: {used['viterbi']:.0f} MB for the best structure, "
        f"{used['probabilities']:.0f} MB for pair probabilities and the structure of most expected accuracy, "
        f"{used['before']:.0f} MB of which were taken before the call; goal: 1,500 MB.",
        "",
        f"{GENOME:,} bases with window={WINDOW}: {used['seconds']:.1f} s, {used['genome']:.0f} MB.",
        "",
        f"`trelliswork fold` of {FIRST} bases, start of the program included, compiled code at hand: "
        f"{start['clock']:.1f} s ({start['processor']:.1f} s of the processor); goal: 3 s.",
    ]
    write_results("rna", f"python -m benchmarks rna --repeat {args.repeat}", "\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
