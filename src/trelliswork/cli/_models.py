"""Model files as ``predict``, ``evaluate`` and ``inspect`` see them: a model, its task, a request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from trelliswork._errors import InputError
from trelliswork.cli._report import say
from trelliswork.cli.tasks import TASKS

__all__ = ["OpenModel", "Request", "open_model", "opened_model"]


@dataclass(frozen=True)
class Request:
    """What ``predict`` and ``evaluate`` were asked; a task reads the fields that it knows."""

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
    raw: bool = False
    show_alignment: bool = False
    known: bool = False
    stream: Any = None  # where ``evaluate`` prints JSON; None is standard output
    notes: list[str] | None = None  # where warnings are collected; None is standard error

    def note(self, text: str) -> None:
        """Warn of something in the file."""
        if self.notes is None:
            say(f"trelliswork: warning: {text}")
        else:
            self.notes.append(text)

    def print_json(self, scores: Any) -> None:
        """Print the scores of ``evaluate --json``."""
        print(json.dumps(scores, indent=2, ensure_ascii=False), file=self.stream)


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
        What ``train`` stored beside it; empty for models that were saved from Python.
    task : str or None
        Key in :data:`~trelliswork.cli.tasks.TASKS`; None when there is no task for its structure.
    """

    path: str
    model: Any
    info: dict[str, Any]
    task: str | None

    @property
    def learner(self) -> Any:
        """The model without its transformers."""
        return _chosen(_steps(self.model)[-1])

    @property
    def tuned(self) -> Any:
        """What chose the settings of the learner; None if nothing did."""
        for candidate in (self.model, _steps(self.model)[-1]):
            if hasattr(candidate, "best_estimator_"):
                return candidate
        return None

    @property
    def transformers(self) -> list[Any]:
        """What comes before the learner."""
        return _steps(self.model)[:-1]

    def features(self, X: Any) -> Any:
        """Inputs as the learner takes them."""
        for step in self.transformers:
            if step is not None and not isinstance(step, str):  # "passthrough"
                X = step.transform(X)
        return X

    def run(self, action: str, request: Request) -> None:
        """Predict or evaluate, as the task of the model does it.

        Parameters
        ----------
        action : {"predict", "evaluate"}
            What to do.
        request : Request
            Files and options.
        """
        if self.task is None:
            name = _class_of_outputs(self.learner)
            raise InputError(
                f"{self.path}: a model of {name} outputs; {action} has no file format for it yet"
            )
        asked = {
            "--format": request.form is not None,
            "--mea": request.mea,
            "--raw": request.raw,
            "--show-alignment": request.show_alignment,
            "--known": request.known,
        }
        for flag, given in asked.items():
            if given and flag not in _predict_options(self.task):
                others = [task for task in TASKS if flag in _predict_options(task)]
                raise InputError(
                    f"{flag}: {self.path} is a model of the task {self.task}; the option goes with "
                    f"{' and '.join(others)} alone"
                )
        if not self.learner.__sklearn_is_fitted__():
            raise InputError(f"{self.path}: the model was saved before it was trained")
        getattr(TASKS[self.task], action)(self, request)


def open_model(path: str, jobs: int | None = None, *, bare: bool = False) -> OpenModel:
    """Load a model file.

    Parameters
    ----------
    path : str
        The file.
    jobs : int or None
        Threads, instead of those of the training.
    bare : bool
        Whether steps are enough in the place of a pipeline, for which scikit-learn would be imported.
    """
    from trelliswork.persist import load, load_steps, read_info

    info = read_info(path)
    opened = opened_model(path, load_steps(path) if bare else load(path), info)
    if jobs is not None and hasattr(opened.learner, "n_jobs"):
        opened.learner.set_params(n_jobs=jobs)
    return opened


def opened_model(name: str, model: Any, info: dict[str, Any] | None = None) -> OpenModel:
    """A model with its task.

    Parameters
    ----------
    name : str
        What messages call it.
    model : estimator
        A learner or a pipeline.
    info : dict or None
        What was stored beside it.
    """
    info = {} if info is None else info
    task = info.get("kind")
    if not isinstance(task, str) or task not in TASKS:
        task = TASKS.of_structure(_class_of_outputs(_chosen(_steps(model)[-1])))
    return OpenModel(name, model, info, task)


def _chosen(model: Any) -> Any:
    """The model that was chosen, where settings were tuned."""
    return getattr(model, "best_estimator_", model)


def _steps(model: Any) -> list[Any]:
    """Transformers and the learner."""
    model = _chosen(model)
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def _class_of_outputs(learner: Any) -> str:
    """Name of the class of the structure, or of the learner where it has none."""
    return type(getattr(learner, "structure", learner)).__name__


def _predict_options(task: str) -> tuple[str, ...]:
    return getattr(TASKS[task], "PREDICT_OPTIONS", ())
