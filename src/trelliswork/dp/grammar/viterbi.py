"""Best trees of a context-free grammar (CKY), for large sparse grammars and small dense ones.

The grammar is given by ``Rules`` of ``dp/grammar/rules.py``. A chart has a list of items (a symbol
and its value) for each cell, that is each pair of positions ``i < j``; only what can be derived is
listed. Cell ``(i, j)`` has number ``j * (j - 1) / 2 + i``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.grammar.rules import BINARY, LEXICAL, WRAP
from trelliswork.dp.room import reserve

__all__ = ["viterbi"]


class _Chart(NamedTuple):
    """Range of the items of every cell, and what it costs to look up their rules.

    As left children and as right children: the cheaper side drives the search for binary rules.
    """

    first: np.ndarray
    last: np.ndarray
    cost_left: np.ndarray
    cost_right: np.ndarray


class _Items(NamedTuple):
    """Symbols of the items, their values, and the rules and splits that made them."""

    sym: np.ndarray
    value: np.ndarray
    rule: np.ndarray
    split: np.ndarray


class _Best(NamedTuple):
    """The cell that is being filled: the best value of every symbol, -inf for none, and what made it.

    ``touched`` lists the symbols that have a value, ``there`` is scratch, -inf everywhere.
    """

    value: np.ndarray
    rule: np.ndarray
    split: np.ndarray
    touched: np.ndarray
    there: np.ndarray


@njit
def _sort(values, n):
    """Sort the first ``n`` values in place; short lists by insertion."""
    if n > 48:
        values[:n].sort()
        return
    for a in range(1, n):
        value, b = values[a], a
        while b > 0 and values[b - 1] > value:
            values[b] = values[b - 1]
            b -= 1
        values[b] = value


@njit
def _cell(i, j):
    """Number of the cell of words ``i .. j - 1``."""
    return j * (j - 1) // 2 + i


@njit
def _lexical(rules, weight, word, j, best):
    """Symbols of a cell of one word; returns their number."""
    n_touched = 0
    for t in range(rules.lex_ptr[word], rules.lex_ptr[word + 1]):
        v = weight[rules.lex_rule[t]]
        if v > -np.inf:
            head = rules.lex_head[t]
            best.value[head], best.rule[head], best.split[head] = v, rules.lex_rule[t], j
            best.touched[n_touched] = head
            n_touched += 1
    return n_touched


@njit
def _binary(rules, left_score, right_score, i, j, chart, items, best, n_touched):
    """Symbols of cell (i, j) from its two parts, for every split; returns the number of symbols.

    The rules are looked up from the side where there are fewer, the symbols of the other side in a table.
    """
    value, rule_of, split_of, touched, there = best
    item_sym, item_value, _, _ = items
    for k in range(i + 1, j):
        left, right = _cell(i, k), _cell(k, j)
        if chart.cost_left[left] == 0 or chart.cost_right[right] == 0:
            continue
        left_first, left_last = chart.first[left], chart.last[left]
        right_first, right_last = chart.first[right], chart.last[right]
        cost_by_left = chart.cost_left[left] + right_last - right_first
        if cost_by_left < chart.cost_right[right] + left_last - left_first:
            for b in range(right_first, right_last):
                there[item_sym[b]] = item_value[b]
            for b in range(left_first, left_last):
                symbol, below = item_sym[b], item_value[b]
                for t in range(rules.left_ptr[symbol], rules.left_ptr[symbol + 1]):
                    v = there[rules.left_other[t]]
                    if v > -np.inf:
                        v += left_score[t] + below
                        a = rules.left_head[t]
                        if v > value[a]:
                            if value[a] == -np.inf:
                                touched[n_touched] = a
                                n_touched += 1
                            value[a], rule_of[a], split_of[a] = v, rules.left_rule[t], k
                        elif v == value[a] and split_of[a] == k and rules.left_rule[t] < rule_of[a]:
                            rule_of[a] = rules.left_rule[t]
            for b in range(right_first, right_last):
                there[item_sym[b]] = -np.inf
        else:
            for b in range(left_first, left_last):
                there[item_sym[b]] = item_value[b]
            for b in range(right_first, right_last):
                symbol, below = item_sym[b], item_value[b]
                for t in range(rules.right_ptr[symbol], rules.right_ptr[symbol + 1]):
                    v = there[rules.right_other[t]]
                    if v > -np.inf:
                        v = right_score[t] + v + below
                        a = rules.right_head[t]
                        if v > value[a]:
                            if value[a] == -np.inf:
                                touched[n_touched] = a
                                n_touched += 1
                            value[a], rule_of[a], split_of[a] = v, rules.right_rule[t], k
                        elif v == value[a] and split_of[a] == k and rules.right_rule[t] < rule_of[a]:
                            rule_of[a] = rules.right_rule[t]
            for b in range(left_first, left_last):
                there[item_sym[b]] = -np.inf
    return n_touched


@njit
def _wrapped(rules, weight, words, i, j, chart, items, best, n_touched):
    """Symbols of cell (i, j) that wrap its first and last word around a symbol; returns their number."""
    inner = _cell(i + 1, j - 1)
    for b in range(chart.first[inner], chart.last[inner]):
        for t in range(rules.wrap_ptr[items.sym[b]], rules.wrap_ptr[items.sym[b] + 1]):
            if rules.wrap_x[t] == words[i] and rules.wrap_y[t] == words[j - 1]:
                v, head = weight[rules.wrap_rule[t]] + items.value[b], rules.wrap_head[t]
                if v > best.value[head]:
                    if best.value[head] == -np.inf:
                        best.touched[n_touched] = head
                        n_touched += 1
                    best.value[head], best.rule[head], best.split[head] = v, rules.wrap_rule[t], j
    return n_touched


@njit
def _pruned(context, before, after, beam, best, n_touched):
    """Drop symbols outside of the beam and those that cannot stand between these neighbours."""
    kept, limit = 0, -np.inf
    if beam < np.inf:
        for b in range(n_touched):
            limit = max(limit, best.value[best.touched[b]] - beam)
    for b in range(n_touched):
        symbol = best.touched[b]
        if best.value[symbol] >= limit and context[0, symbol, before] and context[1, symbol, after]:
            best.touched[kept] = symbol
            kept += 1
        else:
            best.value[symbol] = -np.inf
    return kept


@njit
def _unary(rules, weight, context, before, after, j, best, n_touched):
    """Symbols by unary rules, in ascending order; returns the number of all symbols of the cell.

    Heads of unary rules have higher numbers than their children: in ascending order every symbol is
    final when it is reached. New heads are sorted into what is still to come.
    """
    value, touched = best.value, best.touched
    _sort(touched, n_touched)
    place = 0
    while place < n_touched:
        symbol = touched[place]
        for t in range(rules.un_ptr[symbol], rules.un_ptr[symbol + 1]):
            v, head = weight[rules.un_rule[t]] + value[symbol], rules.un_head[t]
            if v > value[head] and context[0, head, before] and context[1, head, after]:
                if value[head] == -np.inf:
                    b = n_touched
                    while touched[b - 1] > head:
                        touched[b] = touched[b - 1]
                        b -= 1
                    touched[b] = head
                    n_touched += 1
                value[head], best.rule[head], best.split[head] = v, rules.un_rule[t], j
        place += 1
    return n_touched


@njit
def _store(rules, best, n_touched, cell, chart, items, n_items):
    """Move the symbols of a finished cell to the list of items; returns it."""
    needed = n_items + n_touched
    items = _Items(
        reserve(items.sym, needed),
        reserve(items.value, needed),
        reserve(items.rule, needed),
        reserve(items.split, needed),
    )
    chart.first[cell], chart.last[cell] = n_items, needed
    for b in range(n_touched):
        symbol = best.touched[b]
        items.sym[n_items + b], items.value[n_items + b] = symbol, best.value[symbol]
        items.rule[n_items + b], items.split[n_items + b] = best.rule[symbol], best.split[symbol]
        best.value[symbol] = -np.inf
        chart.cost_left[cell] += rules.left_ptr[symbol + 1] - rules.left_ptr[symbol]
        chart.cost_right[cell] += rules.right_ptr[symbol + 1] - rules.right_ptr[symbol]
    return items


@njit
def _best_root(rules, weight, n, chart, items, there):
    """Value of the best whole tree and its root rule; -inf and -1 if there is none."""
    top, top_rule, whole = -np.inf, -1, _cell(0, n)
    for b in range(chart.first[whole], chart.last[whole]):
        there[items.sym[b]] = items.value[b]
    for t in range(rules.root_sym.size):
        v = there[rules.root_sym[t]]
        if v > -np.inf and v + weight[rules.root_rule[t]] > top:
            top, top_rule = v + weight[rules.root_rule[t]], rules.root_rule[t]
    for b in range(chart.first[whole], chart.last[whole]):
        there[items.sym[b]] = -np.inf
    return top, top_rule


@njit
def _trace(rules, top_rule, n, chart, items, out, n_out, stack):
    """Append the rules of the best tree in pre-order; returns the buffer, its filling and the stack."""
    out = reserve(out, n_out + 1)
    out[n_out] = top_rule
    n_out += 1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, rules.left[top_rule]
    depth = 1
    while depth > 0:
        depth -= 1
        i, j, symbol = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        b = chart.first[_cell(i, j)]
        while items.sym[b] != symbol:
            b += 1
        rule = items.rule[b]
        out = reserve(out, n_out + 1)
        out[n_out] = rule
        n_out += 1
        if depth + 2 > stack.shape[0]:
            larger = np.empty((2 * stack.shape[0], 3), np.int64)
            for row in range(depth):
                for k in range(3):
                    larger[row, k] = stack[row, k]
            stack = larger
        kind = rules.kind[rule]
        if kind == BINARY:
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = items.split[b], j, rules.right[rule]
            j = items.split[b]
            depth += 1
        elif kind == WRAP:
            i += 1
            j -= 1
        if kind != LEXICAL:
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, j, rules.left[rule]
            depth += 1
    return out, n_out, stack


@njit
def viterbi(rules, context, word_class, scores, token_ptr, tokens, beam, start, stop):
    """Best tree of every sentence.

    Of equally good trees the one with the earliest split wins, and then that of the rule with
    the lowest number.

    Parameters
    ----------
    rules : Rules
        The grammar.
    context : ndarray of uint8, shape (2, n_symbols, n_classes + 1)
        Whether words of a class may stand right before, and right after, each symbol; the last
        class is the border of the sentence.
    word_class : ndarray of int32
        Class of every word.
    scores : ndarray of shape (1 or n_sentences, n_rules)
        Scores of the rules, the same for all sentences or not; ``-inf`` forbids a rule.
    token_ptr, tokens : ndarray of int64
        Words of sentence ``s``: ``tokens[token_ptr[s]:token_ptr[s + 1]]``; -1 is an unknown word,
        which no tree contains.
    beam : float
        Items that are worse than the best of their cell by more than this are dropped, so that the
        result may be second best, or none; infinity drops nothing.
    start, stop : int
        Range of sentences.

    Returns
    -------
    values : ndarray of shape (stop - start,)
        Best scores; ``-inf`` where there is no tree.
    ptr, codes : ndarray of int64
        Rules of the best trees in pre-order; those of sentence ``start + s`` are
        ``codes[ptr[s]:ptr[s + 1]]``, none where there is no tree.
    """
    n_symbols, border = context.shape[1], context.shape[2] - 1
    values = np.empty(stop - start)
    ptr = np.zeros(stop - start + 1, np.int64)
    out, n_out = np.empty(256, np.int64), np.int64(0)
    items = _Items(
        np.empty(1024, np.int32), np.empty(1024), np.empty(1024, np.int32), np.empty(1024, np.int32)
    )
    best = _Best(
        np.full(n_symbols, -np.inf),
        np.zeros(n_symbols, np.int32),
        np.zeros(n_symbols, np.int32),
        np.empty(n_symbols, np.int32),
        np.full(n_symbols, -np.inf),
    )
    stack = np.empty((64, 3), np.int64)
    left_score, right_score = np.empty(rules.left_rule.size), np.empty(rules.right_rule.size)
    row = -1
    for s in range(start, stop):
        row_of_s = min(s, scores.shape[0] - 1)
        if row_of_s != row:
            row = row_of_s
            for t in range(rules.left_rule.size):
                left_score[t] = scores[row, rules.left_rule[t]]
                right_score[t] = scores[row, rules.right_rule[t]]
        weight = scores[row]
        words = tokens[token_ptr[s] : token_ptr[s + 1]]
        n = words.size
        known = n > 0
        for i in range(n):
            known = known and words[i] >= 0
        if not known:  # nothing, or an unknown word: there is no tree
            values[s - start] = -np.inf
            ptr[s - start + 1] = n_out
            continue
        n_cells, n_items = _cell(0, n + 1), np.int64(0)
        chart = _Chart(
            np.zeros(n_cells, np.int64),
            np.zeros(n_cells, np.int64),
            np.zeros(n_cells, np.int64),
            np.zeros(n_cells, np.int64),
        )
        for j in range(1, n + 1):
            for i in range(j - 1, -1, -1):
                n_touched = _lexical(rules, weight, words[i], j, best) if i == j - 1 else 0
                n_touched = _binary(rules, left_score, right_score, i, j, chart, items, best, n_touched)
                if j - i > 2:
                    n_touched = _wrapped(rules, weight, words, i, j, chart, items, best, n_touched)
                before = word_class[words[i - 1]] if i > 0 else border
                after = word_class[words[j]] if j < n else border
                n_touched = _pruned(context, before, after, beam, best, n_touched)
                n_touched = _unary(rules, weight, context, before, after, j, best, n_touched)
                items = _store(rules, best, n_touched, _cell(i, j), chart, items, n_items)
                n_items += n_touched
        values[s - start], top_rule = _best_root(rules, weight, n, chart, items, best.there)
        if top_rule >= 0:
            out, n_out, stack = _trace(rules, top_rule, n, chart, items, out, n_out, stack)
        ptr[s - start + 1] = n_out
    return values, ptr, out[:n_out].copy()
