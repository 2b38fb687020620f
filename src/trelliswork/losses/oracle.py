"""The most violated output of every sample, for every form of the problem (see ``forms``)."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np

from trelliswork._errors import InputError
from trelliswork._ragged import Ragged, gather_ranges, offsets_of
from trelliswork.losses import Loss
from trelliswork.losses.automata import TooManyStates
from trelliswork.losses.forms import Form, LogForm
from trelliswork.losses.inside import Automatic, loss_automata
from trelliswork.structures.abilities import CountedParts, LossProfiles, require
from trelliswork.structures.base import Batch, Parts, Unsupported

__all__ = ["Found", "Oracle"]

_PROFILE_AFTER = 16  # candidates; from there on one loss profile is cheaper
_QUICK_LOSSES, _MOST_LOSSES = 256, 1 << 16  # tables of scores by loss: at once, and as the last resort
_SLIGHTLY = 1e-9


class Found(NamedTuple):
    """One output per sample.

    Attributes
    ----------
    codes : Ragged
        The outputs; the gold output where there is no other.
    loss : ndarray
        Their losses.
    value : ndarray
        Their violations; at most 0 where no constraint is violated.
    """

    codes: Ragged
    loss: np.ndarray
    value: np.ndarray


class Oracle:
    """Finds the most violated outputs of one batch.

    Parameters
    ----------
    batch : Batch
        Samples with their true outputs.
    loss : Loss
        The loss.
    form : Form
        The problem.
    approx : bool, default=False
        Do not prove answers for products of loss and margin; they may then be second best.
    max_candidates : int, default=4096
        Longest k-best list that is searched.
    max_tangents : int, default=12
        Rounds of argmax before k-best lists are searched.
    """

    def __init__(
        self,
        batch: Batch,
        loss: Loss,
        form: Form,
        *,
        approx: bool = False,
        max_candidates: int = 4096,
        max_tangents: int = 12,
    ):
        self.batch, self.loss, self.form = batch, loss, form
        self.approx, self.max_candidates, self.max_tangents = approx, max_candidates, max_tangents
        # All wrong outputs have loss 1: rescaling changes nothing.
        self.plain = form.rescale is None or loss.all_or_nothing
        self.costs: Parts | None = None
        self._bounds: np.ndarray | None = None
        if not self.plain:
            decomposed = loss.part_costs(batch)
            if decomposed is not None:
                self.costs, self.constant = decomposed
                zeros = batch.scores(np.zeros(batch.n_features))
                self._cost_scores = zeros + self.costs
        self.counted = not self.plain and loss.by_counts and isinstance(batch, CountedParts)
        self._lam = np.ones(len(batch))
        self._automatic: Automatic | None = None
        logarithmic = isinstance(form, LogForm)
        if not self.plain and self.costs is None and (form.additive or logarithmic):
            self._automatic = _by_automaton(batch, loss, approx)
        self._whole: _WholeCosts | None = None
        if self.costs is not None and not self._additive and _profiles_quickly(batch):
            self._whole = self._profile(np.arange(len(batch)), _QUICK_LOSSES)

    @property
    def _additive(self) -> bool:
        return self.costs is not None and self.form.additive

    @property
    def exact(self) -> bool:
        """Whether the answers are certain to be the most violated outputs."""
        certain = self.plain or self._additive or self._automatic is not None or self._whole is not None
        return certain or not self.approx

    def find(self, w: np.ndarray) -> Found:
        """Most violated outputs under the weights ``w``."""
        scores = self.batch.scores(w)
        gold = self.batch.evaluate(self.batch.gold_codes, scores)
        if self.plain:
            return self._two_best(scores, gold)
        if self.counted:
            # Parts that are too many, or cannot be counted: lists may do.
            with contextlib.suppress(Unsupported):
                return self._by_counts(scores, gold)
        if self._automatic is not None:
            decode = self._automatic.argmax if self.form.additive else self._automatic.argmax_log
            codes, values = decode(scores)
            return Found(codes, np.maximum(self._automatic.loss_of(codes), 0.0), values - gold)
        if self.costs is None:
            return self._lists(w, np.arange(len(self.batch)), None, None)
        if self._additive:
            codes, values = self.batch.argmax(scores, self.costs)
            return Found(codes, self._loss_of(codes), values + self.constant - gold)
        if self._whole is not None:
            return self._by_table(self._whole, scores)
        return self._tangents(w, scores, gold)

    def _loss_of(self, codes: Ragged) -> np.ndarray:
        loss = self.batch.evaluate(codes, self._cost_scores) + self.constant
        # Sums of costs: what should be zero may be rounded to just below it.
        return loss if self.loss.signed else np.maximum(loss, 0.0)

    def _two_best(self, scores: Parts, gold: np.ndarray) -> Found:
        """The best output other than the true one."""
        right = self.batch.gold_codes
        rows, values = [], np.full(len(self.batch), self.form.least)
        without_margin = self.form.violation(np.ones(1), np.zeros(1))[0]
        loss = np.ones(len(self.batch))
        for i, best in enumerate(self.batch.kbest(scores, 2)):
            for j in range(len(best.codes)):
                if not np.array_equal(best.codes[j], right[i]):
                    rows.append(best.codes[j])
                    values[i] = without_margin + best.values[j] - gold[i]
                    break
            else:
                rows.append(right[i])
                loss[i] = 0.0
        return Found(_joined(rows), loss, values)

    def _by_counts(self, scores: Parts, gold: np.ndarray) -> Found:
        """Exact answer for a loss of the numbers of predicted and right parts."""
        loss, value = np.zeros(len(self.batch)), np.zeros(len(self.batch))

        def choose(i: int, n_true: int, table: np.ndarray) -> tuple[int, int]:
            losses = self.loss.of_counts(n_true, *np.indices(table.shape))
            # Counts that no output has are -inf; a finite margin keeps 0 * inf away.
            values = self.form.violation(losses, gold[i] - np.maximum(table, -1e300))
            values[table == -np.inf] = -np.inf
            row, column = divmod(int(values.argmax()), table.shape[1])
            loss[i], value[i] = losses[row, column], values[row, column]
            return row, column

        decoded, _ = require(self.batch, CountedParts).argmax_by_counts(scores, choose)
        return Found(decoded.codes, np.maximum(loss, 0.0), value)

    # -- products and roots of the loss ---------------------------------------------------------
    #
    # An argmax of lam * D + base, for the lam at which the bound is tight for the best output so far,
    # either proves that output best or shows another one.

    def _tangents(self, w: np.ndarray, scores: Parts, gold: np.ndarray) -> Found:
        assert self.costs is not None
        n = len(self.batch)
        best = _Best(self.batch.gold_codes, np.full(n, self.form.least))
        lam, open_ = self._lam.copy(), np.ones(n, dtype=bool)
        for _ in range(self.max_tangents):
            codes = self.batch.argmax(scores, self.batch.scale(self.costs, lam)).codes
            loss = self._loss_of(codes)
            margins = gold - self.batch.evaluate(codes, scores)
            base = self.form.base(margins)
            best.offer(codes, loss, self.form.violation(loss, margins), base)
            bound = self.form.bound(lam * loss + base, lam)
            closed = _reached(bound, best.value)
            self._lam = np.where(open_, lam, self._lam)
            open_ &= ~closed
            if not open_.any():
                break
            at_best = self.form.tangent(best.loss, best.base)
            # No violation yet: look for larger losses, or for better scores.
            blind = np.where(loss > 0, lam / 4.0, lam * 4.0)
            lam = np.where(
                open_, np.clip(np.where(best.value > self.form.least, at_best, blind), 1e-9, 1e9), lam
            )
        if open_.any() and not self.approx:
            uncertain = np.flatnonzero(open_)
            best.replace(uncertain, self._lists(w, uncertain, np.maximum(lam[uncertain], 1e-9), best))
        return Found(best.joined(), best.loss, best.value)

    def _lists(self, w: np.ndarray, samples: np.ndarray, lam: np.ndarray | None, best: _Best | None) -> Found:
        """Search k-best lists of growing length until the best output is certain."""
        codes = [self.batch.gold_codes[int(i)] for i in samples] if best is None else best.rows(samples)
        value = np.full(samples.size, self.form.least) if best is None else best.value[samples]
        loss = np.zeros(samples.size) if best is None else best.loss[samples]
        largest = self._largest(samples) if lam is None else np.zeros(samples.size)
        left, k = np.arange(samples.size), 4
        while left.size:
            part = _Part(self, samples[left], w)
            lists = part.lists(k, None if lam is None else lam[left])
            everything = np.array([len(listed.codes) < k for listed in lists])
            owner = np.repeat(np.arange(left.size), [len(listed.codes) for listed in lists])
            outputs = [row for listed in lists for row in listed.codes]
            losses, margins = part.measured(owner, outputs)
            if lam is None:
                self._check_bound(samples[left[owner]], losses, largest[left[owner]])
            values = self.form.violation(losses, margins)
            for j in range(owner.size):
                i = left[owner[j]]
                if values[j] > value[i]:
                    value[i], loss[i], codes[i] = values[j], losses[j], outputs[j]
            last = np.flatnonzero(np.append(np.diff(owner) > 0, True))
            base = self.form.base(margins[last])
            if lam is not None:
                limit = self.form.bound(lam[left] * losses[last] + base, lam[left])
            else:
                limit = self.form.limit(largest[left], base)
            certain = everything | _reached(limit, value[left])
            left = left[~certain]
            if self.approx and k >= _PROFILE_AFTER:
                break
            if left.size and k >= _PROFILE_AFTER and lam is not None:
                table = self._profile(samples[left])
                if table is not None:
                    answer = self._by_table(table, table.batch.scores(w))
                    loss[left], value[left] = answer.loss, answer.value
                    for j, i in enumerate(left):
                        codes[i] = answer.codes[j]
                    break
            if left.size and k >= self.max_candidates:
                raise Unsupported(
                    f"sample {int(samples[left[0]])}: the most violated output is not among the {k} best; "
                    f"use approx=True, or {self._remedy(lam is None and np.isinf(largest[left[0]]))}"
                )
            k *= 4
        return Found(_joined(codes), loss, value)

    def _remedy(self, unbounded: bool) -> str:
        name = type(self.batch.space.structure).__name__
        if unbounded:
            return f"a loss that has a bound on the outputs of {name} ({type(self.loss).__name__} has none)"
        return f"a loss that decomposes over the parts of {name}"

    def _largest(self, samples: np.ndarray) -> np.ndarray:
        if self._bounds is None:
            self._bounds = self.loss.max_values(self.batch)
        return self._bounds[samples]

    def _check_bound(self, sample: np.ndarray, losses: np.ndarray, largest: np.ndarray) -> None:
        bad = np.flatnonzero(losses > largest * (1.0 + 1e-9) + 1e-12)
        if bad.size:
            i = bad[0]
            raise InputError(
                f"an output has the loss {losses[i]:g}, above max_value = "
                f"{largest[i]:g} of {self.loss!r}; max_value must bound the loss of every output",
                sample=int(sample[i]),
            )

    def _profile(self, samples: np.ndarray, most: int = _MOST_LOSSES) -> _WholeCosts | None:
        """Table of the best scores by total loss, where part costs are small multiples of one number."""
        if not isinstance(self.batch, LossProfiles):
            return None
        part = self.batch.subset(samples)
        costs, constant = self.loss.part_costs(part)  # type: ignore[misc]
        units = self.loss.units(part)
        whole = {}
        for name, values in part.scale(costs, 1.0 / units).items():
            whole[name] = values
            if values is not None:
                whole[name] = np.rint(values)
                close = np.allclose(values, np.rint(values), rtol=0.0, atol=1e-9)
                if not close or values.min(initial=0.0) < -1e-9:
                    return None
        costs = Parts(**whole)
        nothing = part.scores(np.zeros(part.n_features))
        top = float(part.argmax(nothing, costs).values.max(initial=0.0))
        return _WholeCosts(part, costs, constant, units, round(top)) if top < most else None

    def _by_table(self, table: _WholeCosts, scores: Parts) -> Found:
        """Exact answer from the best score for every value of the loss."""
        batch, best = table.batch, table.best(scores)
        gold = batch.evaluate(batch.gold_codes, scores)
        with np.errstate(invalid="ignore"):  # 0 * inf, at losses that no output has
            values = self.form.violation(table.losses, gold[:, None] - best)
        values[best == -np.inf] = -np.inf
        chosen = values.argmax(axis=1)
        rows = np.arange(len(batch))
        return Found(table.outputs(scores, chosen), table.losses[rows, chosen], values[rows, chosen])


class _WholeCosts:
    """Best score for every value of a loss with whole part costs (times a unit per sample)."""

    def __init__(self, batch: LossProfiles, costs: Parts, constant: np.ndarray, units: np.ndarray, top: int):
        self.batch, self.costs, self._top = batch, costs, top
        self.losses = np.arange(top + 1) * units[:, None] + constant[:, None]

    def best(self, scores: Parts) -> np.ndarray:
        """Best score for every total cost."""
        return self.batch.loss_profile(scores, self.costs, self._top)

    def outputs(self, scores: Parts, column: np.ndarray) -> Ragged:
        """Outputs with the given total costs."""
        return self.batch.argmax_at_loss(scores, self.costs, column).codes


def _profiles_quickly(batch: Batch) -> bool:
    return isinstance(batch, LossProfiles) and batch.quick_profile


def _by_automaton(batch: Batch, loss: Loss, approx: bool) -> Automatic | None:
    """The loss through its automata; None where it has none."""
    try:
        automata = loss_automata(batch, loss)
    except TooManyStates:
        if not approx:
            raise  # lists long enough to be certain would be no smaller
        return None
    return None if automata is None else Automatic(batch, loss, automata)


def _reached(bound: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Whether nothing within the bound is more than slightly better than what was found."""
    slightly = np.where(value > -np.inf, _SLIGHTLY * (1.0 + np.abs(value)), 0.0)
    return bound <= value + slightly


