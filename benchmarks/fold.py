"""RNA folding of uniform random sequences: ours (G6) against ViennaRNA, one thread each.

Not the same model: ViennaRNA minimises a nearest-neighbour energy of several thousand parameters, G6 has 19
rules. Both read a sequence and write the best nested structure, or all pair probabilities. Times are
wall seconds, the least of several runs (ViennaRNA's partition function: one run beyond 1,000 bases).
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

from benchmarks._measure import Peak, arguments, best, in_fresh_process, resident, write_results

LENGTHS = (500, 1000, 2000, 4000)
PF_LENGTHS = (500, 1000, 2000)
LARGEST = 4000


def sequence(n: int) -> str:
    return "".join(random.Random(n).choices("ACGU", k=n))


def model() -> Any:
    """G6 with weights from a few hand-made structures; the speed hardly depends on them."""
    import trelliswork as tw

    X = ["GGGAAACCC", "GCGCUUAAGCGC", "GGAUUCGACC", "AAGGGUUUUCCCUUGGCAAAAGCC"]
    y = ["(((...)))", "((((....))))", "((......))", "..(((....)))..(((....)))"]
    return tw.Generative(tw.RNA("g6")).fit(X, y)


def ours(repeat: int) -> dict[str, Any]:
    fitted = model()
    fitted.predict([sequence(50)])
    fitted.predict_marginals([sequence(50)])
    out: dict[str, Any] = {"viterbi": {}, "probabilities": {}}
    for n in LENGTHS:
        x = sequence(n)
        out["viterbi"][n], _ = best(lambda x=x: fitted.predict([x]), repeat)
    for n in LENGTHS:
        x = sequence(n)
        runs = repeat if n <= 2000 else 1
        out["probabilities"][n], _ = best(lambda x=x: fitted.predict_marginals([x]), runs)
    return out


def ours_memory(repeat: int) -> dict[str, Any]:
    """Peak of one Viterbi call, in a process that has done nothing else."""
    fitted = model()
    fitted.predict([sequence(50)])
    before = resident()
    with Peak() as peak:
        fitted.predict([sequence(LARGEST)])
    return {"before": before, "peak": peak.value}


def vienna(repeat: int, clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    import RNA

    out: dict[str, Any] = {"mfe": {}, "pf": {}, "version": RNA.__version__}
    RNA.fold(sequence(50))
    for n in LENGTHS:
        x = sequence(n)
        runs = repeat if n <= 2000 else 1
        out["mfe"][n], _ = best(lambda x=x: RNA.fold(x), runs, clock)
    for n in PF_LENGTHS:
        x = sequence(n)

        def partition(x: str = x) -> Any:
            compound = RNA.fold_compound(x)
            _, energy = compound.mfe()  # sets the scale that keeps the doubles in range
            compound.exp_params_rescale(energy)
            return compound

        compound = partition()
        runs = repeat if n <= 1000 else 1

        def pf(compound: Any = compound) -> Any:
            compound.pf()
            return compound.bpp()

        out["pf"][n], _ = best(pf, runs, clock)
    return out


WORKERS = {"ours": ours, "ours-memory": ours_memory, "vienna": vienna}


def main() -> int:
    args = arguments(__doc__ or "")
    if args.worker:
        print(json.dumps(WORKERS[args.worker](args.repeat)))
        return 0
    mine, memory, peer = (in_fresh_process("fold", name, args) for name in WORKERS)
    lines = [
        f"Best structure, seconds (ViennaRNA {peer['version']}: minimum free energy)",
        "",
        "| bases | G6 Viterbi | ViennaRNA | times as fast | goal |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n in map(str, LENGTHS):
        a, b = mine["viterbi"][n], peer["mfe"][n]
        lines.append(f"| {int(n):,} | {a:.4f} | {b:.3f} | {b / a:.1f} | {6 if n == str(LARGEST) else 10} |")
    lines += [
        "",
        f"Memory at {LARGEST:,} bases: peak {memory['peak']:.0f} MB, {memory['before']:.0f} MB of which "
        "were taken before the call (Python, NumPy, Numba); goal: under 400 MB.",
        "",
        "All pair probabilities, seconds (ViennaRNA: partition function and pair probabilities)",
        "",
        "| bases | G6 inside-outside | ViennaRNA | times as fast | goal |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n in map(str, LENGTHS):
        a, b = mine["probabilities"][n], peer["pf"].get(n)
        rest = "not run | - | -" if b is None else f"{b:.2f} | {b / a:.1f} | 10"
        lines.append(f"| {int(n):,} | {a:.3f} | {rest} |")
    write_results("fold", "python -m benchmarks fold", "\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
