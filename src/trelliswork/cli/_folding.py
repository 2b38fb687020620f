"""How ``trelliswork fold`` works on a stream: sequences in groups, answers in their order."""

from __future__ import annotations

import json
import math
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trelliswork._errors import InputError

__all__ = ["Folded", "Plan", "Sequence", "fold_stream", "prefetched", "text_of"]

_GROUP = 64  # sequences that are folded at a time
_BASES = 4000  # and their bases, if there is more than one


class Sequence(NamedTuple):
    """A sequence, with its evidence if there is any."""

    name: str
    x: Any


class Folded(NamedTuple):
    """One sequence and its structures, best first."""

    name: str
    sequence: str
    structures: list[str]
    scores: list[float]
    probabilities: list[float]


class Plan(NamedTuple):
    """What is asked about every sequence.

    Attributes
    ----------
    k : int
        Number of structures.
    best : bool
        Whether the most probable ones, not the one of most right bases.
    probabilities : bool
        Whether pair probabilities are wanted, too.
    """

    k: int
    best: bool
    probabilities: bool


def fold_stream(
    learner: Any, sequences: Iterator[Sequence], plan: Plan, file: str
) -> Iterator[list[tuple[Folded, Any]]]:
    """Structures of sequences, group by group, with pair probabilities where they are wanted.

    What cannot be read or folded ends the stream, after all that came before it.

    Parameters
    ----------
    learner : Learner
        A model of RNA structures.
    sequences : iterator of Sequence
        What to fold.
    plan : Plan
        What is asked.
    file : str
        Where the sequences are from, for messages.
    """
    for group, error in _groups(sequences):
        if group:
            yield from _answers(learner, group, plan, file)
        if error is not None:
            raise error


def _groups(sequences: Iterator[Sequence]) -> Iterator[tuple[list[Sequence], Exception | None]]:
    """Sequences to be folded together; with the last ones, what went wrong after them."""
    group: list[Sequence] = []
    bases = 0
    hurried = sequences if isinstance(sequences, prefetched) else None
    while True:
        try:
            one = next(sequences, None)
        except Exception as error:
            yield group, error
            return
        full = one is not None and (len(group) == _GROUP or bases + len(one.x) >= _BASES)
        if group and (one is None or full):
            yield group, None
            group, bases = [], 0
        if one is None:
            return
        group.append(one)
        bases += len(one.x)
        if hurried is not None and not hurried.waiting():
            yield group, None
            group, bases = [], 0


class prefetched:
    """Sequences of a pipe, read by a thread: those that have come are folded while others are awaited.

    Parameters
    ----------
    sequences : iterator of Sequence
        What is read.
    """

    def __init__(self, sequences: Iterable[Sequence]):
        self._queue: queue.Queue[Any] = queue.Queue(4 * _GROUP)
        threading.Thread(target=self._read, args=(sequences,), daemon=True).start()

    def _read(self, sequences: Iterable[Sequence]) -> None:
        try:
            for one in sequences:
                self._queue.put(one)
            self._queue.put(None)
        except BaseException as error:
            self._queue.put(error)

    def waiting(self) -> bool:
        """Whether the next sequence, or the end, has come."""
        return not self._queue.empty()

    def __iter__(self) -> prefetched:
        return self

    def __next__(self) -> Sequence:
        found = self._queue.get()
        if found is None:
            raise StopIteration
        if isinstance(found, BaseException):
            raise found
        return found


def _answers(
    learner: Any, group: list[Sequence], plan: Plan, file: str
) -> Iterator[list[tuple[Folded, Any]]]:
    try:
        done = list(_folds(learner, group, plan))
    except InputError as error:
        if error.sample:
            yield from _answers(learner, group[: error.sample], plan, file)
        raise error.placed(file, [one.name for one in group]) from None
    yield done


def _folds(learner: Any, group: list[Sequence], plan: Plan) -> Iterator[tuple[Folded, Any]]:
    """Structures of every sequence, and its pair probabilities where they are wanted."""
    X = [one.x for one in group]
    batch = learner.pack(X)
    batch.check_room()
    scores = learner.part_scores(batch, X)
    chances = batch.pair_probabilities(scores) if plan.probabilities or not plan.best else None
    if plan.best:
        lists = batch.kbest(scores, plan.k)
        codes, values = [one.codes for one in lists], [one.values.tolist() for one in lists]
        structures = [batch.unpack_sample(i, some) for i, some in enumerate(codes)]
    else:
        decoded = batch.most_accurate(chances, batch.space.structure.gamma)
        structures = [[one] for one in batch.unpack(decoded.codes)]
        values = [[value] for value in batch.evaluate(decoded.codes, scores).tolist()]
    log_z = batch.log_partition(scores).tolist()
    for i, ((name, x), some, value) in enumerate(zip(group, structures, values)):
        shares = [math.exp(min(v - log_z[i], 0.0)) for v in value]
        yield (
            Folded(name, str(getattr(x, "seq", x)), some, value, shares),
            (batch.unpack_sample_pairs(i, chances) if plan.probabilities else None),
        )


def text_of(form: str, folded: Folded) -> str:
    """Text of one sequence, in a format of the command."""
    import io as text_io

    from trelliswork import io

    name, x, y, scores, shares = folded
    if form == "json":
        listed = [
            {"structure": one, "score": score, "probability": share}
            for one, score, share in zip(y, scores, shares, strict=True)
        ]
        rest = listed[0] if len(listed) == 1 else {"structures": listed}
        return json.dumps({"name": name, "sequence": x} | rest) + "\n"
    names = [name] if len(y) == 1 else [f"{name}_{i + 1}" for i in range(len(y))]
    out, many = text_io.StringIO(), [x] * len(y)
    if form == "dbn":
        notes = [f"({score:.2f}, p={share:.3g})" for score, share in zip(scores, shares, strict=True)]
        io.write_dot_bracket(out, names, many, y, notes=notes)
    else:
        (io.write_ct if form == "ct" else io.write_bpseq)(out, names, many, y)
    return out.getvalue()