class _Best:
    """Best output of every sample so far."""

    def __init__(self, codes: Ragged, value: np.ndarray):
        self.value, self.loss, self.base = value, np.zeros(value.size), np.zeros(value.size)
        self._codes = [codes]
        self._source = np.zeros(value.size, dtype=np.int64)

    def offer(self, codes: Ragged, loss: np.ndarray, value: np.ndarray, base: np.ndarray) -> None:
        """Take what is better."""
        better = value > self.value
        if better.any():
            self._source[better] = len(self._codes)
            self._codes.append(codes)
            self.value = np.where(better, value, self.value)
            self.loss = np.where(better, loss, self.loss)
            self.base = np.where(better, base, self.base)

    def rows(self, samples: np.ndarray) -> list[np.ndarray]:
        """Codes of some samples."""
        return [self._codes[self._source[i]][int(i)] for i in samples]

    def replace(self, samples: np.ndarray, answers: Found) -> None:
        """Take the answers for some samples."""
        codes = self.rows(np.arange(self.value.size))
        for j, i in enumerate(samples):
            codes[i] = answers.codes[j]
        self._codes, self._source = [_joined(codes)], np.zeros(self.value.size, dtype=np.int64)
        self.value[samples], self.loss[samples] = answers.value, answers.loss

    def joined(self) -> Ragged:
        """Codes of all samples."""
        if not self._source.any():
            return self._codes[0]
        lengths = np.zeros(self.value.size, dtype=np.int64)
        for number, codes in enumerate(self._codes):
            lengths[self._source == number] = codes.lengths[self._source == number]
        offsets = offsets_of(lengths)
        values = np.empty(offsets[-1], dtype=np.int64)
        for number, codes in enumerate(self._codes):
            chosen = np.flatnonzero(self._source == number)
            values[gather_ranges(offsets, chosen)] = codes.values[gather_ranges(codes.offsets, chosen)]
        return Ragged(values, offsets)


class _Part:
    """Some samples of an oracle's batch, with repeated samples for lists of outputs."""

    def __init__(self, oracle: Oracle, samples: np.ndarray, w: np.ndarray):
        self.oracle, self.samples, self.w = oracle, samples, w
        self.batch = oracle.batch.subset(samples)

    def lists(self, k: int, lam: np.ndarray | None) -> list:
        costs = None
        if lam is not None:
            costs = self.batch.scale(self.oracle.loss.part_costs(self.batch)[0], lam)  # type: ignore[index]
        return self.batch.kbest(self.batch.scores(self.w), k, costs)

    def measured(self, owner: np.ndarray, outputs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Losses and margins of outputs of the samples ``owner``."""
        many = self.batch.subset(owner)
        scores, codes = many.scores(self.w), _joined(outputs)
        margins = many.evaluate(many.gold_codes, scores) - many.evaluate(codes, scores)
        return np.maximum(self.oracle.loss.evaluate(many, codes), 0.0), margins


def _joined(rows: list[np.ndarray]) -> Ragged:
    values = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
    return Ragged(values, offsets_of([row.size for row in rows]))
