"""Fold RNA of two families at once: one grammar for all, and one whose probabilities depend on the sequence.

Sequences of the second family could fold like those of the first, but do not. A grammar with fixed
probabilities cannot know; `KLRSO` sees which family a sequence is like, although nobody names the families.
"""

from __future__ import annotations

import numpy as np

import trelliswork as tw
from trelliswork.kernels import Composed, Normalized, Polynomial, Spectrum
from trelliswork.metrics import base_pair_scores

PAIRS = ["GC", "CG", "AU", "UA"]


def hairpin(rng: np.random.Generator) -> tuple[str, str]:
    """A stem of five pairs with a loop of four bases, and three bases on either side."""
    stem = [PAIRS[rng.integers(4)] for _ in range(5)]
    loop, left, right = ("".join(rng.choice(list("ACGU"), size=n)) for n in (4, 3, 3))
    inside = "".join(p[0] for p in stem) + loop + "".join(p[1] for p in reversed(stem))
    return left + inside + right, "...(((((....)))))..."


def bound(rng: np.random.Generator) -> tuple[str, str]:
    """The same, but a protein that binds to GGACUGG keeps it open."""
    return "GGACUGG" + hairpin(rng)[0], "." * 27


def main() -> None:
    rng = np.random.default_rng(0)
    samples = [make(rng) for _ in range(100) for make in (hairpin, bound)]
    X, y = [x for x, _ in samples], [structure for _, structure in samples]
    kernel = Composed(Normalized(Spectrum(3, 5)), Polynomial(3))
    for model in (tw.Generative(tw.RNA("g6")), tw.KLRSO(tw.RNA("g6"), kernel, reg=0.1, min_count=1)):
        model.fit(X[:150], y[:150])
        scores = base_pair_scores(y[150:], model.predict(X[150:]))
        print(f"{type(model).__name__:11} F of base pairs {scores.f1:.1%}")
    names, shares = model.predict_multinomials(X[150:152])["L"]
    opening = [i for i, (_, rule) in enumerate(names) if " F " in rule]  # L -> g F c and its like
    for x, row in zip(X[150:152], shares, strict=True):
        print(f"{x:27}  an element is a stem with probability {row[opening].sum():.1%}")


if __name__ == "__main__":
    main()
