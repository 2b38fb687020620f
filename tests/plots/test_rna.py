"""Arc diagrams."""

from __future__ import annotations

import io

import numpy as np
import pytest

from trelliswork import InputError

pytest.importorskip("matplotlib")
from trelliswork.plots._radial import radial
from trelliswork.plots.rna import _COLORS, arcs, dotplot, mountain, structure
from trelliswork.structures import pair_table


def test_arcs_of_one_structure():
    ax = arcs("GGGAAACCC", "(((...)))", title="hairpin")
    assert len(ax.patches) == 3
    assert ax.get_title() == "hairpin"
    assert [t.get_text() for t in ax.texts] == list("GGGAAACCC")
    out = io.BytesIO()
    ax.figure.savefig(out, format="png")
    assert out.getvalue().startswith(b"\x89PNG")


def test_arcs_against_a_reference():
    ax = arcs("GGGAAACCCA", "((.....)).", "(((...))).")
    from matplotlib.colors import to_hex

    colors = [to_hex(patch.get_edgecolor()) for patch in ax.patches]
    assert sorted(colors) == sorted([_COLORS["right"]] * 4 + [_COLORS["missed"]])
    ax = arcs("GGGAAACCCA", "(........)", "..........")
    assert [to_hex(patch.get_edgecolor()) for patch in ax.patches] == [_COLORS["wrong"]]


def test_long_sequences_have_no_letters():
    ax = arcs("A" * 400, "." * 400)
    assert not ax.texts
    assert len(ax.lines) == 1


def test_mistakes():
    with pytest.raises(InputError, match="9 bases but structure has 3 positions"):
        arcs("GGGAAACCC", "...")
    with pytest.raises(InputError, match="reference has"):
        arcs("GGG", "...", "....")
    with pytest.raises(InputError, match="unbalanced"):
        arcs("GGG", "(..")


CLOVER = "(((((((..((((........)))).(((((.......))))).....(((((.......))))))))))))...."


def crossings(places):
    """Number of sides of the chain that cross another."""
    a, b = places[:-1], places[1:]

    def side(p, q, r):
        return ((q - p).conjugate() * (r - p)).imag

    found = 0
    for k in range(len(a)):
        for m in range(k + 2, len(a)):
            first = side(a[k], b[k], a[m]) * side(a[k], b[k], b[m])
            second = side(a[m], b[m], a[k]) * side(a[m], b[m], b[k])
            found += first < 0 and second < 0
    return found


ARM = "(((((..((((.....(((((((....)))))))))))..)))))"
JUNCTION = f"(((((.{ARM}.{ARM}..((((...))))..)))))"
STAR = f"(((({'.((((((((((....))))))))))' * 7}.))))"  # its arms hang down to the chain
STRUCTURES = {
    "clover leaf": CLOVER,
    "long loop": "((((((...................((((((.......))))))..((((((.......))))))))))))....",
    "two helices": "((((....))))..((..((...))..))",
    "no pair": "." * 12,
    "hairpins": "(((...)))" * 4,
    "empty loop": "(()).",
    "junctions": f"..((((((.{JUNCTION}.{ARM}{'.' * 40}((((....))))..))))))....",
    "star beside a hairpin": f"((((....)))).{STAR}........",
    "two stars": f"........{STAR}................{STAR}........",
    "bent arms": f"((((.{ARM}((((......((((......((((......(((({JUNCTION})))).))))..))))...)))).{ARM}))))",
}


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_planar_places(structure):
    table = pair_table(structure)
    places = radial(table)
    steps = np.abs(np.diff(places))
    assert steps.min() > 0.9
    assert np.allclose([abs(places[i] - places[j]) for i, j in enumerate(table) if i < j], 1.5)
    apart = np.abs(places[:, None] - places) + 10 * np.eye(len(places))
    assert apart.min() > 0.9
    assert crossings(places) == 0


def drawn(rng, n):
    """A random structure with many short helices, whose branches have little room."""
    out, stack = ["."] * n, [(0, n)]
    while stack:
        a, b = stack.pop()
        size = int(rng.integers(2, 6))
        if b - a < 2 * size + 3:
            continue
        first = a + int(rng.integers(0, min(6, b - a - 2 * size - 2)))
        last = int(rng.integers(first + 2 * size + 3, b + 1))
        out[first : first + size] = "(" * size
        out[last - size : last] = ")" * size
        stack += [(first + size, last - size), (last, b)]
    return "".join(out)


def test_no_lines_cross_in_random_structures():
    rng = np.random.default_rng(3)
    for n in (60, 120, 200, 200, 300):
        structure = drawn(rng, n)
        assert crossings(radial(pair_table(structure))) == 0, structure


def test_structure_pictures():
    n = len(CLOVER)
    ax = structure("G" * n, CLOVER, probabilities={(0, 71): 0.9}, title="clover")
    assert len(ax.collections[0].get_segments()) == CLOVER.count("(")
    for form in ("svg", "png"):
        out = io.BytesIO()
        ax.figure.savefig(out, format=form)
        assert len(out.getvalue()) > 1000
    knot = structure("G" * 8, "((..A))a")  # the pair of the pseudoknot is a line across
    assert len(knot.collections[0].get_segments()) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_chain_without_pairs(n):
    from trelliswork.plots._canvas import figure

    ax = figure((5, 5)).subplots()  # as the command line has it
    structure("A" * n, "." * n, probabilities={}, ax=ax)
    ax.figure.savefig(io.BytesIO(), format="png")


def test_mountain_and_dotplot():
    pairs = [(0, 6, 0.5), (1, 5, 1.0)]
    ax = mountain("GGAAACC", "((...))", probabilities=pairs)
    assert ax.lines[0].get_ydata().tolist() == [1, 2, 2, 2, 2, 1, 0]
    assert ax.lines[1].get_ydata().tolist() == [0.5, 1.5, 1.5, 1.5, 1.5, 0.5, 0]
    ax = dotplot("GGAAACC", pairs, "((...))")
    upper, lower = (collection.get_paths() for collection in ax.collections)
    assert upper[1].get_extents().bounds == pytest.approx((5.5, 1.5, 1, 1))
    assert lower[0].get_extents().bounds == pytest.approx((0.5, 6.5, 1, 1))


def test_mistakes_in_pictures():
    for draw in (structure, mountain):
        with pytest.raises(InputError, match="3 bases but the structure has 4"):
            draw("GGG", "....")
        with pytest.raises(InputError, match="empty"):
            draw("", "")
