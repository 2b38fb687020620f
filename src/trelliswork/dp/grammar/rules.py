"""Rules of a context-free grammar as arrays, in the order in which the recursions look them up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["BINARY", "LEXICAL", "ROOT", "UNARY", "WRAP", "Rules"]

ROOT, LEXICAL, UNARY, BINARY, WRAP = range(5)  # kinds of rules


class Rules(NamedTuple):
    """The rules of a grammar, ``int32`` arrays.

    Symbols are numbered such that the child of a unary rule is below its head. ``ptr`` arrays give the
    range of rules of a word or child; ``head`` is the symbol that a rule makes, ``rule`` its number.

    ====================================================  =============================================
    ``root_sym, root_rule``                               symbols of whole trees
    ``lex_ptr, lex_head, lex_rule``                       A -> x, by word
    ``un_ptr, un_head, un_rule``                          A -> B, by child
    ``left_ptr, left_other, left_head, left_rule``        A -> B C, by left child; other: the right one
    ``right_ptr, right_other, right_head, right_rule``    A -> B C, by right child; other: the left one
    ``wrap_ptr, wrap_head, wrap_x, wrap_y, wrap_rule``    A -> x B x', by child
    ``kind, left, right, head``                           of every rule: kind, children or -1, head
    ====================================================  =============================================
    """

    root_sym: np.ndarray
    root_rule: np.ndarray
    lex_ptr: np.ndarray
    lex_head: np.ndarray
    lex_rule: np.ndarray
    un_ptr: np.ndarray
    un_head: np.ndarray
    un_rule: np.ndarray
    left_ptr: np.ndarray
    left_other: np.ndarray
    left_head: np.ndarray
    left_rule: np.ndarray
    right_ptr: np.ndarray
    right_other: np.ndarray
    right_head: np.ndarray
    right_rule: np.ndarray
    wrap_ptr: np.ndarray
    wrap_head: np.ndarray
    wrap_x: np.ndarray
    wrap_y: np.ndarray
    wrap_rule: np.ndarray
    kind: np.ndarray
    left: np.ndarray
    right: np.ndarray
    head: np.ndarray
