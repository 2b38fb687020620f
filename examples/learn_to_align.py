"""Learn alignment scores from a few aligned words, and see how sure the model is.

With a file name as argument the picture is written there (needs matplotlib).
"""

from __future__ import annotations

import sys

import trelliswork as tw

# English words and their German relatives.
WORDS = """night nacht, eight acht, light licht, daughter tochter, water wasser, father vater, mother mutter,
brother bruder, day tag, way weg, make machen, book buch, milk milch, church kirche, apple apfel"""


def main() -> None:
    X = [tuple(pair.split()) for pair in WORDS.split(",")]
    y = [_padded(*pair) for pair in X]
    structure = tw.Alignment("affine", canonical=True)
    model = tw.CRF(structure, l2=0.1).fit(X, y)
    print({name[0]: round(value, 2) for name, value in model.weights_by_name().items()})

    pair = ("weather", "wetter")
    for candidate in model.predict_kbest([pair], k=3)[0]:
        print(f"{candidate.probability:6.1%}", *candidate.output)
    print("most right pairs expected:", *model.predict_mea([pair])[0])
    path = tw.AlignPath.from_gapped(*model.predict([pair])[0])
    print(path.pretty(*pair))
    if len(sys.argv) > 1:
        from trelliswork.plots import posterior

        posterior(model, pair).figure.savefig(sys.argv[1], dpi=90)


def _padded(first: str, second: str) -> tuple[str, str]:
    """Letters matched from the front, the rest against gaps; equal ends stay together."""
    end = 0
    while end < min(len(first), len(second)) and first[-1 - end] == second[-1 - end]:
        end += 1
    heads = first[: len(first) - end], second[: len(second) - end]
    width = max(map(len, heads))
    tail = first[len(first) - end :]
    return heads[0].ljust(width, "-") + tail, heads[1].ljust(width, "-") + tail


if __name__ == "__main__":
    main()
