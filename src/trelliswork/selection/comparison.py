"""Learners side by side: the table of a comparison."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from trelliswork._errors import InputError
from trelliswork._signature import signature
from trelliswork.selection.confusions import confusions
from trelliswork.selection.measures import Judged, Measure
from trelliswork.structures.base import Structure

if TYPE_CHECKING:
    from trelliswork.selection.contest import Entry

__all__ = ["Comparison"]


class Comparison:
    """Learners side by side; ``print`` it, or write it as a page.

    Attributes
    ----------
    table : dict of str to list
        A column each for the learner, its score, the standard error, whether it is the best or within one
        standard error of it, seconds of a fit, of a prediction (all held-out samples of a fold) and of a
        search, bytes of the model file, settings, whether there was time for its fits and for tuning, and why
        it failed: ``pandas.DataFrame(comparison.table)``. Best first.
    best : str
        Name of the best learner.
    scoring : str
        Name of the measure.

    Examples
    --------
    >>> import trelliswork as tw
    >>> X = [["the", "cat"], ["a", "dog"], ["the", "dog"], ["a", "cat"]] * 3
    >>> comparison = tw.compare(X, [["D", "N"]] * 12, learners=["CRF", "Generative"], budget=10)
    >>> comparison.table["score"][0], len(comparison.table["learner"])
    (0.0, 3)
    """

    def __init__(
        self,
        entries: list[Entry],
        measure: Measure,
        X: Any,
        y: Any,
        pairs: list[tuple[np.ndarray, np.ndarray]],
        structure: Structure,
    ):
        self.entries = {entry.name: entry for entry in entries}
        self.measure, self.X, self.y, self.pairs, self.structure = measure, X, y, pairs, structure
        self.scoring = measure.name
        self.table = self._table()
        self.best = self.table["learner"][0]

    def _table(self) -> dict[str, list[Any]]:
        joined = {
            name: Judged.joined(fold.judged for fold in entry.folds)
            for name, entry in self.entries.items()
            if not entry.failure
        }
        if not joined:
            raise InputError(f"no learner could be fitted ({self._failures()})")
        order = sorted(joined, key=lambda n: -self.measure.sign * joined[n].score)
        top = joined[order[0]]
        enough = self.measure.sign * top.score - np.nan_to_num(top.standard_error)
        rows = [self._row(name, joined[name], enough) for name in order]
        rows += [self._row(name, None, enough) for name in self.entries if name not in joined]
        return {column: [row[column] for row in rows] for column in rows[0]}

    def _row(self, name: str, judged: Judged | None, enough: float) -> dict[str, Any]:
        entry = self.entries[name]
        seconds: dict[str, list[float]] = {"fit": [], "predict": [], "tune": []}
        if judged is not None:
            seconds["fit"] = [fold.fit_seconds for fold in entry.folds]
            seconds["predict"] = [fold.predict_seconds for fold in entry.folds]
            seconds["tune"] = entry.tune_seconds
        mean = {what: float(np.mean(spent)) if spent else None for what, spent in seconds.items()}
        return {
            "learner": name,
            "score": None if judged is None else judged.score,
            "standard_error": None if judged is None else judged.standard_error,
            "near_best": judged is not None and bool(self.measure.sign * judged.score >= enough),
            "fit_seconds": mean["fit"],
            "predict_seconds": mean["predict"],
            "tune_seconds": mean["tune"],
            "bytes": entry.size,
            "settings": self.settings(name),
            "out_of_time": entry.cut,
            "tuned": judged is not None and len(entry.results) == len(self.pairs),
            "failure": entry.failure,
        }

    def _failures(self) -> str:
        """Why learners failed; once, where it is the same for all."""
        said: dict[str | None, list[str]] = {}
        for name, entry in self.entries.items():
            said.setdefault(entry.failure, []).append(name)
        return "; ".join(
            str(why) if len(said) == 1 else f"{', '.join(names)}: {why}" for why, names in said.items()
        )

    def settings(self, name: str) -> dict[str, Any]:
        """Settings that most folds chose.

        Parameters
        ----------
        name : str
            A learner of the table.
        """
        chosen = [fold.settings for fold in self.entries[name].folds]
        counts = Counter(map(signature, chosen))
        return max(chosen, key=lambda s: counts[signature(s)]) if chosen else {}

    def learner(self, name: str | None = None) -> Any:
        """A learner with the settings that most folds chose, to be fitted.

        Parameters
        ----------
        name : str or None
            A learner of the table; None is the best.
        """
        name = self.best if name is None else name
        return clone(self.entries[name].learner).set_params(**self.settings(name))

    def predictions(self, name: str | None = None) -> list[Any]:
        """Outputs that a learner predicts for every sample, by the model that was fitted without it.

        Parameters
        ----------
        name : str or None
            A learner of the table; None is the best.
        """
        outputs: list[Any] = [None] * len(self.y)
        for (_, test), fold in zip(self.pairs, self.entries[self.best if name is None else name].folds):
            for i, output in zip(test.tolist(), fold.predictions, strict=True):
                outputs[i] = output
        return outputs

    def confusions(self, name: str | None = None, top: int = 10) -> list[tuple[str, str, int]]:
        """What a learner takes for what, most frequent first: the truth, the prediction, how often.

        Parameters
        ----------
        name : str or None
            A learner of the table; None is the best.
        top : int, default=10
            How many rows. With more, rarer mistakes are listed, too.
        """
        return confusions(self.structure, self.X, self.y, self.predictions(name), top)

    def __str__(self) -> str:
        from trelliswork.selection.report import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from trelliswork.selection.report import html_table

        return html_table(self)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str = "Which learner?") -> str:
        """Page with the table, curves of the searches, and the most frequent confusions of the best learner.

        Parameters
        ----------
        path : str, path or None
            File to write.
        title : str
            Heading.

        Returns
        -------
        str
            The page, which needs no other file.
        """
        from trelliswork.selection.report import page

        text = page(self, title)
        if path is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        return text
