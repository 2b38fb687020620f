"""From letters to sounds: pairs of strings, no alignment given.

Run with the path of a file of training pairs (input, tab, sounds separated by blanks) and one of test pairs,
or without arguments on toy words whose sounds follow a few rules.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import trelliswork as tw
from trelliswork.metrics import edit_error

RULES = {"ch": ["tS"], "qu": ["k"], "ce": ["s", "e"], "ci": ["s", "i"], "c": ["k"], "h": [], "x": ["k", "s"]}
Words = tuple[list[str], list[list[str]]]


def toy_words(n: int, seed: int) -> Words:
    """Random words, read from left to right by the longest rule."""
    rng = random.Random(seed)
    parts = ["ch", "qu", "ce", "ci", "ca", "co", "ha", "xa", "la", "mo", "ti", "nu", "s"]
    words = ["".join(rng.choices(parts, k=rng.randint(2, 4))) for _ in range(n)]
    spoken = []
    for word in words:
        sounds, i = [], 0
        while i < len(word):
            part = word[i : i + 2] if word[i : i + 2] in RULES else word[i]
            sounds += RULES.get(part, [part])
            i += len(part)
        spoken.append(sounds)
    return words, spoken


def read(path: Path) -> Words:
    """Words and their sounds from a file."""
    rows = [line.rstrip("\n").split("\t") for line in path.open(encoding="utf-8")]
    return [row[0] for row in rows], [row[1].split() for row in rows]


def main() -> None:
    if len(sys.argv) == 3:
        (X, y), (X_test, y_test) = read(Path(sys.argv[1])), read(Path(sys.argv[2]))
    else:
        (X, y), (X_test, y_test) = toy_words(200, seed=0), toy_words(50, seed=1)
    model = tw.CRF(tw.Transducer()).fit(X, y)
    print(f"words right: {model.score(X_test, y_test):.0%}")
    print(f"wrong sounds: {edit_error(y_test, model.predict(X_test)):.1%}")

    word = X_test[0]
    for candidate in model.predict_kbest([word], k=3)[0]:
        print(f"{word}: {' '.join(candidate.output)} ({candidate.probability:.3f})")

    batch = model.pack([word])
    best = batch.predicted(model.part_scores(batch, [word]))
    print(
        " ".join(
            f"{letters}:{'+'.join(sounds) or '-'}" for letters, sounds in batch.alignments(best.codes)[0]
        )
    )


if __name__ == "__main__":
    main()
