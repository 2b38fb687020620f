"""Pictures of the guide: ``python docs/pictures.py`` draws them again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import trelliswork as tw


def de_bruijn(text: str, path: Path) -> None:
    """Draw the graph of the bigrams of a string: one arrow for each, with its count."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "trelliswork"  # the same picture, the same bytes
    from matplotlib import pyplot
    from matplotlib.patches import FancyArrowPatch

    counts = tw.ngram_counts(text, 2)
    letters = list(dict.fromkeys("^" + text + "$"))
    place = {s: np.array([1.6 * i, 0.0]) for i, s in enumerate(letters)}
    figure, axes = pyplot.subplots(figsize=(7, 2.6))
    for gram, count in counts.items():
        a, b = place[gram[0]], place[gram[1]]
        jump = round(abs(b[0] - a[0]) / 1.6)
        bend = 0.0 if jump == 1 and gram[::-1] not in counts else 0.55 if jump > 1 else 0.35
        arrow = FancyArrowPatch(
            a,
            b,
            connectionstyle=f"arc3,rad={-bend}",
            arrowstyle="-|>",
            mutation_scale=16,
            shrinkA=15,
            shrinkB=15,
            linewidth=1.0 + 0.8 * (count - 1),
            color="#2c6fbb",
        )
        axes.add_patch(arrow)
        side = 1.0 if b[0] > a[0] else -1.0
        height = side * (0.12 + 0.5 * bend * abs(b[0] - a[0]))
        label = f"{gram} × {count}" if count > 1 else gram
        axes.text((a[0] + b[0]) / 2, height, label, ha="center", va="center", fontsize=11)
    for letter, (x, y) in place.items():
        axes.text(
            x,
            y,
            letter,
            ha="center",
            va="center",
            fontsize=14,
            zorder=3,
            bbox={"boxstyle": "circle,pad=0.35", "facecolor": "#eef3fa", "edgecolor": "#2c6fbb"},
        )
    axes.set(xlim=(-0.6, 1.6 * (len(letters) - 1) + 0.6), ylim=(-1.1, 1.1))
    axes.set_aspect("equal")
    axes.axis("off")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    de_bruijn("banana", Path(__file__).parent / "images" / "de-bruijn.svg")
