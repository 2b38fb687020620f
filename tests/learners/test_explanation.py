"""Explanations beyond the law that all learners keep: kernels, pipelines, constraints, mistakes."""

import numpy as np
import pytest

import trelliswork as tw
from trelliswork.features import TokenWindow
from trelliswork.kernels import RBF


def adds_up(why):
    return sum(c.value for c in why.contributions) == pytest.approx(why.difference, abs=1e-9)


def test_kernel_models_are_explained_by_parts():
    X = [np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 0.5]])]
    model = tw.StructuredSVM(tw.Chain(), kernel=RBF(1.0)).fit(X, [["A", "B"], ["B", "A"]])
    why = tw.explain(model, X[0])
    assert adds_up(why)
    assert any(c.name[0] == "unary" for c in why.contributions)


def test_pipelines_and_constraints():
    X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    model = tw.make_pipeline(TokenWindow(), tw.CRF(tw.Chain(), l2=0.1)).fit(X, y)
    why = tw.explain(model, ["the", "dog"], known=["N", None])
    assert adds_up(why)
    assert why.first.output[0] == why.second.output[0] == "N"
    best, _, third = model.predict_kbest([["the", "dog"]], k=3)[0]
    why = tw.explain(model, ["the", "dog"], rank=2, against=0)
    assert (why.first.output, why.second.output) == (third.output, best.output)
    assert why.difference == pytest.approx(third.score - best.score)


def test_mistakes():
    model = tw.CRF(tw.Chain()).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(tw.InputError, match="2 outputs to compare"):
        tw.explain(model, ["a"], against=2)
    with pytest.raises(tw.InputError, match="rank"):
        tw.explain(model, ["a"], rank=-1)
    regression = tw.KernelRegression(tw.kernels.Spectrum(1, 1), tw.NGrams(1)).fit(["a", "b"], ["a", "b"])
    with pytest.raises(tw.InputError, match="no structure"):
        tw.explain(regression, "a")
