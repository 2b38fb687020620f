"""Kinds of tasks, and models together with what the command line knows about them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, NamedTuple

from trelliswork._errors import InputError

__all__ = ["KINDS", "Kind", "OpenModel", "open_model"]


class Kind(NamedTuple):
    """One kind of task: ``trelliswork train KIND``.

    Attributes
    ----------
    module : str
        Has ``train``, the command with its own options, and ``predict(model, request)`` and
        ``evaluate(model, request)``; imports nothing heavy before they are called.
    structure : str
        Class of its structures (or of its learner, if that has none), which tells the kind of models that
        Python saved.
    """

    module: str
    structure: str

    def load(self) -> Any:
        """Import the module."""
        return importlib.import_module(self.module)


# Every kind is listed here once.
KINDS = {
    "tag": Kind("trelliswork.cli.tasks.tag", "Chain"),
    "parse": Kind("trelliswork.cli.tasks.parse", "Grammar"),
    "transduce": Kind("trelliswork.cli.tasks.transduce", "KernelRegression"),
    "classify": Kind("trelliswork.cli.tasks.classify", "Classes"),
    "fold": Kind("trelliswork.cli.tasks.fold", "RNA"),
    "align": Kind("trelliswork.cli.tasks.align", "Alignment"),
}


@dataclass(frozen=True)
class Request:
    """What ``predict`` and ``evaluate`` were asked; a kind reads the fields that it knows."""

    source: str
    output: str = "-"
    kbest: int = 1
    probabilities: bool = False
    as_json: bool = False
    label: int | None = None
    columns: list[int] | None = None
    separator: str | None = None
    comment: str | None = None
    encoding: str | None = None
    form: str | None = None
    mea: bool = False
    gamma: float = 1.0


@dataclass(frozen=True)
class OpenModel:
    """A model from a file.

    Attributes
    ----------
    path : str
        The file.
    model : estimator
        A learner, or a pipeline that ends in one.
    info : dict
        What ``train`` stored beside it; empty for models that Python saved.
    kind : str or None
        Key in :data:`KINDS`; None when the command line has none for its structure.
    """

    path: str
    model: Any
    info: dict[str, Any]
    kind: str | None

    @property
    def learner(self) -> Any:
        """The model without its transformers."""
        return self.model.steps[-1][1] if hasattr(self.model, "steps") else self.model

    @property
    def transformers(self) -> list[Any]:
        """What comes before the learner."""
        return [step for _, step in self.model.steps[:-1]] if hasattr(self.model, "steps") else []

    def features(self, X: Any) -> Any:
        """Inputs as the learner takes them."""
        for step in self.transformers:
            if step is not None and not isinstance(step, str):  # "passthrough"
                X = step.transform(X)
        return X

    def run(self, action: str, request: Request) -> None:
        """Predict or evaluate, as the kind of the model does it."""
        if self.kind is None:
            name = type(getattr(self.learner, "structure", self.learner)).__name__
            raise InputError(
                f"{self.path}: a model of {name} outputs; {action} has no file format for it yet"
            )
        if self.kind not in ("fold", "align") and (request.form is not None or request.mea):
            flag = "--mea" if request.form is None else "--format"
            raise InputError(
                f"{flag}: {self.path} is no model of RNA structures or alignments; only those have it"
            )
        if not self.learner.__sklearn_is_fitted__():
            raise InputError(f"{self.path}: the model was saved before it was trained")
        getattr(KINDS[self.kind].load(), action)(self, request)


def open_model(path: str, jobs: int | None = None) -> OpenModel:
    """Load a model file.

    Parameters
    ----------
    path : str
        The file.
    jobs : int or None
        Threads, instead of those of the training.
    """
    from trelliswork.persist import load, read_info

    model, info = load(path), read_info(path)
    kind = info.get("kind")
    opened = OpenModel(path, model, info, None)
    if not isinstance(kind, str) or kind not in KINDS:
        name = type(getattr(opened.learner, "structure", opened.learner)).__name__
        kind = next((k for k, v in KINDS.items() if v.structure == name), None)
    if jobs is not None and hasattr(opened.learner, "n_jobs"):
        opened.learner.set_params(n_jobs=jobs)
    return OpenModel(path, model, info, kind)
