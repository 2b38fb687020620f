"""Predictions for inputs, as JSON."""

from __future__ import annotations

import logging
from typing import Any

from trelliswork._errors import InputError, Unsupported
from trelliswork.learners.explanation import explain
from trelliswork.web.asked import Asked, Options
from trelliswork.web.limits import Refused

__all__ = ["answer", "answer_at_once", "answer_together"]

_log = logging.getLogger("trelliswork.web")
_AT_ONCE = 300  # tokens that are labelled without a thread, if their words are remembered
_CONTRIBUTIONS = 40  # that are listed; the rest is summed up


def answer(served: Any, asked: Asked) -> list[dict[str, Any]]:
    """Answer one request: a result for every input.

    Parameters
    ----------
    served : Served
        The model.
    asked : Asked
        The request.
    """
    try:
        return _answered(served, asked)
    except InputError as error:
        where = "" if error.sample is None else f"input {error.sample}: "
        raise Refused(422, where + error.message) from None
    except (Unsupported, ValueError, ArithmeticError) as error:
        raise Refused(422, " ".join(str(error).split())[:300]) from None
    except MemoryError:
        raise Refused(422, "not enough memory for this request; ask for less") from None
    except Exception as error:
        if not served.view.foreign:
            raise
        _log.warning("the structure's own code failed", exc_info=error)
        kind = type(error).__name__
        raise Refused(422, f"the structure's own code fails for this input ({kind})") from None


def answer_at_once(served: Any, asked: Asked) -> list[dict[str, Any]] | None:
    """Answer a request for which everything is remembered: some microseconds, less than asking a thread.

    Parameters
    ----------
    served : Served
        The model.
    asked : Asked
        The request.

    Returns
    -------
    list of dict or None
        None where there is something to compute.
    """
    if served.quick is None or not asked.options.plain or asked.known is not None:
        return None
    labels = served.quick.labels(asked.X, most=_AT_ONCE)
    if labels is None:
        return None
    return [{"input": served.view.input(x), "output": y} for x, y in zip(asked.X, labels, strict=True)]


def answer_together(served: Any, requests: list[Asked]) -> list[Any]:
    """Answer requests with equal options; each gets its results, or an exception of its own.

    Parameters
    ----------
    served : Served
        The model.
    requests : list of Asked
        The requests.
    """
    if len(requests) > 1:
        joined = Asked([x for asked in requests for x in asked.X], None, requests[0].options, 0.0)
        try:
            results = iter(answer(served, joined))
            return [[next(results) for _ in asked.X] for asked in requests]
        except Refused:
            pass  # whose fault it is comes out below
    out: list[Any] = []
    for asked in requests:
        try:
            out.append(answer(served, asked))
        except Exception as error:
            out.append(error)
    return out


def _answered(served: Any, asked: Asked) -> list[dict[str, Any]]:
    view, options, X = served.view, asked.options, asked.X
    if not X:
        return []
    if options.plain and asked.known is None and served.quick is not None:
        labels = served.quick.labels(X)
        if labels is not None:
            return [{"input": view.input(x), "output": y} for x, y in zip(X, labels, strict=True)]
    features = served.opened.features(X)
    limits = {} if asked.known is None else {"known": asked.known}
    learner = served.opened.learner
    results: list[dict[str, Any]] = [{"input": view.input(x)} for x in X]
    if options.k and hasattr(learner, "predict_kbest"):
        _candidates(view, learner.predict_kbest(features, options.k, **limits), X, results, options)
    elif options.k:
        for x, candidates, result in zip(X, learner.predict_candidates(features), results, strict=True):
            result["output"] = view.output(x, candidates[0]) if candidates else None
            result["candidates"] = [{"output": view.output(x, y)} for y in candidates[: options.k]]
    else:
        for x, y, result in zip(X, learner.predict(features, **limits), results, strict=True):
            result["output"] = view.output(x, y)
            if options.draw:
                result |= view.drawn(x, y)
    if options.marginals:
        for x, p, result in zip(X, learner.predict_marginals(features, **limits), results, strict=True):
            result["marginals"] = view.marginals(x, p)
    if options.mea:
        for x, y, result in zip(X, learner.predict_mea(features, **limits), results, strict=True):
            result["mea"] = {"output": view.output(x, y), **(view.drawn(x, y) if options.draw else {})}
    if options.sample:
        draws = learner.sample(features, options.sample, random_state=options.seed, **limits)
        for x, drawn, result in zip(X, draws, results, strict=True):
            shown = [
                {"output": view.output(x, y), **(view.drawn(x, y) if options.draw else {})} for y in drawn
            ]
            result["samples"] = shown
    if options.why is not None:
        for i, (x, result) in enumerate(zip(X, results, strict=True)):
            known = None if asked.known is None else asked.known[i]
            result["why"] = _why(view, served.opened.model, x, options.why, known)
    if options.draw and hasattr(view, "pieces"):
        for x, result in zip(X, results, strict=True):
            shown = [*result.get("candidates", [result]), *result.get("samples", [])]
            shown += [result["mea"]] if "mea" in result else []
            for one, pieces in zip(shown, view.pieces(x, [one["output"] for one in shown]), strict=True):
                one["pieces"] = pieces
    return results


def _candidates(view: Any, lists: Any, X: list[Any], results: list[dict[str, Any]], options: Options) -> None:
    for x, candidates, result in zip(X, lists, results, strict=True):
        shown = []
        for c in candidates:
            more = view.drawn(x, c.output) if options.draw and c.output is not None else {}
            shown.append(
                {
                    "output": view.output(x, c.output),
                    "score": float(c.score),
                    "probability": float(c.probability),
                    **more,
                }
            )
        result |= {"output": shown[0]["output"] if shown else None, "candidates": shown}


def _why(view: Any, model: Any, x: Any, places: tuple[int, int], known: Any) -> dict[str, Any] | None:
    limits = {} if known is None else {"known": known}
    try:
        why = explain(model, x, rank=places[0], against=places[1], **limits)
    except InputError as error:
        if "outputs to compare" in error.message:
            return None  # there is no other output
        raise
    shown, rest = why.contributions[:_CONTRIBUTIONS], why.contributions[_CONTRIBUTIONS:]
    return {
        "places": list(places),
        "first": view.output(x, why.first.output),
        "second": view.output(x, why.second.output),
        "difference": why.difference,
        "contributions": [
            {"name": " ".join(map(str, c.name)), "weight": c.weight, "count": c.difference, "value": c.value}
            for c in shown
        ],
        "others": {"count": len(rest), "value": float(sum(c.value for c in rest))},
    }
