"""Learning to align real proteins: learnt scores against published ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

import trelliswork as tw
from experiments._report import load, markdown, options, store, write
from experiments.alignment.references import Pair, balibase, families, prefab
from experiments.magic_moments.alignment import LETTERS
from trelliswork.losses import MissedPairs

MODES = ("global", "semiglobal")
OPENINGS, EXTENSIONS = (8, 10, 11, 12, 14, 16, 18), (0.5, 1, 2)
NATS = float(np.log(2.0) / 2.0)  # of the half bits of BLOSUM62
HOW = {False: "best alignment", True: "expected accuracy"}
MATRICES = ("BLOSUM45", "BLOSUM50", "BLOSUM80", "PAM250", "GONNET1992")


def protein(mode: str = "global", **more: Any) -> tw.Alignment:
    """Alignments of proteins; lower-case columns do not count."""
    return tw.Alignment(mode=mode, alphabet="protein", core="upper", unknown="zero", **more)


class Proteins:
    """Pairs of proteins with their reference alignments, packed once per mode."""

    def __init__(self, pairs: list[Pair]):
        self.pairs = pairs
        self._batches: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, mode: str) -> Any:
        """The pairs in one mode; all models of proteins have the same features in the same order."""
        if mode not in self._batches:
            X, y = [p.x for p in self.pairs], [p.y for p in self.pairs]
            self._batches[mode] = protein(mode).bind(X, y).pack(X, y, n_jobs=2)
        return self._batches[mode]

    def shares(self, model: Any, *, expected: bool = False) -> np.ndarray:
        """Share of the reference pairs of residues that a model recovers, per pair of proteins."""
        batch = self.batch(model.structure.mode)
        out = []
        for k in range(0, len(batch), 200):  # posteriors of cells take memory
            part = batch.subset(np.arange(k, min(k + 200, len(batch))))
            scores = part.scores(model.coef_)
            decoded = part.mea(scores) if expected else part.argmax(scores)
            out.append(1.0 - MissedPairs().evaluate(part, decoded.codes))
        return np.concatenate(out)


def published(matrix: str, open_: float, extend: float, mode: str, unit: float = 1.0) -> Any:
    """A published matrix with its gap scores."""
    weights = tw.alignment_weights(matrix, gap_open=-open_, gap_extend=-extend, letters=LETTERS)
    return tw.Fixed(protein(mode), {name: unit * value for name, value in weights.items()}).fit()


def best_published(matrix: str, pairs: Proteins) -> tuple[float, tuple[Any, ...]]:
    """Share and setting with the largest share on some pairs."""
    return max(
        (float(pairs.shares(published(matrix, open_, extend, mode)).mean()), (matrix, open_, extend, mode))
        for open_ in OPENINGS
        for extend in EXTENSIONS
        for mode in MODES
    )


def split(pairs: list[Pair], rng: np.random.Generator) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Training, development and test part; no family is in two of them."""
    family = families(pairs)
    order = rng.permutation(family.max() + 1)
    rank = np.argsort(order)[family]
    bounds = np.quantile(rank, [0.5, 0.65], method="lower")
    part = np.searchsorted(bounds, rank, side="left")
    return tuple([p for p, k in zip(pairs, part, strict=True) if k == side] for side in range(3))  # type: ignore[return-value]


class Kept:
    """Results of the parts of a long experiment, so that it can go on where it was stopped."""

    def __init__(self, name: str, protocol: dict[str, Any]):
        self.name = name
        before = load(name)
        self.results = before if before.get("protocol") == protocol else {"protocol": protocol}

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """What was computed before, or what ``compute`` returns now."""
        if name not in self.results:
            started = time.perf_counter()
            value = compute()
            seconds = time.perf_counter() - started
            self.results[name] = {"value": value, "seconds": seconds}
            store(self.name, self.results)
            print(f"{name}: {seconds:.0f} s", flush=True)
        return self.results[name]["value"]


def learners(iterations: int) -> dict[str, Any]:
    """What is fitted; the development part chooses among them and between two ways to decode."""
    prior = published("BLOSUM62", 11, 1, "global", NATS).weights
    out: dict[str, Any] = {}
    for mode in MODES:
        for l2 in (3.0, 10.0):
            out[f"CRF, prior BLOSUM62, {mode}, l2 {l2:g}"] = tw.CRF(
                protein(mode), l2=l2, prior=prior, max_iter=iterations, n_jobs=2
            )
        out[f"CRF, {mode}, l2 3"] = tw.CRF(protein(mode), l2=3.0, max_iter=iterations, n_jobs=2)
        out[f"generative, {mode}"] = tw.Generative(protein(mode), n_jobs=2)
    return out


