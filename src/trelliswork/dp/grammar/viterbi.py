"""Best trees of a context-free grammar (CKY), for large sparse grammars and small dense ones.

The grammar is a tuple of ``int32`` arrays; symbols are numbered such that the child of a unary
rule is below its head.

====================================================  =============================================
``root_sym, root_rule``                               symbols of whole trees
``lex_ptr, lex_head, lex_rule``                       A -> x, by word
``un_ptr, un_head, un_rule``                          A -> B, by child
``left_ptr, left_other, left_head, left_rule``        A -> B C, by left child; other: the right one
``right_ptr, right_other, right_head, right_rule``    A -> B C, by right child; other: the left one
``wrap_ptr, wrap_head, wrap_x, wrap_y, wrap_rule``    A -> x B x', by child
``rule_kind, rule_left, rule_right, rule_head``       of every rule: kind, children or -1, head
====================================================  =============================================

Kinds are 0 root, 1 lexical, 2 unary, 3 binary, 4 wrap. A chart has a list of items (a symbol and
its value) for each cell, that is each pair of positions ``i < j``; only what can be derived is
listed. Cell ``(i, j)`` has number ``j * (j - 1) / 2 + i``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["viterbi"]


@njit
def _grown(buffer, needed):
    """``buffer``, or a copy at least twice as long when ``needed`` entries do not fit."""
    if needed <= buffer.shape[0]:
        return buffer
    larger = np.empty(max(needed, 2 * buffer.shape[0]), buffer.dtype)
    larger[: buffer.shape[0]] = buffer
    return larger


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
def viterbi(tables, context, word_class, scores, token_ptr, tokens, beam, start, stop):
    """Best tree of every sentence.

    Of equally good trees the one with the earliest split wins, and then that of the rule with
    the lowest number.

    Parameters
    ----------
    tables : tuple of ndarray
        The grammar, see the module docstring.
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
    ptr, rules : ndarray of int64
        Rules of the best trees in pre-order; those of sentence ``start + s`` are
        ``rules[ptr[s]:ptr[s + 1]]``, none where there is no tree.
    """
    (
        root_sym,
        root_rule,
        lex_ptr,
        lex_head,
        lex_rule,
        un_ptr,
        un_head,
        un_rule,
        left_ptr,
        left_other,
        left_head,
        left_rule,
        right_ptr,
        right_other,
        right_head,
        right_rule,
        wrap_ptr,
        wrap_head,
        wrap_x,
        wrap_y,
        wrap_rule,
        rule_kind,
        rule_left,
        rule_right,
        _,
    ) = tables
    n_symbols, border = context.shape[1], context.shape[2] - 1
    values = np.empty(stop - start)
    ptr = np.zeros(stop - start + 1, np.int64)
    out, n_out = np.empty(256, np.int64), 0
    item_sym, item_rule = np.empty(1024, np.int32), np.empty(1024, np.int32)
    item_split, item_value = np.empty(1024, np.int32), np.empty(1024)
    best, there = np.full(n_symbols, -np.inf), np.full(n_symbols, -np.inf)
    rule_of, split_of = np.zeros(n_symbols, np.int32), np.zeros(n_symbols, np.int32)
    touched = np.empty(n_symbols, np.int32)
    stack = np.empty((64, 3), np.int64)
    left_score, right_score = np.empty(left_rule.size), np.empty(right_rule.size)
    row = -1
    for s in range(start, stop):
        now = min(s, scores.shape[0] - 1)
        if now != row:
            row = now
            for t in range(left_rule.size):
                left_score[t] = scores[row, left_rule[t]]
                right_score[t] = scores[row, right_rule[t]]
        weight = scores[row]
        words = tokens[token_ptr[s] : token_ptr[s + 1]]
        n = words.size
        if n > 0 and words.min() < 0:  # an unknown word: there is no tree
            values[s - start] = -np.inf
            ptr[s - start + 1] = n_out
            continue
        n_cells = n * (n + 1) // 2
        first, last = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
        # What it costs to look up the rules of all items of a cell as left and as right children.
        cost_left, cost_right = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
        n_items = 0
        for j in range(1, n + 1):
            for i in range(j - 1, -1, -1):
                n_touched = 0
                if i == j - 1:
                    for t in range(lex_ptr[words[i]], lex_ptr[words[i] + 1]):
                        v = weight[lex_rule[t]]
                        if v > -np.inf:
                            a = lex_head[t]
                            best[a], rule_of[a], split_of[a] = v, lex_rule[t], j
                            touched[n_touched] = a
                            n_touched += 1
                for k in range(i + 1, j):
                    one, two = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
                    if cost_left[one] == 0 or cost_right[two] == 0:
                        continue
                    size_one, size_two = last[one] - first[one], last[two] - first[two]
                    if cost_left[one] + size_two < cost_right[two] + size_one:
                        for b in range(first[two], last[two]):
                            there[item_sym[b]] = item_value[b]
                        for b in range(first[one], last[one]):
                            symbol, below = item_sym[b], item_value[b]
                            for t in range(left_ptr[symbol], left_ptr[symbol + 1]):
                                v = there[left_other[t]]
                                if v > -np.inf:
                                    v += left_score[t] + below
                                    a = left_head[t]
                                    if v > best[a]:
                                        if best[a] == -np.inf:
                                            touched[n_touched] = a
                                            n_touched += 1
                                        best[a], rule_of[a], split_of[a] = v, left_rule[t], k
                                    elif v == best[a] and split_of[a] == k and left_rule[t] < rule_of[a]:
                                        rule_of[a] = left_rule[t]
                        for b in range(first[two], last[two]):
                            there[item_sym[b]] = -np.inf
                    else:
                        for b in range(first[one], last[one]):
                            there[item_sym[b]] = item_value[b]
                        for b in range(first[two], last[two]):
                            symbol, below = item_sym[b], item_value[b]
                            for t in range(right_ptr[symbol], right_ptr[symbol + 1]):
                                v = there[right_other[t]]
                                if v > -np.inf:
                                    v = right_score[t] + v + below
                                    a = right_head[t]
                                    if v > best[a]:
                                        if best[a] == -np.inf:
                                            touched[n_touched] = a
                                            n_touched += 1
                                        best[a], rule_of[a], split_of[a] = v, right_rule[t], k
                                    elif v == best[a] and split_of[a] == k and right_rule[t] < rule_of[a]:
                                        rule_of[a] = right_rule[t]
                        for b in range(first[one], last[one]):
                            there[item_sym[b]] = -np.inf
                if j - i > 2:
                    inner = (j - 1) * (j - 2) // 2 + i + 1
                    for b in range(first[inner], last[inner]):
                        for t in range(wrap_ptr[item_sym[b]], wrap_ptr[item_sym[b] + 1]):
                            if wrap_x[t] == words[i] and wrap_y[t] == words[j - 1]:
                                v, a = weight[wrap_rule[t]] + item_value[b], wrap_head[t]
                                if v > best[a]:
                                    if best[a] == -np.inf:
                                        touched[n_touched] = a
                                        n_touched += 1
                                    best[a], rule_of[a], split_of[a] = v, wrap_rule[t], j
                # Symbols that cannot stand between these neighbours are in no whole tree.
                before = word_class[words[i - 1]] if i > 0 else border
                after = word_class[words[j]] if j < n else border
                kept, limit = 0, -np.inf
                if beam < np.inf:
                    for b in range(n_touched):
                        limit = max(limit, best[touched[b]] - beam)
                for b in range(n_touched):
                    symbol = touched[b]
                    if best[symbol] >= limit and context[0, symbol, before] and context[1, symbol, after]:
                        touched[kept] = symbol
                        kept += 1
                    else:
                        best[symbol] = -np.inf
                n_touched = kept
                # Heads of unary rules have higher numbers than their children: in ascending order every
                # symbol is final when it is reached. New heads are sorted into what is still to come.
                _sort(touched, n_touched)
                at = 0
                while at < n_touched:
                    symbol = touched[at]
                    for t in range(un_ptr[symbol], un_ptr[symbol + 1]):
                        v, a = weight[un_rule[t]] + best[symbol], un_head[t]
                        if v > best[a] and context[0, a, before] and context[1, a, after]:
                            if best[a] == -np.inf:
                                b = n_touched
                                while touched[b - 1] > a:
                                    touched[b] = touched[b - 1]
                                    b -= 1
                                touched[b] = a
                                n_touched += 1
                            best[a], rule_of[a], split_of[a] = v, un_rule[t], j
                    at += 1
                cell = j * (j - 1) // 2 + i
                item_sym = _grown(item_sym, n_items + n_touched)
                item_rule = _grown(item_rule, n_items + n_touched)
                item_split = _grown(item_split, n_items + n_touched)
                item_value = _grown(item_value, n_items + n_touched)
                first[cell] = n_items
                for b in range(n_touched):
                    symbol = touched[b]
                    item_sym[n_items], item_value[n_items] = symbol, best[symbol]
                    item_rule[n_items], item_split[n_items] = rule_of[symbol], split_of[symbol]
                    best[symbol] = -np.inf
                    n_items += 1
                    cost_left[cell] += left_ptr[symbol + 1] - left_ptr[symbol]
                    cost_right[cell] += right_ptr[symbol + 1] - right_ptr[symbol]
                last[cell] = n_items
        top, top_rule = -np.inf, -1
        if n > 0:
            whole = n * (n - 1) // 2
            for b in range(first[whole], last[whole]):
                there[item_sym[b]] = item_value[b]
            for t in range(root_sym.size):
                v = there[root_sym[t]]
                if v > -np.inf and v + weight[root_rule[t]] > top:
                    top, top_rule = v + weight[root_rule[t]], root_rule[t]
            for b in range(first[whole], last[whole]):
                there[item_sym[b]] = -np.inf
        values[s - start] = top
        depth = 0
        if top_rule >= 0:
            out = _grown(out, n_out + 1)
            out[n_out] = top_rule
            n_out += 1
            stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, rule_left[top_rule]
            depth = 1
        while depth > 0:
            depth -= 1
            i, j, symbol = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            b = first[j * (j - 1) // 2 + i]
            while item_sym[b] != symbol:
                b += 1
            r = item_rule[b]
            out = _grown(out, n_out + 1)
            out[n_out] = r
            n_out += 1
            if depth + 2 > stack.shape[0]:
                larger = np.empty((2 * stack.shape[0], 3), np.int64)
                larger[:depth] = stack[:depth]
                stack = larger
            kind = rule_kind[r]
            if kind == 3:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = item_split[b], j, rule_right[r]
                j = item_split[b]
                depth += 1
            elif kind == 4:
                i += 1
                j -= 1
            if kind != 1:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = i, j, rule_left[r]
                depth += 1
        ptr[s - start + 1] = n_out
    return values, ptr, out[:n_out].copy()
