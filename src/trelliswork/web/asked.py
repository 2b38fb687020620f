"""What a request asks for, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trelliswork._errors import InputError
from trelliswork.web.limits import Limits, Refused

__all__ = ["Asked", "Options"]

_FIELDS = ("input", "inputs", "known", "k", "marginals", "mea", "sample", "seed", "why", "draw")


@dataclass(frozen=True)
class Options:
    """What is wanted of every input; requests with equal options can be answered together.

    Attributes
    ----------
    k : int
        Candidates; 1 is the best output alone, without its probability.
    marginals, mea : bool
        Probabilities of parts; the output of largest expected accuracy.
    sample : int
        Random outputs.
    seed : int or None
        For them.
    why : tuple of int or None
        Places of two candidates whose scores are compared.
    draw : bool
        Whether answers have what the page draws from.
    """

    k: int = 0
    marginals: bool = False
    mea: bool = False
    sample: int = 0
    seed: int | None = None
    why: tuple[int, int] | None = None
    draw: bool = False

    @property
    def plain(self) -> bool:
        """Whether only the best output is wanted."""
        return not (self.k or self.marginals or self.mea or self.sample or self.why or self.draw)


@dataclass(frozen=True)
class Asked:
    """One request.

    Attributes
    ----------
    X : list
        Inputs.
    known : list or None
        What is known of their outputs.
    options : Options
        What is wanted.
    seconds : float
        How long it would take.
    """

    X: list[Any]
    known: list[Any] | None
    options: Options
    seconds: float

    @classmethod
    def read(cls, body: dict[str, Any], view: Any, limits: Limits) -> Asked:
        """Check a request.

        Parameters
        ----------
        body : dict
            JSON.
        view : View
            Of the model.
        limits : Limits
            What is too much.
        """
        for name in body:
            if name not in _FIELDS:
                raise Refused(400, f"unknown field {name!r:.60}; known are {', '.join(_FIELDS)}")
        given = _inputs(body, limits)
        options = _options(body, view, limits)
        X = []
        for i, value in enumerate(given):
            try:
                X.append(view.read(value))
            except InputError as error:
                raise Refused(422, f"input {i}: {error.message}") from None
            except RecursionError:
                raise Refused(422, f"input {i} is nested too deeply") from None
        known = _known(body, X, view)
        sums = options.marginals or options.mea or options.sample > 0 or options.why is not None
        k = max(options.k, 0 if options.why is None else max(options.why) + 1)
        factor = view.factor(k, sums) + (0.5 if options.draw else 0.2) * options.sample
        _check_answer(X, options, view, limits)
        seconds = sum(view.seconds(x) for x in X) * factor + view.call
        limits.check_work(seconds, "this request")
        return cls(X, known, options, seconds)


def _check_answer(X: list[Any], options: Options, view: Any, limits: Limits) -> None:
    """Refuse answers that would be too long to send."""
    outputs = max(1, options.k) + options.sample + options.mea
    symbols = outputs * sum(view.size(x) for x in X)
    if symbols > limits.symbols:
        raise Refused(422, f"outputs of {symbols:,} symbols are too long to send; at most {limits.symbols:,}")
    if not options.marginals:
        return
    for x in X:
        view.check_shown(x)
    cells = sum(view.shown(x) for x in X)
    if cells > limits.cells:
        raise Refused(422, f"{cells:,} probabilities are too many to send; at most {limits.cells:,}")


def _inputs(body: dict[str, Any], limits: Limits) -> list[Any]:
    if ("input" in body) == ("inputs" in body):
        raise Refused(400, "expected either input or inputs")
    if "input" in body:
        return [body["input"]]
    given = body["inputs"]
    if not isinstance(given, list):
        raise Refused(400, "inputs must be a list")
    if len(given) > limits.inputs:
        raise Refused(413, f"{len(given):,} inputs; at most {limits.inputs:,} are taken at a time")
    return given


def _options(body: dict[str, Any], view: Any, limits: Limits) -> Options:
    k, sample = (_whole(body, name, limits.k) for name in ("k", "sample"))
    flags = {}
    for name in ("marginals", "mea", "draw"):
        value = body.get(name, False)
        if not isinstance(value, bool):
            raise Refused(400, f"{name} must be true or false")
        flags[name] = value
    why = _why(body.get("why", False), limits)
    seed = body.get("seed")
    if seed is not None and (type(seed) is not int or not 0 <= seed < 2**32):
        raise Refused(400, "seed must be a whole number from 0 to 4294967295")
    asked = {"kbest": k, "marginals": flags["marginals"], "mea": flags["mea"], "sample": sample, "why": why}
    for name, wanted in asked.items():
        if wanted and name not in view.abilities:
            raise Refused(
                422, f"this model has no {name}; it has {', '.join(view.abilities) or 'predict only'}"
            )
    return Options(k=k, sample=sample, seed=seed, why=why, **flags)


def _whole(body: dict[str, Any], name: str, most: int) -> int:
    value = body.get(name, 0)
    if type(value) is not int or not 0 <= value <= most:
        raise Refused(400, f"{name} must be a whole number from 0 to {most}")
    return value


def _why(value: Any, limits: Limits) -> tuple[int, int] | None:
    """True compares the best output with the second; a list names two places."""
    if value is False or value is None:
        return None
    if value is True:
        return 0, 1
    fine = (
        isinstance(value, list)
        and len(value) == 2
        and all(type(i) is int and 0 <= i < limits.k for i in value)
    )
    if not fine or value[0] == value[1]:
        raise Refused(400, f"why must be true, or two different places from 0 to {limits.k - 1}")
    return value[0], value[1]


def _known(body: dict[str, Any], X: list[Any], view: Any) -> list[Any] | None:
    if body.get("known") is None:
        return None
    if "known" not in view.abilities:
        raise Refused(422, "this model has no known")
    given = [body["known"]] if "input" in body else body["known"]
    if not isinstance(given, list) or len(given) != len(X):
        raise Refused(400, f"known must be a list with one entry per input, {len(X)} in all")
    out = []
    for i, (value, x) in enumerate(zip(given, X, strict=True)):
        try:
            out.append(None if value is None else view.known(value, x))
        except (InputError, TypeError) as error:
            raise Refused(422, f"known of input {i}: {getattr(error, 'message', 'not readable')}") from None
    return None if all(value is None for value in out) else out