def proteins(arguments: Sequence[str]) -> None:
    """PREFAB and BAliBASE: learnt scores against published ones on families held out."""
    args = options(
        arguments,
        train=(300, "most training pairs"),
        cells=(80_000, "most cells of a training pair"),
        iterations=(30, "iterations of the CRF"),
    )
    folder = Path(args.data) / "protein-align"
    rng = np.random.default_rng(9)
    train, dev, test = split(prefab(folder), rng)
    small = [p for p in train if len(p.x[0]) * len(p.x[1]) <= args.cells]
    small = [small[i] for i in sorted(rng.permutation(len(small))[: args.train])]
    X, y = [p.x for p in small], [p.y for p in small]
    kept = Kept("alignment/proteins", {k: getattr(args, k) for k in ("train", "cells", "iterations")})
    fitted = {}
    for name, learner in learners(args.iterations).items():
        weights = kept.get(name, lambda learner=learner: learner.fit(X, y).coef_.tolist())
        fitted[name] = tw.Fixed(learner.structure, np.array(weights)).fit(X, y)
    taken = frozenset().union(*(p.codes for p in train + dev))
    sets = {"PREFAB": (Proteins(train + dev), Proteins(dev), Proteins(test))}
    for name in ("RV11", "RV12"):
        tuned, held = third_of_families([p for p in balibase(folder, name) if not p.codes & taken])
        sets[name] = (Proteins(tuned), Proteins(tuned), Proteins(held))
    table, details, notes = [], [], []
    for name, (tuned, chooser, held) in sets.items():
        rows = published_rows(name, tuned, kept)
        shares = {
            (label, expected): kept.get(
                f"{label}, {expected}, {name} development",
                lambda model=model, e=expected, d=chooser: float(d.shares(model, expected=e).mean()),
            )
            for label, model in fitted.items()
            for expected in (False, True)
        }
        label, expected = max(shares, key=lambda key: shares[key])
        rows[f"learnt: {label}, {HOW[expected]}"] = (fitted[label], expected)
        recovered = [
            np.array(
                kept.get(
                    f"{name}, {label}",
                    lambda m=model, e=expected, h=held: h.shares(m, expected=e).tolist(),
                )
            )
            for label, (model, expected) in rows.items()
        ]
        for label, values in zip(rows, recovered, strict=True):
            table.append([name, label, f"{100 * values.mean():.2f}"])
        for label, values in list(zip(rows, recovered, strict=True))[1:-1]:
            details.append([name, label, *compared(recovered[-1], values, name, held)])
        notes += [f"{name}, {k}, {HOW[e]}: {100 * share:.2f}" for (k, e), share in shares.items()]
        sizes = ", ".join(f"{len(part)} {what}" for part, what in ((chooser, "development"), (held, "test")))
        notes.append(f"{name}: {sizes} pairs")
    body = "Share of the reference pairs of residues (capitals only) that are recovered, %, on families "
    body += "held out:\n\n" + markdown(["set", "scores", "share"], table)
    body += "\n\nGain of the learnt scores (paired; t-test over pairs, Wilcoxon over families):\n\n"
    head = ["set", "against", "gain", "p, pairs", "families", "gain, family means", "p, families"]
    body += markdown(head, details)
    body += (
        "\n\nPREFAB was split by family (pairs that share a structure, directly or not, stay together): "
        f"{len(train)} training, {len(dev)} development, {len(test)} test pairs. Learnt from {len(small)} of "
        f"its training pairs of at most {args.cells:,} cells, {args.iterations} iterations; only capitals "
        "count as known (the likelihood sums over all alignments that have these pairs). BAliBASE "
        "alignments that share a structure with training or development part are left out; of the others "
        "every third family is the development part of its set; nothing is learnt from BAliBASE. "
        "The development part of each set chooses learner, mode, regularisation and decoding, and for "
        "published matrices (with the training part of PREFAB) mode and gaps: opening, the first symbol, "
        f"{', '.join(map(str, OPENINGS))}; extension {', '.join(map(str, EXTENSIONS))}. Expected accuracy is "
        "how a probabilistic model decodes; BLOSUM62 in nats is one, and has a row with it.\n\n"
        "Shares on the development parts, %:\n\n"
    )
    body += "\n".join(f"- {note}" for note in notes)
    write("alignment/proteins", "Learnt alignment scores on proteins", body)


def published_rows(name: str, tuned: Proteins, kept: Kept) -> dict[str, tuple[Any, bool]]:
    """Published scores: as they are, and with the gaps and mode that are best on some pairs."""
    searched = [
        kept.get(f"{name}, {matrix}", lambda matrix=matrix: best_published(matrix, tuned))
        for matrix in ("BLOSUM62", *MATRICES)
    ]
    blosum, best = searched[0][1], max(searched)[1]
    return {
        "BLOSUM62 11/1, global": (published("BLOSUM62", 11, 1, "global"), False),
        f"BLOSUM62, best of search: {shown(blosum)}": (published(*blosum), False),
        f"best of all published: {best[0]} {shown(best)}": (published(*best), False),
        f"BLOSUM62, {shown(blosum)}, expected accuracy": (published(*blosum, unit=NATS), True),
    }


def third_of_families(pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Every third family, and the others."""
    chosen = set(sorted({p.name for p in pairs})[::3])
    return [p for p in pairs if p.name in chosen], [p for p in pairs if p.name not in chosen]


def shown(setting: Sequence[Any]) -> str:
    """Gap scores and mode of a setting."""
    return f"{setting[1]:g}/{setting[2]:g}, {setting[3]}"


def compared(ours: np.ndarray, theirs: np.ndarray, name: str, pairs: Proteins) -> list[Any]:
    """Mean gain and its tests, over pairs and over families."""
    gain = ours - theirs
    group = np.unique([p.name for p in pairs.pairs], return_inverse=True)[1]
    if name == "PREFAB":
        group = families(pairs.pairs)
    by_family = np.bincount(group, gain) / np.bincount(group)
    p_pairs, p_families = float(ttest_rel(ours, theirs).pvalue), float(wilcoxon(by_family).pvalue)
    return [
        f"{100 * gain.mean():+.2f}",
        f"{p_pairs:.2g}",
        by_family.size,
        f"{100 * by_family.mean():+.2f}",
        f"{p_families:.2g}",
    ]
