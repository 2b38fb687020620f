"""Laws that every structure obeys, for authors of structures.

Each verb of a batch is compared with what enumeration of all outputs gives, so inputs
must be tiny. See :func:`check_structure`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from trelliswork._ragged import Ragged
from trelliswork.structures.abilities import LossProfiles, PartlyKnown, Storable, require, unsupported
from trelliswork.structures.base import Batch, Decoded, Parts, Structure, Unsupported

__all__ = ["Checked", "check_structure"]

_MAX_OUTPUTS = 2000
_STEP = 1e-5  # of finite differences
_DRAWS = 300


class Checked(NamedTuple):
    """What :func:`check_structure` did.

    Attributes
    ----------
    laws : list of str
        Laws that were checked and hold.
    skipped : list of str
        Laws that need a verb that the structure does not offer, with the reason.

    Examples
    --------
    >>> from trelliswork import Chain
    >>> from trelliswork.testing import check_structure
    >>> checked = check_structure(Chain(), [["a", "b"]], [["x", "y"]])
    >>> checked.skipped
    []
    """

    laws: list[str]
    skipped: list[str]


def check_structure(
    structure: Structure,
    X: Any,
    y: Any,
    *,
    rng: int = 0,
    n_jobs: Sequence[int | None] = (1, 2),
    laws: Sequence[str] | None = None,
) -> Checked:
    """Check that a structure answers every question as enumeration does.

    Parameters
    ----------
    structure : Structure
        The structure, not bound to data.
    X, y : lists
        Tiny inputs and their outputs: every input may have at most 2,000 outputs.
    rng : int, default=0
        Seed of the random weights. Another number is another random choice, no better or worse.
    n_jobs : sequence of int or None, default=(1, 2)
        Numbers of threads that must all give the same bits.
    laws : sequence of str or None, default=None
        Names of the laws to check; None for all.

    Returns
    -------
    Checked
        Names of the laws that hold and of those that were skipped because the structure
        does not offer a verb.

    Raises
    ------
    AssertionError
        If a law does not hold; the message names the law and the sample.

    Examples
    --------
    >>> from trelliswork.structures import Chain
    >>> from trelliswork.testing import check_structure
    >>> done = check_structure(Chain(), [["a", "b"], ["b"]], [["X", "Y"], ["X"]])
    >>> done.laws[:3], done.skipped
    (['clone', 'round trip', 'features'], [])
    """
    case = _Case(structure, X, y, np.random.default_rng(rng), tuple(n_jobs))
    kept, skipped = [], []
    for name in _LAWS if laws is None else laws:
        case.law = name
        try:
            _LAWS[name](case)
        except Unsupported as reason:
            skipped.append(f"{name}: {reason}")
        else:
            kept.append(name)
    return Checked(kept, skipped)


class _Case:
    """A bound structure, random weights and everything that enumeration tells."""

    law = "enumerate"

    def __init__(
        self, structure: Structure, X: Any, y: Any, rng: np.random.Generator, n_jobs: tuple[Any, ...]
    ):
        self.structure, self.X, self.y, self.rng, self.n_jobs = structure, X, list(y), rng, n_jobs
        self.space = structure.bind(X, y)
        d = self.space.n_features
        self.batch = self.space.pack(X, y, n_jobs=n_jobs[0])
        self.n = len(self.batch)
        self.outputs = [self._enumerate(i) for i in range(self.n)]
        self.places: dict[int, dict[str, int]] = {}  # of outputs, by their texts
        self.packed = [self.space.pack([X[i]] * len(o), o) for i, o in enumerate(self.outputs)]
        self.phi = [np.asarray(packed.gold().toarray()) for packed in self.packed]
        self.w, self.h = rng.normal(size=d), rng.normal(size=d)
        self.weights = rng.random(self.n) + 0.5
        self.scores = self.batch.scores(self.w)
        self.values = [phi @ self.w for phi in self.phi]
        self.p = [np.exp(v - logsumexp(v)) for v in self.values]
        self.mean = np.array([p @ phi for p, phi in zip(self.p, self.phi)]).reshape(self.n, d)

    def _enumerate(self, i: int) -> list[Any]:
        outputs: list[Any] = []
        for output in self.space.enumerate(self.X[i]):
            outputs.append(output)
            if len(outputs) > _MAX_OUTPUTS:
                raise ValueError(f"sample {i} has more than {_MAX_OUTPUTS} outputs; laws need tiny inputs")
        self.check(bool(outputs), i, "there is no output")
        for j, output in enumerate(outputs):
            self.check(output not in outputs[:j], i, f"{output!r} is listed twice")
        return outputs

    def covariance(
        self, weights: np.ndarray | None = None, p: Sequence[np.ndarray] | None = None
    ) -> np.ndarray:
        """Enumerated covariance, summed over samples."""
        total = np.zeros((self.space.n_features,) * 2)
        for i, (q, phi) in enumerate(zip(self.p if p is None else p, self.phi)):
            centred = phi - q @ phi
            total += (1.0 if weights is None else weights[i]) * (centred.T * q) @ centred
        return total

    def losses(self) -> list[np.ndarray]:
        """Cost of every enumerated output against the gold output, constants left out."""
        out = []
        for i, packed in enumerate(self.packed):
            # Costs belong to a batch with its true outputs: the sample, once for every output.
            many, codes = self.batch.subset(np.full(len(packed), i)), packed.gold_codes
            zeros = many.scores(np.zeros(self.space.n_features))
            out.append(many.evaluate(codes, zeros + many.mismatch()[0]) - many.evaluate(codes, zeros))
        return out

    def place(self, i: int, output: Any) -> int:
        """Number of an output among those enumerated; fails if it is not one."""
        places = self.places.setdefault(i, {})
        if repr(output) not in places:  # where outputs have many parts it takes long to compare them all
            self.check(output in self.outputs[i], i, f"{output!r} is not an output")
            places[repr(output)] = self.outputs[i].index(output)
        return places[repr(output)]

    def score_of(self, i: int, output: Any) -> float:
        """Enumerated score of an output."""
        return float(self.values[i][self.place(i, output)])

    def check(self, holds: bool, i: int | None, message: str) -> None:
        """Raise unless ``holds``."""
        if not holds:
            where = "" if i is None else f"sample {i}: "
            raise AssertionError(f"{type(self.structure).__name__}: law {self.law!r}: {where}{message}")

    def close(self, got: Any, wanted: Any, i: int | None, what: str, tolerance: float = 1e-8) -> None:
        """Raise unless two arrays agree."""
        got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
        if got.shape != wanted.shape or not np.allclose(got, wanted, rtol=tolerance, atol=tolerance):
            self.check(False, i, f"{what} is {_short(got)}, enumeration gives {_short(wanted)}")


def _clone(case: _Case) -> None:
    copy = clone(case.structure)
    same = repr(copy.get_params()) == repr(case.structure.get_params())
    case.check(same, None, "parameters change when the structure is cloned")


def _round_trip(case: _Case) -> None:
    for i, packed in enumerate(case.packed):
        for got, wanted in zip(packed.unpack(packed.gold_codes), case.outputs[i], strict=True):
            case.check(got == wanted, i, f"{wanted!r} comes back as {got!r}")
    for i, (got, wanted) in enumerate(zip(case.batch.unpack(case.batch.gold_codes), case.y, strict=True)):
        case.check(_equal(got, wanted), i, f"the true output {wanted!r} comes back as {got!r}")
        case.check(got in case.outputs[i], i, f"the true output {wanted!r} is not enumerated")


def _features(case: _Case) -> None:
    names = case.space.feature_names
    d = case.space.n_features
    case.check(len(names) == d == len(set(names)), None, f"{len(set(names))} distinct names, {d} features")
    gold = case.batch.gold().toarray()
    for i, packed in enumerate(case.packed):
        case.close(packed.evaluate(packed.gold_codes, packed.scores(case.w)), case.values[i], i, "evaluate")
        place = case.place(i, case.batch.unpack(case.batch.gold_codes)[i])
        case.close(gold[i], case.phi[i][place], i, "gold()")
    case.close(case.batch.gold_sum(case.weights), case.weights @ gold, None, "gold_sum")


def _argmax(case: _Case) -> None:
    best = case.batch.argmax(case.scores)
    for i, output in enumerate(case.batch.unpack(best.codes)):
        case.close(best.values[i], case.values[i].max(), i, "value")
        case.close(case.score_of(i, output), best.values[i], i, f"score of {output!r}")


def _kbest(case: _Case) -> None:
    for k in (1, 2, 5, max(map(len, case.outputs)) + 2):
        for i, listed in enumerate(case.batch.kbest(case.scores, k)):
            wanted = np.sort(case.values[i])[::-1][:k]
            case.close(listed.values, wanted, i, f"scores for k={k}")
            outputs = case.batch.unpack_sample(i, listed.codes)
            for j, output in enumerate(outputs):
                case.check(output not in outputs[:j], i, f"{output!r} is listed twice for k={k}")
                case.close(case.score_of(i, output), wanted[j], i, f"score of {output!r}")


def _log_partition(case: _Case) -> None:
    case.close(case.batch.log_partition(case.scores), [logsumexp(v) for v in case.values], None, "log Z")


def _log_count(case: _Case) -> None:
    case.close(case.batch.log_count(), [np.log(len(o)) for o in case.outputs], None, "log_count")


def _marginals(case: _Case) -> None:
    batch = case.batch
    each = batch.pull_each(batch.marginals(case.scores, each=True)).toarray()
    for i in range(case.n):
        case.close(each[i], case.mean[i], i, "mean features")
    case.close(batch.means(case.w).toarray(), case.mean, None, "means()")
    uniform = [phi.mean(axis=0) for phi in case.phi]
    case.close(batch.means().toarray(), uniform, None, "means() of the uniform law")
    summed = batch.pull(batch.marginals(case.scores, weights=case.weights))
    case.close(summed, case.weights @ case.mean, None, "weighted sum of mean features")
    up, down = (batch.log_partition(batch.scores(case.w + s * case.h)) for s in (_STEP, -_STEP))
    case.close((up - down) / (2 * _STEP), case.mean @ case.h, None, "slope of log Z", 1e-5)


def _expect(case: _Case) -> None:
    for weights in (None, case.weights):
        log_z, mean = case.batch.expect(case.w, weights=weights)
        case.close(log_z, [logsumexp(v) for v in case.values], None, "log Z")
        total = (np.ones(case.n) if weights is None else weights) @ case.mean
        case.close(mean, total, None, "expected features")


def _tangent(case: _Case) -> None:
    batch, along = case.batch, case.batch.scores(case.h)
    got = batch.pull(batch.tangent(case.scores, along, weights=case.weights))
    case.close(got, case.covariance(case.weights) @ case.h, None, "C h")
    each = batch.pull_each(batch.tangent(case.scores, along, each=True)).toarray()
    case.close(each.sum(axis=0), case.covariance() @ case.h, None, "sum over samples of C h")
    up, down = (
        batch.pull(batch.marginals(batch.scores(case.w + s * case.h), weights=case.weights))
        for s in (_STEP, -_STEP)
    )
    case.close((up - down) / (2 * _STEP), got, None, "slope of the marginals", 1e-5)


def _moments(case: _Case) -> None:
    batch = case.batch
    for w, weights in ((case.w, None), (case.w, case.weights), (None, None)):
        p = case.p if w is not None else [np.full(len(o), 1 / len(o)) for o in case.outputs]
        wanted = case.covariance(weights, p)
        mean, covariance = batch.moments(w, weights)
        case.close(mean, [q @ phi for q, phi in zip(p, case.phi)], None, "mean")
        case.close(covariance, wanted, None, "covariance")
        V = np.stack([case.h, case.w], axis=1)
        case.close(batch.covariance_product(w, V, weights), wanted @ V, None, "covariance_product")


def _adjoint(case: _Case) -> None:
    batch = case.batch
    for parts_of in (
        lambda each: batch.indicators(batch.gold_codes, case.weights, each=each),
        lambda each: batch.marginals(case.scores, weights=case.weights, each=each),
    ):
        pulled = batch.pull(parts_of(False))
        case.close(case.scores.dot(parts_of(False)), case.w @ pulled, None, "<scores(w), parts>")
        rows = batch.pull_each(parts_of(True)).toarray()
        case.close(rows.sum(axis=0), pulled, None, "sum of pull_each")
        case.close(batch.pull(parts_of(True)), pulled, None, "pull of parts with each=True")


def _sample(case: _Case) -> None:
    draws = case.batch.sample(case.scores, _DRAWS, np.random.default_rng(1))
    case.check(len(draws) == _DRAWS, None, f"{len(draws)} draws instead of {_DRAWS}")
    counts = [np.zeros(len(o)) for o in case.outputs]
    for i, count in enumerate(counts):
        for output in case.batch.unpack_sample(i, Ragged.from_list([codes[i] for codes in draws], np.int64)):
            count[case.place(i, output)] += 1
    for i, (count, p) in enumerate(zip(counts, case.p)):
        limit = 5 * np.sqrt(p * (1 - p) / _DRAWS) + 3 / _DRAWS
        case.check(
            bool(np.all(np.abs(count / _DRAWS - p) <= limit)), i, f"{count} draws of outputs with p={p}"
        )


def _costs(case: _Case) -> None:
    batch, losses = case.batch, case.losses()
    costs, constant = batch.mismatch()
    gold = batch.unpack(batch.gold_codes)
    for i, loss in enumerate(losses):
        case.close(loss[case.place(i, gold[i])] + constant[i], 0.0, i, "loss of the true output")
        case.check(bool(np.all(loss + constant[i] > -1e-9)), i, "a loss is negative")
    totals = [v + loss for v, loss in zip(case.values, losses)]
    augmented = batch.argmax(case.scores, costs)
    case.close(augmented.values, [t.max() for t in totals], None, "loss-augmented maximum")
    for i, output in enumerate(batch.unpack(augmented.codes)):
        case.close(totals[i][case.place(i, output)], totals[i].max(), i, f"value of {output!r}")
    case.close(batch.log_partition(case.scores, costs), [logsumexp(t) for t in totals], None, "log Z")
    wanted = sum(np.exp(t - logsumexp(t)) @ phi for t, phi in zip(totals, case.phi))
    case.close(batch.pull(batch.marginals(case.scores, costs)), wanted, None, "mean features")
    second = [np.sort(t)[::-1][:2] for t in totals]
    for i, best in enumerate(batch.kbest(case.scores, 2, costs)):
        case.close(best.values, second[i], i, "two best values")


def _loss_profile(case: _Case) -> None:
    batch, exact = require(case.batch, LossProfiles), case.losses()
    losses = [np.rint(loss).astype(int) for loss in exact]
    if any(np.abs(loss - whole).max() > 1e-6 for loss, whole in zip(exact, losses)):
        raise Unsupported("mismatch() has costs that are not whole numbers")
    top = max(int(loss.max()) for loss in losses)
    costs = batch.mismatch()[0]
    for width in (top + 1, top // 2):
        wanted = np.full((case.n, width + 1), -np.inf)
        for i, loss in enumerate(losses):
            for value, total in zip(case.values[i], loss.tolist()):
                if total <= width:
                    wanted[i, total] = max(wanted[i, total], value)
        case.close(batch.loss_profile(case.scores, costs, width), wanted, None, "profile")
    chosen = np.array([loss.max() for loss in losses])
    decoded = batch.argmax_at_loss(case.scores, costs, chosen)
    for i, output in enumerate(batch.unpack(decoded.codes)):
        best = case.values[i][losses[i] == chosen[i]].max()
        case.close(decoded.values[i], best, i, f"best score at loss {chosen[i]}")
        case.close(case.score_of(i, output), best, i, f"score of {output!r}")
        case.check(losses[i][case.place(i, output)] == chosen[i], i, f"{output!r} has another loss")


def _subset(case: _Case) -> None:
    index = np.array([*range(case.n - 1, -1, -1), 0])
    part = case.batch.subset(index)
    case.check(len(part) == index.size and part.has_gold, None, "wrong length, or the outputs are lost")
    gold = case.batch.unpack(case.batch.gold_codes)
    for j, (got, i) in enumerate(zip(part.unpack(part.gold_codes), index)):
        case.check(got == gold[i], j, f"true output {got!r} instead of {gold[i]!r}")
    case.close(part.gold().toarray(), case.batch.gold().toarray()[index], None, "gold()")
    scores = part.scores(case.w)
    case.close(part.argmax(scores).values, [case.values[i].max() for i in index], None, "maximum")
    case.close(part.pull(part.marginals(scores)), case.mean[index].sum(axis=0), None, "mean features")


def _per_sample(case: _Case) -> None:
    batch, costs = case.batch, case.batch.mismatch()[0]
    mean = batch.marginals(case.scores, each=True)
    case.close(batch.dot_each(mean, case.scores), case.mean @ case.w, None, "mean scores by dot_each")
    expected = [p @ loss for p, loss in zip(case.p, case.losses())]
    case.close(batch.dot_each(mean, costs), expected, None, "mean costs by dot_each")
    scaled = batch.scale(mean, case.weights)
    case.close(batch.pull(scaled), case.weights @ case.mean, None, "scale")
    total = [(v + f * c).max() for v, f, c in zip(case.values, case.weights, case.losses())]
    augmented = batch.argmax(case.scores, batch.scale(costs, case.weights))
    case.close(augmented.values, total, None, "maximum with costs times a factor per sample")


def _store(case: _Case) -> None:
    stored = require(case.batch, Storable)
    half = [stored.subset(np.arange(0, case.n // 2)), stored.subset(np.arange(case.n // 2, case.n))]
    space = case.space.merged(case.space)
    case.check(
        space.feature_names == case.space.feature_names, None, "a space changes when merged with itself"
    )
    first, second = (part.into(space) for part in half)
    whole = require(first, Storable).joined(second)
    again = space.restore(stored.state())
    for name, batch in (("joined", whole), ("restored", again)):
        case.check(len(batch) == case.n, None, f"{name}: {len(batch)} samples of {case.n}")
        case.close(batch.gold().toarray(), case.batch.gold().toarray(), None, f"{name}: gold()")
        best = [v.max() for v in case.values]
        case.close(batch.argmax(batch.scores(case.w)).values, best, None, f"{name}: maximum")
        mean = batch.pull_each(batch.marginals(batch.scores(case.w), each=True)).toarray()
        case.close(mean, case.mean, None, f"{name}: mean features")


def _threads(case: _Case) -> None:
    reference = _answers(case, case.batch)
    for jobs in case.n_jobs[1:]:
        for name, got in _answers(case, case.space.pack(case.X, case.y, n_jobs=jobs)).items():
            same = _bits(got) == _bits(reference[name])
            case.check(same, None, f"{name} differs between n_jobs={case.n_jobs[0]} and {jobs}")


def _answers(case: _Case, batch: Batch) -> dict[str, Any]:
    """Results of all verbs that are offered."""
    scores, along, costs = batch.scores(case.w), batch.scores(case.h), batch.mismatch()[0]
    calls: dict[str, Callable[[], Any]] = {
        "scores": lambda: scores,
        "argmax": lambda: batch.argmax(scores),
        "kbest": lambda: batch.kbest(scores, 3),
        "log_partition": lambda: batch.log_partition(scores),
        "marginals": lambda: batch.marginals(scores),
        "pull": lambda: batch.pull(batch.indicators(batch.gold_codes)),
        "expect": lambda: batch.expect(case.w),
        "tangent": lambda: batch.tangent(scores, along),
        "moments": lambda: batch.moments(case.w),
        "sample": lambda: batch.sample(scores, 5, np.random.default_rng(2)),
    }
    if isinstance(batch, LossProfiles):
        calls["loss_profile"] = lambda: batch.loss_profile(scores, costs, 2)
    return {name: call() for name, call in calls.items()}


def _bits(result: Any) -> Any:
    """Nested tuples of bytes, equal only if two results are."""
    if isinstance(result, Parts):
        return tuple((name, _bits(values)) for name, values in result.items())
    if isinstance(result, Ragged):
        return _bits(result.values), _bits(result.offsets)
    if isinstance(result, (list, tuple, Decoded)):
        return tuple(_bits(item) for item in result)
    return None if result is None else (result.shape, np.ascontiguousarray(result).tobytes())


def _state(case: _Case) -> None:
    again = type(case.space).from_state(clone(case.structure), case.space.state())
    case.check(again.feature_names == case.space.feature_names, None, "feature names change")
    scores = again.pack(case.X, case.y).scores(case.w)
    case.check(_bits(scores) == _bits(case.scores), None, "scores change")


def _pickle(case: _Case) -> None:
    try:
        pickle.dumps(case.structure)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Unsupported(f"the structure cannot be pickled ({error})") from None
    space, batch = pickle.loads(pickle.dumps((case.space, case.batch)))
    case.check(_bits(batch.scores(case.w)) == _bits(case.scores), None, "scores of the batch change")
    scores = space.pack(case.X, case.y).scores(case.w)
    case.check(_bits(scores) == _bits(case.scores), None, "scores of the space change")


def _partly_known(case: _Case) -> None:
    if not case.structure.offers(PartlyKnown):
        raise unsupported(type(case.structure), PartlyKnown)
    rng = np.random.default_rng(case.n)
    for share in (0.3, 0.7, 1.0):
        known = [case.space.hidden(x, y, share, rng) for x, y in zip(_rows(case.X), case.y, strict=True)]
        agree = [
            np.array([case.space.agrees(x, k, o) for o in outputs])
            for x, k, outputs in zip(_rows(case.X), known, case.outputs, strict=True)
        ]
        for i, (mask, y) in enumerate(zip(agree, case.batch.unpack(case.batch.gold_codes), strict=True)):
            case.check(bool(mask[case.place(i, y)]), i, f"{y!r} does not agree with {known[i]!r}")
        _check_learning_from(case, known, agree)
        _check_constrained(case, known, agree)
        if share == 1.0:
            for i, mask in enumerate(agree):
                case.check(bool(mask.all()), i, "an output does not agree with knowing nothing")
    everything = [case.space.hidden(x, y, 0.0, rng) for x, y in zip(_rows(case.X), case.y, strict=True)]
    case.check(
        not require(case.space.pack(case.X, everything), PartlyKnown).partly_known,
        None,
        "outputs that are known as a whole count as known in part",
    )


def _check_learning_from(case: _Case, known: list[Any], agree: list[np.ndarray]) -> None:
    """Sums over the outputs that agree, their best one and the costs of the others."""
    batch = require(case.space.pack(case.X, known, n_jobs=case.n_jobs[0]), PartlyKnown)
    log_sums = [logsumexp(v[mask]) for v, mask in zip(case.values, agree, strict=True)]
    case.close(batch.gold_values(batch.scores(case.w)), log_sums, None, "log of the sum over what agrees")
    index = batch.open_samples
    if not index.size:
        return
    part, weights = batch.subset(index), case.weights[index]
    mean = np.array([_mean(case.values[i], case.phi[i], agree[i]) for i in index])
    copies = [("", part)]
    with suppress(pickle.PicklingError, AttributeError, TypeError):  # its own law says so
        copies.append(("pickled: ", pickle.loads(pickle.dumps(part))))
    for name, copied in copies:
        log_z, expected = copied.expect_known(case.w, weights)
        case.close(log_z, [log_sums[i] for i in index], None, f"{name}log Z of what agrees")
        case.close(expected, weights @ mean, None, f"{name}expected features of what agrees")
    if isinstance(batch, Storable):
        whole = require(batch.subset([0]).into(case.space), Storable).joined(batch.into(case.space))
        for name, same in (
            ("joined", whole.subset(index + 1)),
            ("stored", case.space.restore(batch.state()).subset(index)),
        ):
            log_z = require(same, PartlyKnown).expect_known(case.w)[0]
            case.close(log_z, [log_sums[i] for i in index], None, f"{name}: log Z of what agrees")
    best = part.completion(part.scores(case.w))
    case.close(best.values, [case.values[i][agree[i]].max() for i in index], None, "best that agrees")
    done = part.completed(best.codes)
    costs, constant = done.mismatch()
    zeros = done.scores(np.zeros(case.space.n_features))
    case.close(done.evaluate(done.gold_codes, zeros + costs) + constant, 0.0 * constant, None, "its loss")
    for place, i in enumerate(index):
        many = done.subset(np.full(len(case.outputs[i]), place))
        costs, constant = many.mismatch()
        zeros = many.scores(np.zeros(case.space.n_features))
        loss = many.evaluate(case.packed[i].gold_codes, zeros + costs) + constant
        case.check(bool(np.all(np.abs(loss[agree[i]]) < 1e-9)), i, "an output that agrees has a loss")
        case.check(bool(np.all(loss > -1e-9)), i, "a loss is negative")


def _check_constrained(case: _Case, known: list[Any], agree: list[np.ndarray]) -> None:
    """Every verb under ``known=``."""
    batch, limits = require(case.space.pack(case.X, known=known), PartlyKnown).restricted()
    scores = batch.scores(case.w)
    scores = scores if limits is None else scores + limits
    values = [v[mask] for v, mask in zip(case.values, agree, strict=True)]
    case.close(batch.log_partition(scores), [logsumexp(v) for v in values], None, "log Z under known=")
    best = batch.argmax(scores)
    case.close(best.values, [v.max() for v in values], None, "maximum under known=")
    each = batch.pull_each(batch.marginals(scores, each=True)).toarray()
    for i, mask in enumerate(agree):
        case.close(each[i], _mean(case.values[i], case.phi[i], mask), i, "mean features under known=")
    for i, listed in enumerate(batch.kbest(scores, 3)):
        case.close(listed.values, np.sort(values[i])[::-1][:3], i, "three best under known=")
    answers = [best.codes, batch.mea(scores).codes, *batch.sample(scores, 3, np.random.default_rng(3))]
    for codes in answers:
        for i, output in enumerate(batch.unpack(codes)):
            place = case.place(i, output)
            case.check(bool(agree[i][place]), i, f"{output!r} does not agree with {known[i]!r}")


def _mean(values: np.ndarray, phi: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean features of some of the outputs."""
    return np.exp(values[mask] - logsumexp(values[mask])) @ phi[mask]


