"""Public functions and classes other than learners, called with whatever a user might pass."""

from __future__ import annotations

import io
import os
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from tests.fuzz.calls import FINE, spoiled, thing
from tests.fuzz.verbs import Nonsense

import trelliswork as tw
from trelliswork import bounds, features, kernels, metrics, plots
from trelliswork import io as readers
from trelliswork.losses import LOSSES

matplotlib.use("Agg")

TAGS, OTHER = [["B-X", "I-X", "O"], ["O"]], [["B-X", "O", "O"], ["B-X"]]
TREES = ["(S (A a) (B b))", "(S (NP (A a)) (B b))"]
FOLDS = ["((...))", "(...).."]
ROWS = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]])
PAIRS = [("AC-", "ACG"), ("-AC", "ACG")]
TAXONOMY = [("r", "a"), ("r", "b")]
SEQUENCES = ["GGAAACC", "GAAACCC"]
PLOTS = ("arcs", "mountain", "structure", "dotplot")


def to_text(write):
    """A writer whose file nobody keeps."""
    return lambda *data: write(io.StringIO(), *data)


def good_calls():
    """Callables with good arguments, by name."""
    calls = {}
    for name in ("token_accuracy", "token_error", "sequence_accuracy", "entity_f1"):
        calls[name] = getattr(metrics, name), [TAGS, OTHER]
    for name in ("entity_precision", "entity_recall", "entity_scores", "edit_error", "mean_edit_distance"):
        calls[name] = getattr(metrics, name), [TAGS, OTHER]
    for name in (
        "tag_accuracy",
        "tree_accuracy",
        "bracket_f1",
        "bracket_precision",
        "bracket_recall",
        "bracket_scores",
    ):
        calls[name] = getattr(metrics, name), [TREES, TREES[::-1]]
    for name in ("base_pair_f1", "base_pair_scores"):
        calls[name] = getattr(metrics, name), [FOLDS, FOLDS[::-1]]
    calls["entity_spans"] = metrics.entity_spans, [TAGS[0]]
    calls["hierarchical_f1"] = metrics.hierarchical_f1, [["a", "b"], ["a", "a"], TAXONOMY]
    for name, cls in kernels.KERNELS.items():
        if name in ("composed", "normalized", "precomputed"):
            continue
        kernel = cls([kernels.Linear(), kernels.RBF()]) if name in ("sum", "product") else cls()
        inputs = SEQUENCES if name in ("ngram", "spectrum") else ROWS
        inputs = [ROWS, ROWS] if name == "vector-ngrams" else inputs
        calls[f"kernel {name}"] = kernel, [inputs, inputs]
    for name, cls in LOSSES.items():
        outputs = {"base-pairs": FOLDS, "brackets": TREES, "bracket-f1": TREES, "pairs": PAIRS}
        calls[f"loss {name}"] = cls(), list(outputs.get(name, (TAGS[0], OTHER[0])))
    calls["loss tree"] = LOSSES["tree"](TAXONOMY), ["a", "b"]
    calls["pac"] = bounds.pac, [5, 100]
    calls["TokenWindow"] = lambda X: features.TokenWindow().fit_transform(X), [[["a", "b"], ["c"]]]
    calls["RowScaler"] = lambda X: features.RowScaler().fit_transform(X), [[{"u": 1.0}, {"u": 2.0}]]
    calls["parse_template"] = features.parse_template, ["word, lower @ -1..1"]
    for name in ("arcs", "mountain", "structure"):
        calls[name] = getattr(plots, name), [SEQUENCES[0], FOLDS[0]]
    calls["dotplot"] = plots.dotplot, [SEQUENCES[0], [(0, 6, 0.5), (1, 5, 0.25)]]
    calls["clustal"] = readers.clustal, [("a", "b"), ("AC-G", "ACCG")]
    calls["tokenize"] = readers.tokenize, ["Ana sees 3.5 cats"]
    calls["some_brackets"] = readers.some_brackets, ["(NP the cat) sleeps"]
    calls["write_trees"] = lambda y: readers.write_trees(io.StringIO(), y), [TREES]
    for name in ("write_bpseq", "write_ct", "write_dot_bracket"):
        calls[name] = to_text(getattr(readers, name)), [["a", "b"], SEQUENCES, FOLDS]
    calls["ngram_counts"] = tw.ngram_counts, ["abab", 2]
    calls["NGramModel"] = lambda y: tw.NGramModel(2).fit(y), [["ab", "ba"]]
    calls["Evidence"] = (
        lambda x, c, s: tw.RNA("g6").bind([x], None).pack([tw.Evidence(x, constraint=c, shape=s)]),
        [
            SEQUENCES[0],
            ".......",
            [0.1] * 7,
        ],
    )
    calls["AlignPath"] = tw.AlignPath.from_cigar, ["2M1I1M"]
    calls["load"] = tw.load, [os.devnull]
    calls["make_pipeline"] = tw.make_pipeline, [features.TokenWindow(), tw.CRF(tw.Chain())]
    return calls


class Attack:
    """One call after the other."""

    def __init__(self, folder):
        self.calls = good_calls()
        self.names = sorted(self.calls)

    def case(self, number, seed):
        """Call a function with one or two arguments spoiled; a third are replaced as a whole."""
        rng = np.random.default_rng([seed, number])
        name = self.names[rng.integers(len(self.names))]
        function, good = self.calls[name]
        args = list(good)
        for _ in range(int(rng.integers(1, 3))):
            i = int(rng.integers(len(args)))
            args[i] = thing(rng) if rng.random() < 0.35 else spoiled(rng, args[i])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                function(*args)
            except FINE as error:
                if "\n" in str(error) or len(str(error)) > 600:
                    raise Nonsense(f"{name}: a message of many lines: {str(error)[:300]!r}") from None
                return "refused"
            except (OSError, tw.ModelFileError) as error:
                if name != "load":
                    raise
                return "refused" if "\n" not in str(error) else "answered"
            except Exception as error:
                error.args = (f"{name}: {error}",)
                raise
            finally:
                if name in PLOTS:
                    plt.close("all")
        return "answered"
