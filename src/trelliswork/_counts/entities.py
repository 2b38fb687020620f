"""Entities (chunks) of tagged sequences, read by the rules of the CoNLL evaluation script."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from trelliswork._errors import InputError
from trelliswork._front_door import readable

__all__ = ["entity_spans", "looks_like_entities"]

# Prefix -> role. BILOU's "last" and "unit" are the "end" and "single" of BIOES.
_ROLES = {"B": "B", "I": "I", "E": "E", "S": "S", "L": "E", "U": "S", "O": "O"}
_SCHEMES = ("auto", "raw")
_ROLE_AND_TYPE = re.compile(r"[BIESLU]-.+")


@readable
def entity_spans(labels: Any, *, scheme: str = "auto") -> list[tuple[int, int, str]]:
    """Entities of one tag sequence, by the rules of the CoNLL script ``conlleval``.

    A tag is ``O`` (outside) or a role and a type, ``B-PER``. Roles are ``B``
    (begin), ``I`` (inside), ``E`` or ``L`` (end), ``S`` or ``U`` (single); the type
    is what follows the first hyphen and may be missing (``B``) or hold further
    hyphens. One rule covers IOB1, IOB2 (BIO), IOE1, IOE2, IO, BIOES and BILOU,
    well formed or not:

        a token continues the entity of the token before it when its role is I or
        E, both have the same type and the one before has role B or I;
        every other token that is not O starts an entity.

    So ``I-X`` after ``O``, after ``I-Y``, after ``E-X`` or at the beginning starts an
    entity; ``B`` and ``S`` always start one; ``E`` and ``S`` always end one; so do
    ``O`` and the end of the sequence.

    Parameters
    ----------
    labels : sequence of str
        Tags of one sequence.
    scheme : {"auto", "raw"}, default="auto"
        ``"auto"``: as above; a label without one of the roles (``PER``) is a bare type
        and stands for ``I-PER``, so a run of equal labels is one entity. ``"raw"``:
        every label is a bare type and every token that is not ``O`` an entity of its
        own (``conlleval -r``).

    Returns
    -------
    list of (int, int, str)
        ``(start, stop, type)``, 0-based, ``stop`` excluded, from left to right.

    Notes
    -----
    The original Perl script knows no S and reads ``E-X B-X`` as one entity. Here E
    ends an entity whatever follows, as in the later BIOES versions of the script.
    For tags B, I, O, and for tags I, E, O, the two agree on every sequence.

    Examples
    --------
    >>> from trelliswork.metrics import entity_spans
    >>> entity_spans(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC')]
    >>> entity_spans(["PER", "PER", "O"]), entity_spans(["PER", "PER", "O"], scheme="raw")
    ([(0, 2, 'PER')], [(0, 1, 'PER'), (1, 2, 'PER')])
    """
    if scheme not in _SCHEMES:
        raise InputError(f"scheme must be one of {', '.join(map(repr, _SCHEMES))}, got {scheme!r}")
    if isinstance(labels, str):
        raise InputError(f"labels must be a sequence of tags, got the string {labels!r}")
    parse = _parse if scheme == "auto" else _parse_raw
    spans = []
    start, kind, closed = -1, "", False  # start = -1: outside; closed: the entity cannot go on
    for i, label in enumerate(labels):
        if not isinstance(label, str):
            raise InputError(f"tags must be strings, got {label!r} at position {i}")
        role, this_kind = parse(label)
        if start >= 0 and (closed or role in "OBS" or this_kind != kind):
            spans.append((start, i, kind))
            start = -1
        if role == "O":
            continue
        if start < 0:
            start, kind = i, this_kind
        closed = role in "ES"
    if start >= 0:
        spans.append((start, len(labels), kind))
    return spans


@lru_cache(maxsize=4096)
def _parse(label: str) -> tuple[str, str]:
    """Role and type of one tag."""
    prefix, _, kind = label.partition("-")
    role = _ROLES.get(prefix)
    return (role, kind) if role else ("I", label)


def _parse_raw(label: str) -> tuple[str, str]:
    return ("O", "") if label == "O" else ("S", label)


def looks_like_entities(y: Any) -> bool:
    """Whether every label of all sequences is ``O`` or a role and a type (``B-PER``), with at least one type.

    Examples
    --------
    >>> from trelliswork._counts.entities import looks_like_entities
    >>> looks_like_entities([["O", "B-PER"]]), looks_like_entities([["D", "N"]]), looks_like_entities([[1]])
    (True, False, False)
    """
    labels = {label for row in y for label in row} - {"O"}
    return bool(labels) and all(isinstance(a, str) and _ROLE_AND_TYPE.fullmatch(a) for a in labels)
