"""The tasks of the command line, one file each: ``trelliswork train TASK``.

A task is a module with these names:

``STRUCTURE``
    Name of the class of its structures, or of its learner where that has none; a tuple of names where there
    are several. Models that were saved from Python are given their task by it.
``PREDICT_HELP``, ``EVALUATE_HELP``
    A sentence each for the ``--help`` of ``predict`` and ``evaluate``: what is read and written.
``train``
    The command, a function with the annotations of Typer; its docstring is its help. The decorator
    :func:`~trelliswork.cli._learners.learns` gives it the options of learners, and
    :mod:`~trelliswork.cli._training` fits and saves. The model file holds the name of the task:
    ``info={"kind": "tag", ...}``.
``predict(opened, request)``, ``evaluate(opened, request)``
    The work of these commands for an :class:`~trelliswork.cli._models.OpenModel` and what was asked of it, a
    :class:`~trelliswork.cli._models.Request`.
``PREDICT_OPTIONS``
    May be missing: which of ``--format`` and ``--mea`` ``predict`` takes.
``samples(source, ...)``
    May be missing: the :class:`~trelliswork.cli._comparing.Samples` of a file, for ``compare``. Its keyword
    arguments are those of the options of ``compare`` that it takes.
``facts(opened)``
    May be missing: lines for ``trelliswork inspect``, each a name and a text.

Modules are imported when they are first needed, which is also for ``--help``; they import NumPy and other
heavy packages inside of their functions.

A new task is a new module and a line in :data:`TASKS`. Another package adds its tasks before the command
line starts::

    from trelliswork.cli import main
    from trelliswork.cli.tasks import TASKS

    TASKS.register("segment", "mypackage.segment")
    main()
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["TASKS", "Tasks"]

_NEEDED = ("STRUCTURE", "PREDICT_HELP", "EVALUATE_HELP", "train", "predict", "evaluate")


class Tasks(Mapping[str, Any]):
    """Names of tasks with their modules, which are imported when they are looked up.

    Parameters
    ----------
    modules : mapping of str to str
        Paths of the modules, as ``import`` takes them.

    Examples
    --------
    >>> from trelliswork.cli.tasks import TASKS
    >>> TASKS["fold"].STRUCTURE, TASKS.of_structure("Chain"), TASKS.of_structure("Derivations")
    ('RNA', 'tag', None)
    """

    def __init__(self, modules: Mapping[str, str]):
        self._modules = dict(modules)

    def __getitem__(self, name: str) -> Any:
        path = self._modules[name]
        module = importlib.import_module(path)
        missing = [needed for needed in _NEEDED if not hasattr(module, needed)]
        if missing:
            raise ImportError(f"the task {name!r} needs {', '.join(missing)} in the module {path}")
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def register(self, name: str, module: str) -> None:
        """Add a task.

        Parameters
        ----------
        name : str
            What follows ``trelliswork train``.
        module : str
            Path of its module, such as ``"mypackage.segment"``; it is not imported yet.

        Raises
        ------
        ValueError
            When another module has the name.
        """
        if self._modules.setdefault(name, module) != module:
            raise ValueError(f"there is a task {name!r} already, in the module {self._modules[name]}")

    def of_structure(self, name: str) -> str | None:
        """Name of the task whose models have structures (or learners) of a class; None if there is none.

        Parameters
        ----------
        name : str
            Name of the class.
        """
        for task, module in self.items():
            names = module.STRUCTURE
            if name == names or (isinstance(names, tuple) and name in names):
                return task
        return None


# Every task of this package is listed here once.
TASKS = Tasks(
    {
        "tag": "trelliswork.cli.tasks.tag",
        "parse": "trelliswork.cli.tasks.parse",
        "transduce": "trelliswork.cli.tasks.transduce",
        "classify": "trelliswork.cli.tasks.classify",
        "fold": "trelliswork.cli.tasks.fold",
        "align": "trelliswork.cli.tasks.align",
    }
)
