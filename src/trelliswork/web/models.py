"""The models that are served: named on the command line, loaded when they are first needed."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from trelliswork._errors import InputError
from trelliswork.web.limits import Refused
from trelliswork.web.quick import QuickTagger
from trelliswork.web.views import View, view_of
from trelliswork.web.views.chain import ChainView

__all__ = ["Models", "Served"]


class Served:
    """A model under a name.

    Parameters
    ----------
    name : str
        Part of the address of its requests.
    load : callable
        Gives the :class:`~trelliswork.cli._models.OpenModel`; called once.
    about : str
        A line for the list of models.
    examples : list
        Inputs to try.
    """

    def __init__(
        self, name: str, load: Callable[[], Any], about: str = "", examples: list[Any] | None = None
    ):
        self.name, self.about, self.examples = name, about, examples or []
        self._load, self._lock = load, threading.Lock()
        self._opened: Any = None
        self.quick: QuickTagger | None = None
        self._view: View | None = None

    @property
    def ready(self) -> bool:
        """Whether the model has been loaded."""
        return self._view is not None

    @property
    def opened(self) -> Any:
        """The model; loaded, or trained, with the first call."""
        if self._view is None:
            with self._lock:
                if self._view is None:
                    self._opened = self._load()
                    view = view_of(self._opened)
                    if isinstance(view, ChainView):
                        self.quick = QuickTagger.of(self._opened)
                    self._view = view
        return self._opened

    @property
    def view(self) -> View:
        """Its inputs and outputs as JSON."""
        if self._view is None:
            _ = self.opened
        assert self._view is not None
        return self._view

    def brief(self) -> dict[str, Any]:
        """What the list of models says about it."""
        out: dict[str, Any] = {"name": self.name, "about": self.about, "ready": self.ready}
        view, learner = self.view, self.opened.learner
        outputs = getattr(learner, "structure", None)
        out |= {
            "structure": type(learner if outputs is None else outputs).__name__,
            "learner": type(learner).__name__,
            "view": view.name,
            "hint": view.hint,
            "lines": "per line" in view.hint,
            "abilities": view.abilities,
            "examples": self.examples,
            "labels": None if view.labels is None else [str(label) for label in view.labels],
            "files": self.opened.task is not None,
        }
        if hasattr(view, "tree"):
            out["taxonomy"] = view.tree()
        return out


class Models(Mapping[str, Served]):
    """Models by name.

    Parameters
    ----------
    served : iterable of Served
        The models.
    """

    def __init__(self, served: Any):
        self._served: dict[str, Served] = {}
        for one in served:
            if one.name in self._served:
                raise InputError(f"two models are called {one.name!r}; rename a file")
            self._served[one.name] = one

    @classmethod
    def of(cls, models: Mapping[str, Any]) -> Models:
        """Fitted models of Python, by name.

        Parameters
        ----------
        models : mapping of str to estimator
            Learners or pipelines.
        """
        from trelliswork.cli._models import opened_model

        return cls(
            Served(_checked_name(name), _constant(opened_model(name, model)))
            for name, model in models.items()
        )

    @classmethod
    def of_files(cls, paths: list[str], jobs: int | None = None) -> Models:
        """Model files; all are loaded at once, so that a mistake is told before the server starts.

        Parameters
        ----------
        paths : list of str
            The files.
        jobs : int or None
            Threads of each prediction.
        """
        from trelliswork.cli._models import open_model

        served = []
        for path in paths:
            opened = open_model(path, jobs)
            if not opened.learner.__sklearn_is_fitted__():
                raise InputError(f"{path}: the model was saved before it was trained")
            name = _checked_name(re.sub(r"[^\w.-]+", "-", PurePath(path).name.removesuffix(".tw")) or "model")
            opened = dataclasses.replace(opened, path=name)  # answers do not tell where files are
            served.append(Served(name, _constant(opened)))
        return cls(served)

    def __getitem__(self, name: str) -> Served:
        return self._served[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._served)

    def __len__(self) -> int:
        return len(self._served)

    def asked(self, name: str) -> Served:
        """The model of a request; 404 where there is none."""
        if name not in self._served:
            raise Refused(404, f"there is no model {name!r:.60}; there are {', '.join(self._served)}")
        return self._served[name]


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,100}", name):
        raise InputError(f"{name!r} is no name of a model; expected letters, digits, '.', '-' and '_'")
    return name
