"""All trees of a sentence as one derivation graph: a packed forest.

Grammar and chart are those of ``dp/grammar/viterbi.py``, the graph is that of
``dp/derivations/hypergraph.py``.
"""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit

__all__ = ["forest", "spans"]


@njit
def _grown(buffer, needed):
    """``buffer``, or a copy at least twice as long when ``needed`` entries do not fit."""
    if needed <= buffer.shape[0]:
        return buffer
    larger = np.empty(max(needed, 2 * buffer.shape[0]), buffer.dtype)
    larger[: buffer.shape[0]] = buffer
    return larger


@njit
def _find(values, low, high, wanted):
    """Place of a value in a sorted stretch that contains it."""
    while values[low] != wanted:
        middle = (low + high) // 2
        if values[middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


@njit
def forest(tables, context, word_class, words, max_edges):
    """Packed forest of one sentence: only items and rules that are in some whole tree.

    Parameters
    ----------
    tables, context, word_class
        The grammar, see ``dp/grammar/viterbi.py``.
    words : ndarray of int64
        The sentence.
    max_edges : int
        Most edges before the pruning.

    Returns
    -------
    node_ptr, tail_ptr, tails : ndarray of int64
        The graph; the last node is the root, without edges if there is no tree.
    edge_rule : ndarray of int64
        Rule of every edge.
    node_sym, node_start, node_end : ndarray of int64
        Symbol and words of every node; the root has symbol -1.
    complete : bool
        False if ``max_edges`` did not suffice; the rest is then of no use.
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
        rule_head,
    ) = tables
    n, border, n_symbols = words.size, context.shape[2] - 1, context.shape[1]
    known = n > 0 and words.min() >= 0
    n_cells = n * (n + 1) // 2 if known else 0
    first, last = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    edge_first = np.zeros(n_cells + 1, np.int64)  # in the order in which cells are made
    cost_left, cost_right = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
    item_sym, item_cell = np.empty(256, np.int32), np.empty(256, np.int64)
    edge_rule, edge_split = np.empty(1024, np.int32), np.empty(1024, np.int32)
    allowed, there = np.zeros(n_symbols, np.uint8), np.zeros(n_symbols, np.uint8)
    touched = np.empty(n_symbols, np.int32)
    n_items, n_edges, made = 0, 0, 0
    complete = True

    # Bottom-up: what can be derived, cell by cell; column by column, each from the bottom.
    for j in range(1, n + 1 if known else 0):
        for i in range(j - 1, -1, -1):
            before = word_class[words[i - 1]] if i > 0 else border
            after = word_class[words[j]] if j < n else border
            edge_first[made] = n_edges
            if i == j - 1:
                for t in range(lex_ptr[words[i]], lex_ptr[words[i] + 1]):
                    if context[0, lex_head[t], before] and context[1, lex_head[t], after]:
                        edge_rule, edge_split = (
                            _grown(edge_rule, n_edges + 1),
                            _grown(edge_split, n_edges + 1),
                        )
                        edge_rule[n_edges], edge_split[n_edges] = lex_rule[t], j
                        n_edges += 1
            for k in range(i + 1, j):
                one, two = k * (k - 1) // 2 + i, j * (j - 1) // 2 + k
                if cost_left[one] == 0 or cost_right[two] == 0:
                    continue
                size_one, size_two = last[one] - first[one], last[two] - first[two]
                by_left = cost_left[one] + size_two < cost_right[two] + size_one
                driver, other = (one, two) if by_left else (two, one)
                for b in range(first[other], last[other]):
                    there[item_sym[b]] = 1
                for b in range(first[driver], last[driver]):
                    symbol = item_sym[b]
                    low = left_ptr[symbol] if by_left else right_ptr[symbol]
                    high = left_ptr[symbol + 1] if by_left else right_ptr[symbol + 1]
                    for t in range(low, high):
                        if there[left_other[t] if by_left else right_other[t]]:
                            a = left_head[t] if by_left else right_head[t]
                            if context[0, a, before] and context[1, a, after]:
                                edge_rule = _grown(edge_rule, n_edges + 1)
                                edge_split = _grown(edge_split, n_edges + 1)
                                edge_rule[n_edges] = left_rule[t] if by_left else right_rule[t]
                                edge_split[n_edges] = k
                                n_edges += 1
                for b in range(first[other], last[other]):
                    there[item_sym[b]] = 0
            if j - i > 2:
                inner = (j - 1) * (j - 2) // 2 + i + 1
                for b in range(first[inner], last[inner]):
                    for t in range(wrap_ptr[item_sym[b]], wrap_ptr[item_sym[b] + 1]):
                        a = wrap_head[t]
                        fits = wrap_x[t] == words[i] and wrap_y[t] == words[j - 1]
                        if fits and context[0, a, before] and context[1, a, after]:
                            edge_rule = _grown(edge_rule, n_edges + 1)
                            edge_split = _grown(edge_split, n_edges + 1)
                            edge_rule[n_edges], edge_split[n_edges] = wrap_rule[t], j
                            n_edges += 1
            n_touched = 0
            for e in range(edge_first[made], n_edges):
                a = rule_head[edge_rule[e]]
                if not allowed[a]:
                    allowed[a] = 1
                    touched[n_touched] = a
                    n_touched += 1
            touched[:n_touched].sort()
            at = 0
            while at < n_touched:  # unary rules; their heads are sorted into what is still to come
                symbol = touched[at]
                for t in range(un_ptr[symbol], un_ptr[symbol + 1]):
                    a = un_head[t]
                    if context[0, a, before] and context[1, a, after]:
                        edge_rule, edge_split = (
                            _grown(edge_rule, n_edges + 1),
                            _grown(edge_split, n_edges + 1),
                        )
                        edge_rule[n_edges], edge_split[n_edges] = un_rule[t], j
                        n_edges += 1
                        if not allowed[a]:
                            allowed[a] = 1
                            b = n_touched
                            while touched[b - 1] > a:
                                touched[b] = touched[b - 1]
                                b -= 1
                            touched[b] = a
                            n_touched += 1
                at += 1
            cell = j * (j - 1) // 2 + i
            item_sym, item_cell = (
                _grown(item_sym, n_items + n_touched),
                _grown(item_cell, n_items + n_touched),
            )
            first[cell] = n_items
            for b in range(n_touched):
                symbol = touched[b]
                allowed[symbol] = 0
                item_sym[n_items], item_cell[n_items] = symbol, made
                n_items += 1
                cost_left[cell] += left_ptr[symbol + 1] - left_ptr[symbol]
                cost_right[cell] += right_ptr[symbol + 1] - right_ptr[symbol]
            last[cell] = n_items
            made += 1
            if n_edges > max_edges:
                complete = False
                break
        if not complete:
            break
    if n_cells:
        edge_first[made] = n_edges

    # Top-down: what is in a whole tree. Edges of a cell are visited backwards, so that the head of
    # a unary rule is settled before its child.
    node_of = np.full(n_items, -1, np.int64)  # first 0 for useful items, then their numbers
    head_item, tail_one = np.empty(n_edges, np.int32), np.full(n_edges, -1, np.int32)
    tail_two = np.full(n_edges, -1, np.int32)
    degree = np.zeros(n_items, np.int64)
    n_roots, n_kept, n_tails = 0, 0, 0
    if complete and n_cells:
        whole = n * (n - 1) // 2
        for t in range(root_sym.size):
            for b in range(first[whole], last[whole]):
                if item_sym[b] == root_sym[t]:
                    node_of[b] = 0
                    n_roots += 1
                    n_tails += 1
        for j in range(n, 0, -1):
            for i in range(j):
                made -= 1
                cell = j * (j - 1) // 2 + i
                for e in range(edge_first[made + 1] - 1, edge_first[made] - 1, -1):
                    r = edge_rule[e]
                    head = _find(item_sym, first[cell], last[cell], rule_head[r])
                    head_item[e] = -1
                    if node_of[head] < 0:
                        continue
                    head_item[e] = head
                    degree[head] += 1
                    n_kept += 1
                    kind = rule_kind[r]
                    if kind == 1:
                        continue
                    below = cell
                    if kind == 3:
                        k = edge_split[e]
                        below = k * (k - 1) // 2 + i
                        two = j * (j - 1) // 2 + k
                        tail_two[e] = _find(item_sym, first[two], last[two], rule_right[r])
                        node_of[tail_two[e]] = 0
                        n_tails += 1
                    elif kind == 4:
                        below = (j - 1) * (j - 2) // 2 + i + 1
                    tail_one[e] = _find(item_sym, first[below], last[below], rule_left[r])
                    node_of[tail_one[e]] = 0
                    n_tails += 1

    n_nodes = 0
    for b in range(n_items):
        if node_of[b] >= 0:
            node_of[b] = n_nodes
            n_nodes += 1
    node_ptr = np.zeros(n_nodes + 2, np.int64)
    node_sym = np.full(n_nodes + 1, -1, np.int64)
    node_start, node_end = np.zeros(n_nodes + 1, np.int64), np.full(n_nodes + 1, n, np.int64)
    for b in range(n_items):
        if node_of[b] >= 0:
            node_ptr[node_of[b] + 1] = degree[b]
            node_sym[node_of[b]] = item_sym[b]
    node_ptr[n_nodes + 1] = n_roots
    for v in range(n_nodes + 1):
        node_ptr[v + 1] += node_ptr[v]
    where = node_ptr[:-1].copy()
    order = np.empty(n_kept, np.int64)
    if complete and n_cells:
        made = 0
        for j in range(1, n + 1):
            for i in range(j - 1, -1, -1):
                for e in range(edge_first[made], edge_first[made + 1]):
                    if head_item[e] >= 0:
                        v = node_of[head_item[e]]
                        order[where[v]] = e
                        where[v] += 1
                        node_start[v], node_end[v] = i, j
                made += 1
    rules = np.empty(n_kept + n_roots, np.int64)
    tail_ptr, tails = np.zeros(n_kept + n_roots + 1, np.int64), np.empty(n_tails, np.int64)
    filled = 0
    for place in range(n_kept):
        e = order[place]
        rules[place] = edge_rule[e]
        if tail_one[e] >= 0:
            tails[filled] = node_of[tail_one[e]]
            filled += 1
        if tail_two[e] >= 0:
            tails[filled] = node_of[tail_two[e]]
            filled += 1
        tail_ptr[place + 1] = filled
    place = n_kept
    if complete and n_cells:
        whole = n * (n - 1) // 2
        for t in range(root_sym.size):
            for b in range(first[whole], last[whole]):
                if item_sym[b] == root_sym[t]:
                    rules[place] = root_rule[t]
                    tails[filled] = node_of[b]
                    filled += 1
                    place += 1
                    tail_ptr[place] = filled
    return node_ptr, tail_ptr, tails, rules, node_sym, node_start, node_end, complete


@njit
def spans(rule_kind, codes, start, end):
    """First and last word of every rule of a tree in pre-order; False if it is no tree.

    Parameters
    ----------
    rule_kind : ndarray
        Kinds of the rules.
    codes : ndarray of int64
        Rules of the tree in pre-order.
    start, end : ndarray of int64, shape of codes
        Outputs.
    """
    n = codes.size
    stack = np.empty(n + 2, np.int64)
    depth = 0
    for a in range(n - 1, -1, -1):
        kind = rule_kind[codes[a]]
        needed = 0 if kind == 1 else 2 if kind == 3 else 1
        if depth < needed:
            return False
        width = 1 if kind == 1 else 2 if kind == 4 else 0
        for _ in range(needed):
            depth -= 1
            width += stack[depth]
        stack[depth] = width
        depth += 1
        end[a] = width
    if depth != 1:
        return False
    stack[0], depth = 0, 1
    for a in range(n):
        depth -= 1
        start[a] = stack[depth]
        end[a] += start[a]
        kind = rule_kind[codes[a]]
        if kind == 3:
            stack[depth] = start[a] + end[a + 1]  # still the width of the left child
            depth += 1
        if kind != 1:
            stack[depth] = start[a] + (kind == 4)
            depth += 1
    return True
