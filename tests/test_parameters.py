"""Estimators before and after the import of scikit-learn; each case in a process without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

START = """
import sys
import trelliswork as tw
model = tw.CRF(tw.Chain(order=2), l2=1.0).fit([["the", "cat"]], [["D", "N"]])
assert model.predict([["the", "cat"]]) == [["D", "N"]]
assert "sklearn" not in sys.modules and "pandas" not in sys.modules
sys.modules["pandas"] = None  # scikit-learn takes longer to import with it
import joblib, scipy.integrate, scipy.spatial, scipy.stats  # most of what it imports, once for all cases
assert "sklearn" not in sys.modules
"""

CASES = {
    "parameters and their text": """
        assert repr(model) == "CRF(l2=1.0, structure=Chain(order=2))", repr(model)
        assert model.get_params()["structure__order"] == 2
        assert model.set_params(structure__order=1, l2=0.5) is model
        assert model.structure.order == 1 and model.get_params(deep=False)["l2"] == 0.5
        try:
            model.set_params(nonsense=1)
        except ValueError as error:
            assert "nonsense" in str(error) and "max_iter" in str(error)
        else:
            raise AssertionError
        assert not hasattr(model, "coefficients_") and not hasattr(model, "predict_proba")
        assert "sklearn" not in sys.modules
    """,
    "text is the same afterwards": """
        before = repr(model)
        import sklearn.base
        assert isinstance(tw.CRF(tw.Chain()), sklearn.base.BaseEstimator)
        assert repr(model) == before
    """,
    "an old object is an estimator from the import on": """
        import sklearn.linear_model
        from sklearn.base import BaseEstimator
        assert isinstance(model, BaseEstimator) and issubclass(tw.Chain, BaseEstimator)
        assert sklearn.base.__loader__ is sklearn.base.__spec__.loader
        assert not any(type(finder).__module__.startswith("trelliswork") for finder in sys.meta_path)
    """,
    "a class with its bases in the wrong order does no harm to others": """
        from sklearn.base import BaseEstimator
        try:
            class Own(BaseEstimator, tw.CRF): pass
        except TypeError as error:
            assert "Own" in str(error) or "MRO" in str(error)
        else:
            raise AssertionError
        assert tw.CRF(tw.Chain()).fit([["the", "cat"]], [["D", "N"]]).predict([["the"]]) == [["D"]]
    """,
    "threads meet scikit-learn together": """
        import threading
        failures, start = [], threading.Barrier(6)
        def ask(i):
            try:
                start.wait()
                if i % 3 == 0:
                    from sklearn.base import BaseEstimator, clone
                    assert isinstance(model, BaseEstimator) and clone(model).l2 == 1.0
                elif i % 3 == 1:
                    assert "CRF" in model._repr_html_()
                else:
                    assert tw.CRF(tw.Chain()).get_metadata_routing() is not None
            except BaseException as error:
                failures.append(repr(error))
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failures, failures
    """,
    "an old object is cloned": """
        from sklearn.base import BaseEstimator, clone
        copy = clone(model)
        assert copy.l2 == 1.0 and copy.structure.order == 2 and copy.structure is not model.structure
        assert isinstance(model, BaseEstimator) and isinstance(model.structure, BaseEstimator)
        assert model.predict([["the", "cat"]]) == [["D", "N"]]
    """,
    "a structure is cloned with its limits": """
        from sklearn.base import clone
        assert clone(tw.RNA().with_limits(table_bytes=7)).limits.table_bytes == 7
    """,
    "tags are asked": """
        from sklearn.base import is_classifier
        assert not is_classifier(model) and is_classifier(tw.CRF(tw.Classes()))
    """,
    "sample weights are routed": """
        from sklearn import set_config
        set_config(enable_metadata_routing=True)
        model.set_fit_request(sample_weight=True)
        assert model.get_metadata_routing().fit.requests["sample_weight"] is True
    """,
    "a notebook asks for HTML": """
        assert "CRF" in model._repr_html_()
    """,
    "a search over old objects": """
        from sklearn.model_selection import GridSearchCV
        X, y = [["the", "cat"], ["a", "dog"]] * 3, [["D", "N"], ["D", "N"]] * 3
        search = GridSearchCV(model, {"structure__order": [1, 2]}, cv=2).fit(X, y)
        assert search.best_estimator_.predict([["a", "cat"]]) == [["D", "N"]]
    """,
    "a transformer in a pipeline": """
        from trelliswork.features import TokenWindow
        window = TokenWindow()
        assert len(window.fit_transform([["the", "cat"]])) == 1
        from sklearn.pipeline import make_pipeline
        X, y = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
        assert make_pipeline(window, tw.CRF(tw.Chain(), l2=0.1)).fit(X, y).predict(X) == y
    """,
    "pickles cross over": """
        import pickle
        text = pickle.dumps(model)
        import sklearn.base
        tw.CRF(tw.Chain())
        assert pickle.loads(text).predict([["the", "cat"]]) == [["D", "N"]]
        assert pickle.loads(pickle.dumps(model)).l2 == 1.0
    """,
    "a question before fit": """
        try:
            tw.CRF(tw.Chain()).predict([["the"]])
        except Exception as error:
            from sklearn.exceptions import NotFittedError
            assert isinstance(error, NotFittedError), error
        else:
            raise AssertionError
    """,
    "a search that is cut short": """
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tw.CRF(tw.Chain(), max_iter=1, l2=1e-9).fit([["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]])
        from sklearn.exceptions import ConvergenceWarning
        assert any(issubclass(w.category, (ConvergenceWarning, tw.FitWarning)) for w in caught)
    """,
}


# Every case starts where the import and the fit have ended: in a process of its own, made by a fork.
EACH = """
import json, os, textwrap, traceback
for name, case in json.loads(sys.stdin.read()).items():
    child = os.fork()
    if not child:
        try:
            exec(textwrap.dedent(case), globals())
        except BaseException:
            print(name, traceback.format_exc(), sep=": ", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print("all tried")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_without_sklearn_at_first():
    done = subprocess.run(
        [sys.executable, "-c", START + EACH],
        input=json.dumps(CASES),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "all tried\n", done.stdout + done.stderr


def test_two_instances_differ_in_text():
    from trelliswork import RNA, Chain
    from trelliswork._parameters import Parametrised

    class Long(Parametrised):
        def __init__(self, text=""):
            self.text = text

    assert repr(Chain()) == "Chain()"
    assert repr(RNA("g6")) == "RNA(grammar='g6')"
    assert len(repr(Long("x" * 10_000))) < 800


def test_constructors_take_no_more_than_they_have():
    from trelliswork.kernels import Linear, Precomputed

    for kernel in (Linear, Precomputed):
        with pytest.raises(TypeError):
            kernel(3)
        with pytest.raises(TypeError):
            kernel(gamma=1.0)
