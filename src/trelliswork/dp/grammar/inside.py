"""Sums over all trees of a sentence without a packed forest: memory for the items alone.

Grammar and chart are those of ``dp/grammar/viterbi.py``. Every cell lists the ways to derive its items
anew on the way up and on the way down, so that long sentences, whose forests would not fit, can be
summed.
"""

from __future__ import annotations

import math

import numpy as np

from trelliswork._jit import njit

__all__ = ["inside", "outside"]


@njit
def _grown(buffer, needed):
    """``buffer``, or a copy at least twice as long when ``needed`` entries do not fit."""
    if needed <= buffer.shape[0]:
        return buffer
    larger = np.empty(max(needed, 2 * buffer.shape[0]), buffer.dtype)
    larger[: buffer.shape[0]] = buffer
    return larger


@njit
def _ways(tables, weight, words, i, j, first, last, item_sym, item_value, there, rule, value, one, two):
    """Lexical, binary and wrapping ways to derive the symbols of a cell.

    Returns their number and the buffers: rules, values (score plus values of the children) and
    items of the children. ``there`` is scratch, -1 everywhere.
    """
    lex_ptr, lex_rule = tables[2], tables[4]
    right_ptr, right_other, right_rule = tables[12], tables[13], tables[15]
    wrap_ptr, wrap_x, wrap_y, wrap_rule = tables[16], tables[18], tables[19], tables[20]
    n = 0
    if i == j - 1:
        for t in range(lex_ptr[words[i]], lex_ptr[words[i] + 1]):
            rule, value = _grown(rule, n + 1), _grown(value, n + 1)
            one, two = _grown(one, n + 1), _grown(two, n + 1)
            rule[n], value[n], one[n], two[n] = lex_rule[t], weight[lex_rule[t]], -1, -1
            n += 1
    for k in range(i + 1, j):
        left, right = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
        if first[left] == last[left] or first[right] == last[right]:
            continue
        for b in range(first[left], last[left]):
            there[item_sym[b]] = b
        for b in range(first[right], last[right]):
            symbol = item_sym[b]
            for t in range(right_ptr[symbol], right_ptr[symbol + 1]):
                a = there[right_other[t]]
                if a >= 0:
                    rule, value = _grown(rule, n + 1), _grown(value, n + 1)
                    one, two = _grown(one, n + 1), _grown(two, n + 1)
                    rule[n], one[n], two[n] = right_rule[t], a, b
                    value[n] = weight[right_rule[t]] + item_value[a] + item_value[b]
                    n += 1
        for b in range(first[left], last[left]):
            there[item_sym[b]] = -1
    if j - i > 2:
        inner = (j - 1) * (j - 2) // 2 + i + 1
        for b in range(first[inner], last[inner]):
            for t in range(wrap_ptr[item_sym[b]], wrap_ptr[item_sym[b] + 1]):
                if wrap_x[t] == words[i] and wrap_y[t] == words[j - 1]:
                    rule, value = _grown(rule, n + 1), _grown(value, n + 1)
                    one, two = _grown(one, n + 1), _grown(two, n + 1)
                    rule[n], one[n], two[n] = wrap_rule[t], b, -1
                    value[n] = weight[wrap_rule[t]] + item_value[b]
                    n += 1
    return n, rule, value, one, two


