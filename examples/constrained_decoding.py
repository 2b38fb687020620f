"""Hard constraints: tagging schemes, forbidden transitions, labels fixed by a person."""

from __future__ import annotations

import trelliswork as tw

X = [["Rio", "de", "Janeiro", "is", "big"], ["Oslo", "is", "cold"], ["I", "like", "Rio"]]
y = [["B", "I", "I", "O", "O"], ["B", "O", "O"], ["O", "O", "B"]]
y = [[label if label == "O" else f"{label}-LOC" for label in row] for row in y]


def main() -> None:
    # scheme="BIO" makes it impossible to predict I-LOC after O or at the start.
    model = tw.CRF(tw.Chain(scheme="BIO"), l2=0.1).fit(X, y)
    sentence = ["de", "Janeiro", "is", "cold"]
    print("free      ", model.predict([sentence])[0])

    # A person fixes some tokens; the rest is decoded around them.
    allowed = [["B-LOC", None, {"O"}, None]]
    print("with hints", model.predict([sentence], allowed=allowed)[0])

    # Probabilities under the same constraints.
    for token, row in zip(sentence, model.predict_marginals([sentence], allowed=allowed)[0], strict=True):
        print(
            f"{token:10s}", {label: round(float(p), 2) for label, p in zip(model.classes_, row, strict=True)}
        )

    # Only these label pairs may stand side by side.
    pairs = [
        ("O", "O"),
        ("O", "B-LOC"),
        ("B-LOC", "O"),
        ("B-LOC", "I-LOC"),
        ("I-LOC", "I-LOC"),
        ("I-LOC", "O"),
    ]
    listed = tw.CRF(tw.Chain(transitions=pairs), l2=0.1).fit(X, y)
    print("listed    ", listed.predict([sentence])[0])


if __name__ == "__main__":
    main()
