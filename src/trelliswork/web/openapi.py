"""The service described for programs, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

import trelliswork
from trelliswork.web.limits import Limits

__all__ = ["openapi"]

_ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string", "description": "One line: what was wrong, what to do."}},
    "required": ["error"],
}
_STATUSES = {
    "400": "The request is no JSON, or a field is wrong.",
    "401": "The server needs a token.",
    "403": "The Host or the Origin is not that of this server.",
    "404": "There is no such model.",
    "408": "The request was sent too slowly.",
    "413": "The request is too large.",
    "415": "Another content type was expected.",
    "422": "The inputs cannot be used, or would take too long.",
    "429": "Too many requests of this client are waiting; try again later.",
    "431": "The head of the request is too large.",
    "503": "Too much is waiting, or there was no answer in time, or the server is shutting down.",
}


def openapi(limits: Limits) -> dict[str, Any]:
    """The document.

    Parameters
    ----------
    limits : Limits
        Bounds that it states.
    """
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Trelliswork",
            "version": trelliswork.__version__,
            "description": "Predict structures: tags, trees, folds, alignments, strings, classes.",
        },
        "paths": {
            "/models": {"get": _operation("Names of the models.", {"models": _list(_named())})},
            "/models/{name}": {
                "get": _operation("What a model is, and what can be asked of it.", _named() | _described())
                | {"parameters": [name]}
            },
            "/models/{name}/predict": {
                "post": _operation("Predict the outputs of inputs.", _answer())
                | {"parameters": [name], "requestBody": _body(_request(limits))}
            },
            "/models/{name}/file": {
                "post": _operation(
                    "Predict the outputs of a file, as the command line reads and writes it.",
                    {
                        "inputs": {"type": "integer", "description": "How many the file has."},
                        "rows": _list({name: {} for name in ("input", "output", "probability")})
                        | {"description": "The first ones, for a table."},
                        "name": {"type": "string", "description": "Of the file below."},
                        "text": {
                            "type": "string",
                            "description": "The file that trelliswork predict writes.",
                        },
                        "notes": {"type": "array", "items": {"type": "string"}},
                        "gold": {"type": "boolean", "description": "Whether it can be evaluated."},
                    },
                )
                | {"parameters": [name, *_file_parameters()], "requestBody": _file()}
            },
            "/models/{name}/evaluate": {
                "post": _operation(
                    "Compare predictions with the outputs of a file.",
                    {
                        "scores": {
                            "type": "object",
                            "description": "As trelliswork evaluate --json has them.",
                        },
                        "confusions": {
                            "type": "array",
                            "description": "Truth, prediction, and how often.",
                            "items": {"type": "array"},
                        },
                    },
                )
                | {"parameters": [name, _file_parameters()[0]], "requestBody": _file()}
            },
            "/health": {
                "get": _operation(
                    "Whether the server runs.",
                    {
                        "status": {"const": "ok"},
                        "version": {"type": "string"},
                        "waiting": {"type": "integer", "description": "Requests that wait or run."},
                        "answered": {"type": "integer"},
                    },
                )
            },
        },
        "security": [{}, {"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _request(limits: Limits) -> dict[str, Any]:
    few = {"type": "integer", "minimum": 0, "maximum": limits.k}
    return {
        "type": "object",
        "additionalProperties": False,
        "oneOf": [{"required": ["input"]}, {"required": ["inputs"]}],
        "properties": {
            "input": {"description": "One input, as the structure of the model has it."},
            "inputs": {"type": "array", "maxItems": limits.inputs},
            "known": {"description": "What is known of the outputs, null for nothing."},
            "k": few
            | {"description": "Candidates with scores and probabilities; 0 for the best output alone."},
            "marginals": {"type": "boolean", "description": "Probabilities of parts."},
            "mea": {"type": "boolean", "description": "The output of largest expected accuracy."},
            "sample": few | {"description": "Random outputs."},
            "seed": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
            "why": {"description": "true, or two places in the list of candidates, to compare their scores."},
            "draw": {"type": "boolean", "description": "Whether to add what drawings need."},
        },
    }


def _answer() -> dict[str, Any]:
    candidate = {"output": {}, "score": {"type": ["number", "null"]}, "probability": {"type": "number"}}
    result = {
        "input": {"description": "As it was read."},
        "output": {"description": "The best one."},
        "candidates": _list(candidate) | {"description": "Best first; with k."},
        "marginals": {"description": "Probabilities of parts, as the structure has them."},
        "mea": {"type": "object", "description": "The output of largest expected accuracy."},
        "samples": _list({"output": {}}) | {"description": "Random outputs."},
        "why": {
            "type": ["object", "null"],
            "description": "What each feature adds to the difference of two scores; null without a second.",
        },
    }
    return {"model": {"type": "string"}, "results": _list(result) | {"description": "One for each input."}}


def _named() -> dict[str, Any]:
    return {"name": {"type": "string"}, "about": {"type": "string"}, "ready": {"type": "boolean"}}


def _described() -> dict[str, Any]:
    texts = {"type": "array", "items": {"type": "string"}}
    return {
        "structure": {"type": "string"},
        "learner": {"type": "string"},
        "view": {"type": "string", "description": "How the page draws its outputs."},
        "hint": {"type": "string", "description": "What an input looks like."},
        "abilities": texts | {"description": "What can be asked beyond the best output."},
        "labels": {"type": ["array", "null"], "items": {"type": "string"}},
        "card": {
            "type": "object",
            "description": "Facts, settings, curves of the training, tables of weights.",
        },
    }


def _list(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties}}


def _operation(summary: str, properties: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {
        "200": {"description": "The answer."} | _content({"type": "object", "properties": properties})
    }
    answers |= {code: {"description": text} | _content(_ERROR) for code, text in _STATUSES.items()}
    return {"summary": summary, "responses": answers}


def _content(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _body(schema: Any) -> dict[str, Any]:
    return {"required": True} | _content(schema)


def _file() -> dict[str, Any]:
    return {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }


def _file_parameters() -> list[dict[str, Any]]:
    texts = [{"name": "name", "in": "query", "schema": {"type": "string"}}]
    flags = [
        {"name": flag, "in": "query", "schema": {"enum": ["0", "1"]}}
        for flag in ("probabilities", "mea", "raw")
    ]
    return [*texts, *flags, {"name": "k", "in": "query", "schema": {"type": "integer", "minimum": 1}}]
