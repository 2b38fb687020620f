"""Outputs that are known in part: rounds of the best completion and an ordinary problem."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from trelliswork.learners.asking import rows
from trelliswork.learners.completion import best_completion
from trelliswork.learners.svm.solvers import Solution
from trelliswork.learners.svm.weights import Expansion
from trelliswork.structures.abilities import PartlyKnown, Rows, require
from trelliswork.structures.base import Batch, Parts

__all__ = ["fit_completed", "model_scores"]

_MAX_ROUNDS = 50

Model = np.ndarray | Expansion
Fit = Callable[[Batch, Any], tuple[Solution, Model]]


def model_scores(batch: Batch, model: Model, kernel: Any) -> Parts:
    """Scores of parts under weights, or under a kernel expansion."""
    if not isinstance(model, Expansion):
        return batch.scores(model)
    view = require(batch, Rows).row_view()
    return view.batch.scores(model.weights(view, kernel))


def output_marks(batch: Batch) -> np.ndarray:
    """A number for the true output of every sample, different for different outputs."""
    digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in batch.gold_codes]
    return np.frombuffer(b"".join(digests), dtype=np.int64)


def fit_completed(
    batch: PartlyKnown, fit: Fit, X: Any, kernel: Any, tol: float
) -> tuple[Solution, Model, list[dict[str, Any]]]:
    """Complete the outputs and solve, in turn, until the objective stays.

    With fixed completions the problem is convex and bounds the true one from above; it touches it where the
    completions are the best ones. So no round can raise the objective, but by the tolerance of its solver,
    and one that does is given up.

    Parameters
    ----------
    batch : PartlyKnown
        Samples with their first completions.
    fit : callable
        Solves the problem of a batch from a start (inputs and support set, or None).
    X : list of inputs or None
        For the starts; None to do without them.
    kernel : Kernel or None
        That of expansions.
    tol : float
        Relative fall of the objective that ends the rounds.

    Returns
    -------
    solution, model : Solution and ndarray or Expansion
        Of the best round.
    rounds : list of dict
        Objective and gap of every round, and how many completions it changed.
    """
    solution, model = fit(batch, None)
    rounds: list[dict[str, Any]] = []
    while True:
        done = best_completion(batch, None, model_scores(batch, model, kernel))
        changed = int(np.count_nonzero(rows(batch, output_marks) != rows(done, output_marks)))
        rounds.append({"objective": solution.primal, "gap": solution.gap, "changed": changed})
        if not changed or len(rounds) == _MAX_ROUNDS or solution.stop == "interrupted":
            return solution, model, rounds
        batch = done
        next_solution, next_model = fit(batch, None if X is None else (X, solution.support))
        if not next_solution.primal < solution.primal:
            return solution, model, rounds
        fall = solution.primal - next_solution.primal
        solution, model = next_solution, next_model
        if fall <= tol * abs(solution.primal):
            rounds.append({"objective": solution.primal, "gap": solution.gap, "changed": 0})
            return solution, model, rounds
