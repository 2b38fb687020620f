"""The list of tasks, which other packages may add to."""

from __future__ import annotations

import pytest

from trelliswork.cli.tasks import TASKS
from trelliswork.structures import STRUCTURES

MODULE = '''
"""Label the words of lines."""

from pathlib import Path
from typing import Annotated, Any

import typer

from trelliswork.cli import _options
from trelliswork.cli._learners import Learning, learns
from trelliswork.cli._training import finish, watched

STRUCTURE = "Chain"
PREDICT_HELP = "Lines of words in, lines of labels out."
EVALUATE_HELP = "Lines of words and labels in; the share of right labels."


def _read(source):
    lines = [line.split("\\t") for line in Path(source).read_text().splitlines()]
    return [line[0].split() for line in lines], [line[-1].split() for line in lines]


@learns("svm")
def train(
    source: Annotated[str, typer.Argument(metavar="LINES", help="Words, a tab, labels.")],
    output: _options.Output,
    *,
    learning: Learning,
    quiet: _options.Quiet = False,
) -> None:
    """Learn to label the words of lines."""
    from trelliswork import Chain

    estimator = learning.build(Chain(), quiet)
    X, y = _read(source)
    done = watched(lambda: estimator.fit(X, y), estimator, lambda error: error, quiet)
    info = {"kind": "lines"}
    finish(estimator, output, info, [f"{len(X)} lines"], interrupted=done.interrupted, quiet=quiet)


def predict(opened: Any, request: Any) -> None:
    for labels in opened.learner.predict(_read(request.source)[0]):
        print(*labels)


def evaluate(opened: Any, request: Any) -> None:
    print(opened.learner.score(*_read(request.source)))


def facts(opened: Any) -> list[tuple[str, str]]:
    return [("lines", "of words")]
'''


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """A task of another package."""
    (tmp_path / "lines_task.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "train.txt").write_text("the dog\tD N\na cat\tD N\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(TASKS, "_modules", dict(TASKS._modules))
    TASKS.register("lines", "lines_task")


def test_a_task_of_another_package(run, lines):
    assert "lines      Learn to label the words of lines." in run("train", "--help").stdout
    assert "Words, a tab, labels." in run("train", "lines", "--help").stdout
    assert "lines      Lines of words in, lines of labels out." in run("predict", "--help").stdout
    assert "Lines of words and labels in;" in run("evaluate", "--help").stdout
    done = run("train", "lines", "train.txt", "-o", "m.tw", "--C", 10)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("2 lines; saved m.tw (")
    assert run("predict", "m.tw", "train.txt").stdout == "D N\nD N\n"
    assert run("evaluate", "m.tw", "train.txt").stdout == "1.0\n"
    shown = run("inspect", "m.tw").stdout
    assert "of words" in shown
    done = run("predict", "m.tw", "train.txt", "--mea")
    message = "--mea: m.tw is a model of the task lines; the option goes with fold and align alone"
    assert (done.exit_code, done.stderr) == (2, f"trelliswork: {message}\n")
    done = run("train", "lines", "train.txt", "-o", "m.tw", "--loss", "tree")
    assert "--loss: unknown loss 'tree'; expected one of edit, f1, hamming, zero-one" in done.stderr


def test_a_name_is_given_once(lines):
    TASKS.register("lines", "lines_task")  # as when a module is imported twice
    with pytest.raises(ValueError, match="there is a task 'tag' already, in the module trelliswork"):
        TASKS.register("tag", "lines_task")


def test_what_a_module_lacks_is_named(lines, run, tmp_path):
    (tmp_path / "half_task.py").write_text("STRUCTURE = 'Chain'\ndef train(): pass\n", encoding="utf-8")
    TASKS.register("half", "half_task")
    done = run("train", "half")
    message = "the task 'half' needs PREDICT_HELP, EVALUATE_HELP, predict, evaluate in the module half_task"
    assert (done.exit_code, done.stderr) == (2, f"trelliswork: {message}\n")


def test_tasks_are_told_by_their_structures():
    assert [TASKS.of_structure(name) for name in ("Chain", "RNA", "Retrieval")] == ["tag", "fold", None]
    kinds = [task.STRUCTURE for task in TASKS.values()]
    named = [name for kind in kinds for name in ([kind] if isinstance(kind, str) else kind)]
    assert len(set(named)) == len(named)
    assert set(named) <= {*STRUCTURES, "KernelRegression"}