@njit
def inside(tables, context, word_class, weight, words):
    """Log of the sum of exp(score) over the derivations of every item, and over all trees.

    Parameters
    ----------
    tables, context, word_class
        The grammar, see ``dp/grammar/viterbi.py``.
    weight : ndarray of shape (n_rules,)
        Scores of the rules.
    words : ndarray of int64
        The sentence.

    Returns
    -------
    log_z : float
        Log partition; ``-inf`` if there is no tree.
    first, last : ndarray of int64, shape (n_cells,)
        Items of each cell.
    item_sym : ndarray of int32
        Symbols of the items, ascending in each cell.
    item_value : ndarray
        Their sums.
    """
    root_sym, root_rule = tables[0], tables[1]
    un_ptr, un_head, un_rule = tables[5], tables[6], tables[7]
    rule_head = tables[24]
    n, border, n_symbols = words.size, context.shape[2] - 1, context.shape[1]
    known = n > 0 and words.min() >= 0
    n_cells = n * (n + 1) // 2
    first, last = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    item_sym, item_value, n_items = np.empty(256, np.int32), np.empty(256), 0
    rule, value = np.empty(256, np.int64), np.empty(256)
    one, two = np.empty(256, np.int64), np.empty(256, np.int64)
    there, top, total = np.full(n_symbols, -1, np.int64), np.full(n_symbols, -np.inf), np.zeros(n_symbols)
    touched = np.empty(n_symbols, np.int32)
    for j in range(1, n + 1 if known else 0):
        for i in range(j - 1, -1, -1):
            before = word_class[words[i - 1]] if i > 0 else border
            after = word_class[words[j]] if j < n else border
            m, rule, value, one, two = _ways(
                tables, weight, words, i, j, first, last, item_sym, item_value, there, rule, value, one, two
            )
            n_touched = 0
            for e in range(m):
                a = rule_head[rule[e]]
                if value[e] > top[a] and context[0, a, before] and context[1, a, after]:
                    if top[a] == -np.inf:
                        touched[n_touched] = a
                        n_touched += 1
                    top[a] = value[e]
            for e in range(m):
                a = rule_head[rule[e]]
                if top[a] > -np.inf:
                    total[a] += math.exp(value[e] - top[a])
            touched[:n_touched].sort()
            at = 0
            while at < n_touched:  # in ascending order every symbol is final when it is reached
                symbol = touched[at]
                done = top[symbol] + math.log(total[symbol])
                top[symbol], total[symbol] = done, 1.0
                for t in range(un_ptr[symbol], un_ptr[symbol + 1]):
                    a, v = un_head[t], weight[un_rule[t]] + done
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
                at += 1
            cell = j * (j - 1) // 2 + i
            item_sym = _grown(item_sym, n_items + n_touched)
            item_value = _grown(item_value, n_items + n_touched)
            first[cell] = n_items
            for b in range(n_touched):
                a = touched[b]
                item_sym[n_items], item_value[n_items] = a, top[a]
                top[a], total[a] = -np.inf, 0.0
                n_items += 1
            last[cell] = n_items
    best, mass = -np.inf, 0.0
    if known:
        whole = n * (n - 1) // 2
        for t in range(root_sym.size):
            for b in range(first[whole], last[whole]):
                if item_sym[b] == root_sym[t]:
                    v = weight[root_rule[t]] + item_value[b]
                    if v > best:
                        mass = mass * math.exp(best - v) + 1.0
                        best = v
                    elif v > -np.inf:
                        mass += math.exp(v - best)
    log_z = best + math.log(mass) if mass > 0.0 else -np.inf
    return log_z, first, last, item_sym[:n_items].copy(), item_value[:n_items].copy()


@njit
def outside(tables, weight, words, log_z, first, last, item_sym, item_value, expected):
    """Expected number of uses of every rule (added to ``expected``) and of every item.

    Parameters
    ----------
    tables, weight, words
        As in ``inside``.
    log_z, first, last, item_sym, item_value
        From ``inside``.
    expected : ndarray of shape (n_rules,)
        Output, *added to*.

    Returns
    -------
    ndarray
        Of every item, the expected number of times that it is in the tree.
    """
    root_sym, root_rule = tables[0], tables[1]
    un_ptr, un_head, un_rule = tables[5], tables[6], tables[7]
    rule_head = tables[24]
    n = words.size
    rho = np.zeros(item_sym.size)
    if log_z == -np.inf:
        return rho
    rule, value = np.empty(256, np.int64), np.empty(256)
    one, two = np.empty(256, np.int64), np.empty(256, np.int64)
    n_symbols = un_ptr.size - 1
    there, own = np.full(n_symbols, -1, np.int64), np.full(n_symbols, -1, np.int64)
    whole = n * (n - 1) // 2
    for t in range(root_sym.size):
        for b in range(first[whole], last[whole]):
            if item_sym[b] == root_sym[t]:
                p = math.exp(weight[root_rule[t]] + item_value[b] - log_z)
                rho[b] += p
                expected[root_rule[t]] += p
    for j in range(n, 0, -1):
        for i in range(j):
            cell = j * (j - 1) // 2 + i
            alive = False
            for b in range(first[cell], last[cell]):
                own[item_sym[b]] = b
                alive = alive or rho[b] > 0.0
            if alive:
                for b in range(last[cell] - 1, first[cell] - 1, -1):  # heads are above their children
                    for t in range(un_ptr[item_sym[b]], un_ptr[item_sym[b] + 1]):
                        a = own[un_head[t]]
                        if a >= 0 and rho[a] > 0.0:
                            p = rho[a] * math.exp(weight[un_rule[t]] + item_value[b] - item_value[a])
                            rho[b] += p
                            expected[un_rule[t]] += p
                m, rule, value, one, two = _ways(
                    tables,
                    weight,
                    words,
                    i,
                    j,
                    first,
                    last,
                    item_sym,
                    item_value,
                    there,
                    rule,
                    value,
                    one,
                    two,
                )
                for e in range(m):
                    a = own[rule_head[rule[e]]]
                    if a >= 0 and rho[a] > 0.0:
                        p = rho[a] * math.exp(value[e] - item_value[a])
                        expected[rule[e]] += p
                        if one[e] >= 0:
                            rho[one[e]] += p
                        if two[e] >= 0:
                            rho[two[e]] += p
            for b in range(first[cell], last[cell]):
                own[item_sym[b]] = -1
    return rho
