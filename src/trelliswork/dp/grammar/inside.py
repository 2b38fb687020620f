"""Sums over all trees of a sentence without a packed forest: memory for the items alone.

Grammar and chart are those of ``dp/grammar/viterbi.py``. Every cell lists the ways to derive its items
anew on the way up and on the way down, so that long sentences, whose forests would not fit, can be
summed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.room import reserve

__all__ = ["Chart", "inside", "outside"]


class Chart(NamedTuple):
    """Items of a sentence: their range in every cell, their symbols (ascending in each cell) and values."""

    first: np.ndarray
    last: np.ndarray
    item_sym: np.ndarray
    item_value: np.ndarray


class _Ways(NamedTuple):
    """Ways to derive a symbol: rules, values (score plus values of the children), items of the children."""

    rule: np.ndarray
    value: np.ndarray
    left: np.ndarray
    right: np.ndarray


@njit
def _with_room(ways, needed):
    """``ways``, or copies at least twice as long when ``needed`` entries do not fit."""
    if needed <= ways.rule.size:
        return ways
    return _Ways(
        reserve(ways.rule, needed),
        reserve(ways.value, needed),
        reserve(ways.left, needed),
        reserve(ways.right, needed),
    )


@njit
def _no_ways():
    return _Ways(np.empty(256, np.int64), np.empty(256), np.empty(256, np.int64), np.empty(256, np.int64))


@njit
def _cell(i, j):
    """Number of the cell of words ``i .. j - 1``."""
    return j * (j - 1) // 2 + i


@njit
def _ways(rules, weight, words, i, j, chart, there, ways):
    """Lexical, binary and wrapping ways to derive the symbols of a cell.

    Returns their number and the buffer that they are in. ``there`` is scratch, -1 everywhere.
    """
    first, last, item_sym, item_value = chart
    n = 0
    if i == j - 1:
        for t in range(rules.lex_ptr[words[i]], rules.lex_ptr[words[i] + 1]):
            ways = _with_room(ways, n + 1)
            ways.rule[n], ways.value[n] = rules.lex_rule[t], weight[rules.lex_rule[t]]
            ways.left[n] = ways.right[n] = -1
            n += 1
    for k in range(i + 1, j):
        left, right = _cell(i, k), _cell(k, j)
        if first[left] == last[left] or first[right] == last[right]:
            continue
        for b in range(first[left], last[left]):
            there[item_sym[b]] = b
        for b in range(first[right], last[right]):
            symbol = item_sym[b]
            for t in range(rules.right_ptr[symbol], rules.right_ptr[symbol + 1]):
                a = there[rules.right_other[t]]
                if a >= 0:
                    ways = _with_room(ways, n + 1)
                    ways.rule[n], ways.left[n], ways.right[n] = rules.right_rule[t], a, b
                    ways.value[n] = weight[rules.right_rule[t]] + item_value[a] + item_value[b]
                    n += 1
        for b in range(first[left], last[left]):
            there[item_sym[b]] = -1
    if j - i > 2:
        inner = _cell(i + 1, j - 1)
        for b in range(first[inner], last[inner]):
            for t in range(rules.wrap_ptr[item_sym[b]], rules.wrap_ptr[item_sym[b] + 1]):
                if rules.wrap_x[t] == words[i] and rules.wrap_y[t] == words[j - 1]:
                    ways = _with_room(ways, n + 1)
                    ways.rule[n], ways.left[n], ways.right[n] = rules.wrap_rule[t], b, -1
                    ways.value[n] = weight[rules.wrap_rule[t]] + item_value[b]
                    n += 1
    return n, ways


@njit
def inside(rules, context, word_class, weight, words):
    """Log of the sum of exp(score) over the derivations of every item, and over all trees.

    Parameters
    ----------
    rules, context, word_class
        The grammar, see ``dp/grammar/viterbi.py``.
    weight : ndarray of shape (n_rules,)
        Scores of the rules.
    words : ndarray of int64
        The sentence.

    Returns
    -------
    log_z : float
        Log partition; ``-inf`` if there is no tree.
    chart : Chart
        Items with their sums.
    """
    n, border, n_symbols = words.size, context.shape[2] - 1, context.shape[1]
    known = n > 0
    for i in range(n):
        known = known and words[i] >= 0
    n_cells = n * (n + 1) // 2
    first, last = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    item_sym, item_value, n_items = np.empty(256, np.int32), np.empty(256), 0
    ways = _no_ways()
    there, top, total = np.full(n_symbols, -1, np.int64), np.full(n_symbols, -np.inf), np.zeros(n_symbols)
    touched = np.empty(n_symbols, np.int32)
    for j in range(1, n + 1 if known else 0):
        for i in range(j - 1, -1, -1):
            before = word_class[words[i - 1]] if i > 0 else border
            after = word_class[words[j]] if j < n else border
            chart = Chart(first, last, item_sym, item_value)
            m, ways = _ways(rules, weight, words, i, j, chart, there, ways)
            value = ways.value
            n_touched = 0
            for e in range(m):
                a = rules.head[ways.rule[e]]
                if value[e] > top[a] and context[0, a, before] and context[1, a, after]:
                    if top[a] == -np.inf:
                        touched[n_touched] = a
                        n_touched += 1
                    top[a] = value[e]
            for e in range(m):
                a = rules.head[ways.rule[e]]
                if top[a] > -np.inf:
                    total[a] += math.exp(value[e] - top[a])
            touched[:n_touched].sort()
            place = 0
            while place < n_touched:  # in ascending order every symbol is final when it is reached
                symbol = touched[place]
                done = top[symbol] + math.log(total[symbol])
                top[symbol], total[symbol] = done, 1.0
                for t in range(rules.un_ptr[symbol], rules.un_ptr[symbol + 1]):
                    a, v = rules.un_head[t], weight[rules.un_rule[t]] + done
                    if v == -np.inf or not (context[0, a, before] and context[1, a, after]):
                        continue
                    if top[a] == -np.inf:
                        b = n_touched
                        while touched[b - 1] > a:
                            touched[b] = touched[b - 1]
                            b -= 1
                        touched[b] = a
                        n_touched += 1
                        top[a], total[a] = v, 1.0
                    elif v > top[a]:
                        total[a] = total[a] * math.exp(top[a] - v) + 1.0
                        top[a] = v
                    else:
                        total[a] += math.exp(v - top[a])
                place += 1
            cell = _cell(i, j)
            item_sym = reserve(item_sym, n_items + n_touched)
            item_value = reserve(item_value, n_items + n_touched)
            first[cell] = n_items
            for b in range(n_touched):
                a = touched[b]
                item_sym[n_items], item_value[n_items] = a, top[a]
                top[a], total[a] = -np.inf, 0.0
                n_items += 1
            last[cell] = n_items
    best, mass = -np.inf, 0.0
    if known:
        whole = _cell(0, n)
        for t in range(rules.root_sym.size):
            for b in range(first[whole], last[whole]):
                if item_sym[b] == rules.root_sym[t]:
                    v = weight[rules.root_rule[t]] + item_value[b]
                    if v > best:
                        mass = mass * math.exp(best - v) + 1.0
                        best = v
                    elif v > -np.inf:
                        mass += math.exp(v - best)
    log_z = best + math.log(mass) if mass > 0.0 else -np.inf
    return log_z, Chart(first, last, item_sym[:n_items].copy(), item_value[:n_items].copy())


@njit
def outside(rules, weight, words, log_z, chart, expected):
    """Expected number of uses of every rule (added to ``expected``) and of every item.

    Parameters
    ----------
    rules, weight, words
        As in ``inside``.
    log_z, chart
        From ``inside``.
    expected : ndarray of shape (n_rules,)
        Output, *added to*.

    Returns
    -------
    ndarray
        Of every item, the expected number of times that it is in the tree.
    """
    n = words.size
    first, last, item_sym, item_value = chart
    rho = np.zeros(item_sym.size)
    if log_z == -np.inf:
        return rho
    ways = _no_ways()
    n_symbols = rules.un_ptr.size - 1
    there, item_of = np.full(n_symbols, -1, np.int64), np.full(n_symbols, -1, np.int64)
    whole = _cell(0, n)
    for t in range(rules.root_sym.size):
        for b in range(first[whole], last[whole]):
            if item_sym[b] == rules.root_sym[t]:
                p = math.exp(weight[rules.root_rule[t]] + item_value[b] - log_z)
                rho[b] += p
                expected[rules.root_rule[t]] += p
    for j in range(n, 0, -1):
        for i in range(j):
            cell = _cell(i, j)
            alive = False
            for b in range(first[cell], last[cell]):
                item_of[item_sym[b]] = b
                alive = alive or rho[b] > 0.0
            if alive:
                for b in range(last[cell] - 1, first[cell] - 1, -1):  # heads are above their children
                    for t in range(rules.un_ptr[item_sym[b]], rules.un_ptr[item_sym[b] + 1]):
                        a = item_of[rules.un_head[t]]
                        if a >= 0 and rho[a] > 0.0:
                            p = rho[a] * math.exp(weight[rules.un_rule[t]] + item_value[b] - item_value[a])
                            rho[b] += p
                            expected[rules.un_rule[t]] += p
                m, ways = _ways(rules, weight, words, i, j, chart, there, ways)
                for e in range(m):
                    a = item_of[rules.head[ways.rule[e]]]
                    if a >= 0 and rho[a] > 0.0:
                        p = rho[a] * math.exp(ways.value[e] - item_value[a])
                        expected[ways.rule[e]] += p
                        if ways.left[e] >= 0:
                            rho[ways.left[e]] += p
                        if ways.right[e] >= 0:
                            rho[ways.right[e]] += p
            for b in range(first[cell], last[cell]):
                item_of[item_sym[b]] = -1
    return rho
