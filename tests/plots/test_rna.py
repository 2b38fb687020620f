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
    k, m = np.triu_indices(len(places) - 1, 2)
    a, b, c, d = places[k], places[k + 1], places[m], places[m + 1]

    def side(p, q, r):
        area = ((q - p).conjugate() * (r - p)).imag
        return np.where(np.abs(area) < 1e-9, 0.0, np.sign(area))

    return np.sum((side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0))


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


def scattered(rng, n):
    """A random structure of lonely pairs, whose branches are everywhere in each other's way."""
    out, n_open = [], 0
    for k in range(n):
        r = rng.random()
        if n_open and (n - k <= n_open or r < 0.33):
            out.append(")")
            n_open -= 1
        else:
            opens = r < 0.66 and n - k > n_open + 1
            out.append("(" if opens else ".")
            n_open += opens
    return "".join(out)


@pytest.mark.parametrize("random_structure", [drawn, scattered])
def test_no_lines_cross_in_random_structures(random_structure):
    rng = np.random.default_rng(3)
    for n in (1, 2, 60, 120, 200):
        structure = random_structure(rng, n)
        places = radial(pair_table(structure))
        assert crossings(places) == 0, structure
        apart = np.abs(places[:, None] - places) + 10 * np.eye(n)
        assert apart.min() > 0.7, structure


FAR = f"((((.{ARM * 4}.((((({'(((((...)))))' * 3})))))))))"
SPIRAL = f"{'((((((......' * 5}((((((...{'))))))' * 6}"


@pytest.mark.parametrize("structure", [FAR, SPIRAL, f"((({SPIRAL * 3})))"])
def test_branches_in_the_way_are_moved_not_stretched(structure):
    """Most sides of the chain have their natural length, and the picture is no larger than its arms."""
    places = radial(pair_table(structure))
    assert crossings(places) == 0
    steps = np.abs(np.diff(places))
    assert np.mean(steps > 2.0) < 0.1
    assert np.abs(places[:, None] - places).max() < 1.5 * len(structure)


def test_large_loops_on_a_lonely_pair_leave_it_in_different_directions():
    structure = f"((((({'.' * 30}({'.' * 40})))))){'.' * 20}"
    places, i = radial(pair_table(structure)), 35
    before, behind = places[i - 1] - places[i], places[i + 1] - places[i]
    assert abs(np.angle(behind / before)) > np.radians(40)


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
