"""``--dask``: training and prediction on a cluster.

Workers read training files with the command of the task itself, up to the place where it would fit: columns,
templates and checks are then those of a training on one machine, whatever the task.
"""

from __future__ import annotations

import contextlib
import glob
import importlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from trelliswork._errors import InputError
from trelliswork.cli._learners import Learning
from trelliswork.cli._models import OpenModel, Request, open_model
from trelliswork.cli._report import say

__all__ = ["ClusterLearning", "connected", "predict_files", "train_files"]

_PATIENCE = "15s"  # for a scheduler to answer


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """Client of the cluster that ``--dask`` names: an address, ``local`` or ``local:N`` for N processes."""
    try:
        from distributed import Client

        from trelliswork.dask import local_cluster
    except ImportError:
        raise InputError("--dask needs Dask: install trelliswork[dask]") from None
    name, _, number = scheduler.partition(":")
    if name == "local":
        if number and (not number.isdigit() or number == "0"):
            raise InputError(f"--dask: expected local:N with N processes, got {scheduler!r}")
        with local_cluster(int(number) if number else None) as client:
            yield client
        return
    try:
        client = Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(f"--dask: there is no scheduler at {scheduler}: {error}") from None
    with client:
        yield client


def matching(source: str, what: str) -> list[str]:
    """Files that a pattern stands for, in their order."""
    files = sorted(glob.glob(source, recursive=True))
    if not files:
        raise InputError(f"{source}: there is no such file; {what}")
    return files


# -- training --------------------------------------------------------------------------------------------


class _Collected(BaseException):
    """Ends a training command at the place where it would fit; carries its samples."""

    def __init__(self, X: Any, y: Any):
        self.X, self.y = X, y


class _CollectingLearning:
    """Stands for a :class:`Learning` whose estimator hands out the samples instead of fitting."""

    in_parts = True

    def __init__(self, learning: Learning):
        self._learning = learning

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learning, name)

    def build(self, structure: Any, quiet: bool) -> Any:
        estimator = self._learning.build(structure, True)
        estimator.fit = _hand_out
        return estimator


def _hand_out(X: Any, y: Any, **more: Any) -> None:
    raise _Collected(X, y)


class FileReader:
    """Reads a training file as a task does, on a worker.

    Parameters
    ----------
    module : str
        Module of the task.
    values : mapping of str to object
        Values of the parameters of its command, the file apart.
    learning : tuple
        Fields of the :class:`Learning`, the entry apart.
    """

    def __init__(self, module: str, values: Mapping[str, Any], learning: Learning):
        unused = os.path.join(tempfile.gettempdir(), "unused.tw")
        self.module, self.values = module, {**values, "output": unused, "dev": None, "quiet": True}
        self.values = {k: v for k, v in self.values.items() if k in values}
        self.learning = learning.name, dict(learning.given)

    def __call__(self, path: Any) -> tuple[Any, Any]:
        """Inputs and outputs of a file."""
        command = importlib.import_module(self.module).train
        name, given = self.learning
        learning: Any = _CollectingLearning(Learning(name, command.table[name], given))
        try:
            command._command(**{**self.values, "source": str(path)}, learning=learning)
        except _Collected as found:
            return found.X, found.y
        raise AssertionError("the command did not fit anything")


class ClusterLearning:
    """A :class:`Learning` whose estimator fits to all files, on a cluster.

    Parameters
    ----------
    learning : Learning
        What was asked for.
    files : list of str
        Training files.
    reader : FileReader
        Reads them.
    client : distributed.Client
        The cluster.
    """

    in_parts = True

    def __init__(self, learning: Learning, files: list[str], reader: FileReader, client: Any):
        self._learning, self._files, self._reader, self._client = learning, files, reader, client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learning, name)

    def build(self, structure: Any, quiet: bool) -> Any:
        """Estimator whose ``fit`` takes the files in place of what it is given."""
        estimator = self._learning.build(structure, quiet)
        estimator.fit = lambda X, y, **more: self._fit(estimator, more)
        return estimator

    def _fit(self, estimator: Any, more: Mapping[str, Any]) -> Any:
        from trelliswork.dask import Parts

        del estimator.fit  # that of the class again
        parts = Parts(self._files, client=self._client, reader=self._reader, keep_best=True)
        estimator.fit(parts, **more)
        workers = len(self._client.nthreads())
        counts = parts.counts or []
        self._said = f"{self.name}: {sum(counts):,} samples of {len(counts)} files on {workers} workers"
        return estimator

    def said(self, said: list[str]) -> list[str]:
        """What a command says of a fit: of all files, where it knows of the first one only."""
        return [self._said, *said[1:]]


def train_files(
    command: Callable[..., None], scheduler: str, values: dict[str, Any], learning: Learning
) -> None:
    """Run a training command on all files that its source stands for.

    Parameters
    ----------
    command : callable
        The command of a task.
    scheduler : str
        Value of ``--dask``.
    values : dict
        Values of its parameters, the learner's apart.
    learning : Learning
        The learner.
    """
    learner: Any = learning.entry.learner
    if not getattr(learner, "by_blocks", False):
        raise InputError(f"--dask: {learning.name} needs all samples in memory; choose another --learner")
    files = matching(values["source"], "with --dask TRAIN is a pattern, in quotes: 'train-*.conll'")
    reader = FileReader(command.__module__, values, learning)
    with connected(scheduler) as client:
        on_cluster: Any = ClusterLearning(learning, files, reader, client)
        command(**{**values, "source": files[0]}, learning=on_cluster)


# -- prediction ------------------------------------------------------------------------------------------


def predict_files(model: str, scheduler: str, request: Request, jobs: int | None) -> None:
    """Write the outputs of files, each into a file of the same name in a folder.

    Parameters
    ----------
    model : str
        Model file.
    scheduler : str
        Value of ``--dask``.
    request : Request
        What was asked; its source is a pattern of files, its output a folder.
    jobs : int or None
        Threads of every task.
    """
    open_model(model)  # report a mistake before the work
    files = matching(request.source, "with --dask INPUT is a pattern, in quotes: 'texts-*.conll'")
    if request.output == "-":
        raise InputError("--output: with --dask give a folder, which gets a file for each of INPUT")
    os.makedirs(request.output, exist_ok=True)
    with connected(scheduler) as client:
        path = os.path.abspath(model)
        tasks = []
        for number, file in enumerate(files):
            output = os.path.abspath(os.path.join(request.output, os.path.basename(file)))
            asked = replace(request, source=os.path.abspath(file), output=output)
            key = f"predict-{number}-{os.getpid()}"
            tasks.append(client.submit(_predict_file, path, asked, jobs, key=key, pure=False))
        for file, task in zip(files, tasks, strict=True):
            say(f"{file}: {task.result()}")


def _predict_file(model: str, request: Request, jobs: int | None) -> str:
    _opened(model, jobs).run("predict", request)
    return request.output


_models: dict[tuple[str, int | None, float], OpenModel] = {}


def _opened(path: str, jobs: int | None) -> OpenModel:
    """A model that is loaded once by every worker."""
    key = path, jobs, os.path.getmtime(path)
    if key not in _models:
        _models.clear()
        _models[key] = open_model(path, jobs)
    return _models[key]
