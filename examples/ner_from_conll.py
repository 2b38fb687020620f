"""Named entities from a CoNLL file: read, window features, train, evaluate, save, load.

Run with the path of a training file (``word POS tag`` lines, blank line between
sentences) and a test file, or without arguments on a toy file that it writes itself.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from sklearn.pipeline import make_pipeline

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.io import read_conll
from trelliswork.metrics import entity_scores


def toy_file(path: Path, n: int, seed: int) -> Path:
    """Sentences such as "Ada Lovelace visited Paris" with their entities."""
    rng = random.Random(seed)
    first, last = ["Ada", "Alan", "Grace", "Emmy"], ["Lovelace", "Turing", "Hopper", "Noether"]
    places, verbs = ["Paris", "New York", "Rio", "Oslo"], ["visited", "left", "liked"]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(n):
            rows = [(rng.choice(first), "NP", "B-PER"), (rng.choice(last), "NP", "I-PER")]
            rows.append((rng.choice(verbs), "V", "O"))
            rows += [(w, "NP", "I-LOC" if i else "B-LOC") for i, w in enumerate(rng.choice(places).split())]
            file.writelines(" ".join(row) + "\n" for row in [*rows, (".", "F", "O")])
            file.write("\n")
    return path


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    if len(sys.argv) == 3:
        train_path, test_path = Path(sys.argv[1]), Path(sys.argv[2])
    else:
        train_path = toy_file(folder / "train.conll", 200, seed=0)
        test_path = toy_file(folder / "test.conll", 50, seed=1)
    train, test = read_conll(train_path), read_conll(test_path)

    # Words, suffixes, shape flags and the second column, for each token and its neighbours.
    window = TokenWindow(columns={"postag": 1})
    crf = tw.CRF(tw.Chain(emissions="observed", scheme="BIO"), l1=0.1, l2=0.1, n_jobs=-1)
    model = make_pipeline(window, crf).fit(train.X, train.y)
    print(entity_scores(test.y, model.predict(test.X)))

    tw.save(model, folder / "ner.tw")
    again = tw.load(folder / "ner.tw")
    assert again.predict(test.X) == model.predict(test.X)
    for label, rows in crf.tables(top=3)["top"].items():
        print(f"{label:8s}", ", ".join(f"{name} {weight:+.2f}" for name, weight in rows))


if __name__ == "__main__":
    main()
