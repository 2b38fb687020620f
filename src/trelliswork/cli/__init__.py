"""The command ``trelliswork``: train, predict, evaluate and inspect models of files.

==================  ====================================================================================
``_app``            the commands and their options
``tasks/``          what differs from task to task (tag, parse, fold, ...), one file each, and their list
``_entries``        learners as the command line knows them, from their classes
``_learners``       the options of learners, for the training commands
``_training``       fit, save, and say so: the end of every training command
``_models``         model files, and the requests of ``predict`` and ``evaluate``
``_options``        options that several commands share, and how their texts are read
``_columns``        column files (CoNLL, CoNLL-U)
``_tagged``         predicted labels as columns and JSON lines; plain text
``_comparing``      ``compare``
``_show``           tables: ``inspect``, and scores
``_report``         errors on one line, and exit codes
``_warmup``         ``warmup``
``_startup``        imports that are put off
==================  ====================================================================================

Nothing here imports Numba or scikit-learn before a command needs them, so that
``trelliswork --help`` answers at once.
"""

from __future__ import annotations

from trelliswork.cli._app import app
from trelliswork.cli._startup import start_soon

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and leave the process with its exit code.

    0 is success, 2 a mistake in the input or in the options (one line on standard error), 130 an
    interrupt (a model that was being trained has been saved), 141 a closed pipe, 1 a bug.
    """
    start_soon()
    app(prog_name="trelliswork")
