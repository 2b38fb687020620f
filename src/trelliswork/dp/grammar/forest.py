"""All trees of a sentence as one derivation graph: a packed forest.

Grammar and chart are those of ``dp/grammar/viterbi.py``, the graph is that of
``dp/derivations/hypergraph.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trelliswork._jit import njit
from trelliswork.dp.grammar.rules import BINARY, LEXICAL, WRAP
from trelliswork.dp.room import reserve

__all__ = ["forest", "spans"]


class _Cells(NamedTuple):
    """Items of every cell, and what it costs to look up their rules as left and as right children."""

    first: np.ndarray
    last: np.ndarray
    cost_left: np.ndarray
    cost_right: np.ndarray


@njit
def _with_room(edges, needed):
    """``edges``, or a copy at least twice as wide when ``needed`` columns do not fit."""
    if needed <= edges.shape[1]:
        return edges
    larger = np.empty((2, max(needed, 2 * edges.shape[1])), edges.dtype)
    for row in range(2):
        for k in range(edges.shape[1]):
            larger[row, k] = edges[row, k]
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
def _cell(i, j):
    """Number of the cell of words ``i .. j - 1``."""
    return j * (j - 1) // 2 + i


@njit
def _fits(context, symbol, before, after):
    """Whether a symbol can stand between words of these classes."""
    return context[0, symbol, before] and context[1, symbol, after]


@njit
def _cell_edges(rules, context, words, i, j, before, after, cells, item_sym, there, edges, n_edges):
    """Append the lexical, binary and wrapping edges of a cell; returns ``edges`` and their number.

    ``there`` is scratch, 0 everywhere.
    """
    if i == j - 1:
        for t in range(rules.lex_ptr[words[i]], rules.lex_ptr[words[i] + 1]):
            if _fits(context, rules.lex_head[t], before, after):
                edges = _with_room(edges, n_edges + 1)
                edges[0, n_edges], edges[1, n_edges] = rules.lex_rule[t], j
                n_edges += 1
    for k in range(i + 1, j):
        left, right = _cell(i, k), _cell(k, j)
        if cells.cost_left[left] == 0 or cells.cost_right[right] == 0:
            continue
        size_left = cells.last[left] - cells.first[left]
        size_right = cells.last[right] - cells.first[right]
        by_left = cells.cost_left[left] + size_right < cells.cost_right[right] + size_left
        driver, other = (left, right) if by_left else (right, left)
        for b in range(cells.first[other], cells.last[other]):
            there[item_sym[b]] = 1
        for b in range(cells.first[driver], cells.last[driver]):
            symbol = item_sym[b]
            low = rules.left_ptr[symbol] if by_left else rules.right_ptr[symbol]
            high = rules.left_ptr[symbol + 1] if by_left else rules.right_ptr[symbol + 1]
            for t in range(low, high):
                if there[rules.left_other[t] if by_left else rules.right_other[t]]:
                    head = rules.left_head[t] if by_left else rules.right_head[t]
                    if _fits(context, head, before, after):
                        edges = _with_room(edges, n_edges + 1)
                        edges[0, n_edges] = rules.left_rule[t] if by_left else rules.right_rule[t]
                        edges[1, n_edges] = k
                        n_edges += 1
        for b in range(cells.first[other], cells.last[other]):
            there[item_sym[b]] = 0
    if j - i > 2:
        inner = _cell(i + 1, j - 1)
        for b in range(cells.first[inner], cells.last[inner]):
            for t in range(rules.wrap_ptr[item_sym[b]], rules.wrap_ptr[item_sym[b] + 1]):
                same_words = rules.wrap_x[t] == words[i] and rules.wrap_y[t] == words[j - 1]
                if same_words and _fits(context, rules.wrap_head[t], before, after):
                    edges = _with_room(edges, n_edges + 1)
                    edges[0, n_edges], edges[1, n_edges] = rules.wrap_rule[t], j
                    n_edges += 1
    return edges, n_edges


@njit
def _unary_edges(rules, context, j, before, after, edges, first_edge, n_edges, listed, symbols):
    """Append the unary edges of a cell, whose other edges begin at ``first_edge``.

    Returns ``edges``, their number, and how many symbols the cell has; ``symbols`` gets these in
    ascending order. ``listed`` is scratch, 0 everywhere.
    """
    n_symbols = 0
    for e in range(first_edge, n_edges):
        head = rules.head[edges[0, e]]
        if not listed[head]:
            listed[head] = 1
            symbols[n_symbols] = head
            n_symbols += 1
    symbols[:n_symbols].sort()
    place = 0
    while place < n_symbols:  # heads of unary rules are sorted into what is still to come
        symbol = symbols[place]
        for t in range(rules.un_ptr[symbol], rules.un_ptr[symbol + 1]):
            head = rules.un_head[t]
            if _fits(context, head, before, after):
                edges = _with_room(edges, n_edges + 1)
                edges[0, n_edges], edges[1, n_edges] = rules.un_rule[t], j
                n_edges += 1
                if not listed[head]:
                    listed[head] = 1
                    b = n_symbols
                    while symbols[b - 1] > head:
                        symbols[b] = symbols[b - 1]
                        b -= 1
                    symbols[b] = head
                    n_symbols += 1
        place += 1
    for b in range(n_symbols):
        listed[symbols[b]] = 0
    return edges, n_edges, n_symbols


@njit
def _derivable(rules, context, word_class, words, max_edges):
    """Bottom-up: what can be derived, cell by cell; column by column, each from the bottom.

    Returns
    -------
    complete : bool
        Whether ``max_edges`` sufficed.
    cells : _Cells
        Items of the cells.
    item_sym : ndarray of int32
        Symbols of the items, ascending in each cell.
    edge_first : ndarray of int64
        Range of the edges of each cell, in the order in which cells are made.
    edges : ndarray of int32, shape (2, n_edges)
        Rule and split of every edge.
    """
    n, border, n_symbols = words.size, context.shape[2] - 1, context.shape[1]
    n_cells = _cell(0, n + 1)
    cells = _Cells(
        np.zeros(n_cells, np.int64),
        np.zeros(n_cells, np.int64),
        np.zeros(n_cells, np.int64),
        np.zeros(n_cells, np.int64),
    )
    edge_first = np.zeros(n_cells + 1, np.int64)
    item_sym, edges = np.empty(256, np.int32), np.empty((2, 1024), np.int32)
    listed, there = np.zeros(n_symbols, np.uint8), np.zeros(n_symbols, np.uint8)
    symbols = np.empty(n_symbols, np.int32)
    n_items, n_edges, made = 0, np.int64(0), 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            before = word_class[words[i - 1]] if i > 0 else border
            after = word_class[words[j]] if j < n else border
            edge_first[made] = n_edges
            edges, n_edges = _cell_edges(
                rules, context, words, i, j, before, after, cells, item_sym, there, edges, n_edges
            )
            edges, n_edges, n_here = _unary_edges(
                rules, context, j, before, after, edges, edge_first[made], n_edges, listed, symbols
            )
            cell = _cell(i, j)
            item_sym = reserve(item_sym, n_items + n_here)
            cells.first[cell], cells.last[cell] = n_items, n_items + n_here
            for b in range(n_here):
                symbol = symbols[b]
                item_sym[n_items + b] = symbol
                cells.cost_left[cell] += rules.left_ptr[symbol + 1] - rules.left_ptr[symbol]
                cells.cost_right[cell] += rules.right_ptr[symbol + 1] - rules.right_ptr[symbol]
            n_items += n_here
            made += 1
            edge_first[made] = n_edges
            if n_edges > max_edges:
                return False, cells, item_sym, edge_first, edges
    return True, cells, item_sym[:n_items], edge_first, edges


@njit
def _useful(rules, n, cells, item_sym, edge_first, edges):
    """Top-down: what is in a whole tree.

    Edges of a cell are visited backwards, so that the head of a unary rule is settled before its child.

    Returns
    -------
    used : ndarray of uint8
        Which items are.
    ends : ndarray of int32, shape (3, n_edges)
        Items of every edge: its head, -1 where it is in no whole tree, and its children or -1.
    n_roots : int
        Number of ways to be a whole tree, for the items of the last cell.
    """
    used = np.zeros(item_sym.size, np.uint8)
    made, whole = cells.first.size, _cell(0, n)
    ends = np.full((3, edge_first[made]), -1, np.int32)
    n_roots = 0
    for t in range(rules.root_sym.size):
        for b in range(cells.first[whole], cells.last[whole]):
            if item_sym[b] == rules.root_sym[t]:
                used[b] = 1
                n_roots += 1
    for j in range(n, 0, -1):
        for i in range(j):
            made -= 1
            cell = _cell(i, j)
            for e in range(edge_first[made + 1] - 1, edge_first[made] - 1, -1):
                rule = edges[0, e]
                head = _find(item_sym, cells.first[cell], cells.last[cell], rules.head[rule])
                if not used[head]:
                    continue
                ends[0, e] = head
                kind = rules.kind[rule]
                if kind == LEXICAL:
                    continue
                below = cell
                if kind == BINARY:
                    below, right = _cell(i, edges[1, e]), _cell(edges[1, e], j)
                    ends[2, e] = _find(item_sym, cells.first[right], cells.last[right], rules.right[rule])
                    used[ends[2, e]] = 1
                elif kind == WRAP:
                    below = _cell(i + 1, j - 1)
                ends[1, e] = _find(item_sym, cells.first[below], cells.last[below], rules.left[rule])
                used[ends[1, e]] = 1
    return used, ends, n_roots


@njit
def _packed(rules, n, cells, item_sym, edge_first, edges, used, ends, n_roots):
    """The useful items and edges as a graph; results are those of ``forest``, without the flag."""
    node_of = np.full(item_sym.size, -1, np.int64)
    n_nodes, n_kept, n_tails = 0, 0, n_roots
    for b in range(item_sym.size):
        if used[b]:
            node_of[b] = n_nodes
            n_nodes += 1
    node_ptr = np.zeros(n_nodes + 2, np.int64)
    node_sym = np.full(n_nodes + 1, -1, np.int64)
    node_start, node_end = np.zeros(n_nodes + 1, np.int64), np.full(n_nodes + 1, n, np.int64)
    for b in range(item_sym.size):
        if used[b]:
            node_sym[node_of[b]] = item_sym[b]
    for e in range(ends.shape[1]):
        if ends[0, e] >= 0:
            node_ptr[node_of[ends[0, e]] + 1] += 1
            n_kept += 1
            for side in range(1, 3):  # not a sum of truth values, which in plain Python is one of them
                if ends[side, e] >= 0:
                    n_tails += 1
    node_ptr[n_nodes + 1] = n_roots
    for v in range(n_nodes + 1):
        node_ptr[v + 1] += node_ptr[v]
    where = node_ptr[:-1].copy()
    order = np.empty(n_kept, np.int64)
    made = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            for e in range(edge_first[made], edge_first[made + 1]):
                if ends[0, e] >= 0:
                    v = node_of[ends[0, e]]
                    order[where[v]] = e
                    where[v] += 1
                    node_start[v], node_end[v] = i, j
            made += 1
    edge_rule = np.empty(n_kept + n_roots, np.int64)
    tail_ptr, tails = np.zeros(n_kept + n_roots + 1, np.int64), np.empty(n_tails, np.int64)
    filled = 0
    for place in range(n_kept):
        e = order[place]
        edge_rule[place] = edges[0, e]
        for side in range(1, 3):
            if ends[side, e] >= 0:
                tails[filled] = node_of[ends[side, e]]
                filled += 1
        tail_ptr[place + 1] = filled
    place, whole = n_kept, _cell(0, n)
    for t in range(rules.root_sym.size):
        for b in range(cells.first[whole], cells.last[whole]):
            if item_sym[b] == rules.root_sym[t]:
                edge_rule[place] = rules.root_rule[t]
                tails[filled] = node_of[b]
                filled += 1
                place += 1
                tail_ptr[place] = filled
    return node_ptr, tail_ptr, tails, edge_rule, node_sym, node_start, node_end


@njit
def _no_tree(n):
    """A graph with no edges, its root alone."""
    nothing, root = np.empty(0, np.int64), np.zeros(1, np.int64)
    return np.zeros(2, np.int64), root, nothing, nothing, root - 1, root, root + n


@njit
def forest(rules, context, word_class, words, max_edges):
    """Packed forest of one sentence: only items and rules that are in some whole tree.

    Parameters
    ----------
    rules, context, word_class
        The grammar, see ``dp/grammar/viterbi.py``.
    words : ndarray of int64
        The sentence.
    max_edges : int
        Most edges before the pruning.

    Returns
    -------
    graph : tuple
        ``node_ptr, tail_ptr, tails``, the graph, whose last node is the root, without edges if there is
        no tree; ``edge_rule``, the rule of every edge; ``node_sym, node_start, node_end``, symbol and words
        of every node, where the root has symbol -1.
    complete : bool
        False if ``max_edges`` did not suffice; the rest is then of no use.
    """
    n = words.size
    known = n > 0
    for i in range(n):
        known = known and words[i] >= 0
    if not known:
        return _no_tree(n), True
    complete, cells, item_sym, edge_first, edges = _derivable(rules, context, word_class, words, max_edges)
    if not complete:
        return _no_tree(n), False
    used, ends, n_roots = _useful(rules, n, cells, item_sym, edge_first, edges)
    return _packed(rules, n, cells, item_sym, edge_first, edges, used, ends, n_roots), True


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
        needed = 0 if kind == LEXICAL else 2 if kind == BINARY else 1
        if depth < needed:
            return False
        width = 1 if kind == LEXICAL else 2 if kind == WRAP else 0
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
        if kind == BINARY:
            stack[depth] = start[a] + end[a + 1]  # still the width of the left child
            depth += 1
        if kind != LEXICAL:
            stack[depth] = start[a] + (kind == WRAP)
            depth += 1
    return True
