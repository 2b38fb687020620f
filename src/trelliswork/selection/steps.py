"""The learner of a pipeline or of a tuned model, its structure, and the outputs that it takes."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from trelliswork._validate import check_sentences_in, is_frame
from trelliswork.learners.classifier import has_single_labels

__all__ = ["check_inputs", "final_step", "on_a_part", "outputs_of", "structure_of"]


def final_step(model: Any) -> Any:
    """The learner of a pipeline, or of a tuned model; a learner itself."""
    while True:
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "learner") and hasattr(model, "tune"):
            model = getattr(model, "best_estimator_", model.learner)
        else:
            return model


def structure_of(model: Any) -> Any:
    """Structure of a learner, a pipeline or a tuned model; None where there is none."""
    return getattr(final_step(model), "structure", None)


def check_inputs(model: Any, X: Any) -> None:
    """Refuse one table where sequences are needed, before it is cut into folds.

    Parameters
    ----------
    model : estimator
        A learner, or a pipeline, whose transformers may make of a table what they like.
    X : inputs
        As ``fit`` takes them.
    """
    alone = final_step(model) is model and structure_of(model) is not None
    if alone and is_frame(X) and not has_single_labels(model):
        check_sentences_in(X)


def outputs_of(model: Any, y: Any) -> Any:
    """Outputs as a list or an array, by place; one label per sample where the structure has single labels.

    Parameters
    ----------
    model : estimator
        A learner, a pipeline or a tuned model.
    y : outputs
        As ``fit`` takes them; None stays None.
    """
    last = final_step(model)
    return last._check_labels(y) if hasattr(last, "_check_labels") else y


def on_a_part(model: Any) -> Any:
    """A copy of a learner that is to be fitted to a part of the data and to predict the other part.

    Parameters
    ----------
    model : estimator
        A learner, or a pipeline that ends in one.
    """
    copied = clone(model)
    structure = structure_of(copied)
    changes = {} if structure is None else structure.on_a_part
    if changes:
        final_step(copied).set_params(structure=structure.with_params(**changes))
    return copied