def _rows(X: Any) -> Any:
    """Inputs one by one; rows of sparse matrices cannot be iterated over in all versions of SciPy."""
    return (X[i] for i in range(X.shape[0] if hasattr(X, "shape") else len(X)))


_LAWS: dict[str, Callable[[_Case], None]] = {
    "clone": _clone,
    "round trip": _round_trip,
    "features": _features,
    "argmax": _argmax,
    "kbest": _kbest,
    "log_partition": _log_partition,
    "log_count": _log_count,
    "marginals": _marginals,
    "expect": _expect,
    "tangent": _tangent,
    "moments": _moments,
    "adjoint": _adjoint,
    "sample": _sample,
    "costs": _costs,
    "loss_profile": _loss_profile,
    "subset": _subset,
    "per sample": _per_sample,
    "store": _store,
    "partly known": _partly_known,
    "same bits": _threads,
    "state": _state,
    "pickle": _pickle,
}


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b) or list(a) == list(b)  # y may hold tuples or arrays
    except (TypeError, ValueError):
        return hasattr(a, "__iter__") and hasattr(b, "__iter__") and list(a) == list(b)


def _short(values: np.ndarray) -> str:
    return np.array2string(values, threshold=12, edgeitems=3, precision=6, max_line_width=1000).replace(
        "\n", ""
    )
