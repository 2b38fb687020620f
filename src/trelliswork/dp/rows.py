"""Products of sparse distinct rows with label tables, and gathers over tokens.

Every output row is written by one call, and its sum always runs in the same order, so
results do not depend on how the work is spread over threads.
"""

from __future__ import annotations

from trelliswork._jit import njit


@njit(fastmath={"contract"})
def times(indptr, indices, data, table, out, first, last):
    """``out[r] = sum_j data[j] * table[indices[j]]`` for rows ``first .. last - 1``.

    Four entries at a time: the sums are read and written a quarter as often.
    """
    n_columns = table.shape[1]
    for r in range(first, last):
        row = out[r]
        for k in range(n_columns):
            row[k] = 0.0
        start, end = indptr[r], indptr[r + 1]
        fours = start + (end - start) // 4 * 4
        for j in range(start, fours, 4):
            x0, x1, x2, x3 = data[j], data[j + 1], data[j + 2], data[j + 3]
            s0, s1 = table[indices[j]], table[indices[j + 1]]
            s2, s3 = table[indices[j + 2]], table[indices[j + 3]]
            for k in range(n_columns):
                row[k] += (x0 * s0[k] + x1 * s1[k]) + (x2 * s2[k] + x3 * s3[k])
        for j in range(fours, end):
            x = data[j]
            source = table[indices[j]]
            for k in range(n_columns):
                row[k] += x * source[k]


@njit
def gather(rows, index, out, add, first, last):
    """``out[t] (+)= rows[index[t]]``; tokens with index -1 get zero."""
    n_columns = out.shape[1]
    for t in range(first, last):
        row = out[t]
        if index[t] >= 0:
            source = rows[index[t]]
            if add:
                for k in range(n_columns):
                    row[k] += source[k]
            else:
                for k in range(n_columns):
                    row[k] = source[k]
        elif not add:
            for k in range(n_columns):
                row[k] = 0.0


@njit
def collect(index, values, out):
    """``out[r] = sum of values[t] over the tokens t of row r`` (the adjoint of gather)."""
    n_columns = values.shape[1]
    out[:] = 0.0
    for t in range(index.size):
        if index[t] >= 0:
            row = out[index[t]]
            source = values[t]
            for k in range(n_columns):
                row[k] += source[k]


@njit
def sum_rows(row_ptr, tokens, values, out, first, last):
    """The same for rows ``first .. last - 1``, with the tokens of all rows one after the other."""
    n_columns = values.shape[1]
    for r in range(first, last):
        row = out[r]
        for k in range(n_columns):
            row[k] = 0.0
        for i in range(row_ptr[r], row_ptr[r + 1]):
            source = values[tokens[i]]
            for k in range(n_columns):
                row[k] += source[k]


@njit(fastmath={"contract"})
def scatter_times(indptr, indices, data, values, out, first, last):
    """``out[indices[j]] += data[j] * values[r]`` for rows ``first .. last - 1``."""
    n_columns = values.shape[1]
    for r in range(first, last):
        source = values[r]
        for j in range(indptr[r], indptr[r + 1]):
            x = data[j]
            row = out[indices[j]]
            for k in range(n_columns):
                row[k] += x * source[k]


@njit(fastmath={"contract"})
def add_times(indptr, indices, data, table, out, first, last):
    """``out[r] += sum_j data[j] * table[indices[j]]`` for rows ``first .. last - 1``."""
    n_columns = table.shape[1]
    for r in range(first, last):
        row = out[r]
        for j in range(indptr[r], indptr[r + 1]):
            x = data[j]
            source = table[indices[j]]
            for k in range(n_columns):
                row[k] += x * source[k]


@njit
def sums_at(indptr, indices, values, out):
    """``out[r] = sum_j values[indices[j]]`` for all rows: a product with a matrix of ones."""
    for r in range(indptr.size - 1):
        total = 0.0
        for j in range(indptr[r], indptr[r + 1]):
            total += values[indices[j]]
        out[r] = total


@njit
def spread_to(indptr, indices, values, out):
    """``out[indices[j]] += values[r]`` for the entries of all rows: its adjoint."""
    for r in range(indptr.size - 1):
        x = values[r]
        for j in range(indptr[r], indptr[r + 1]):
            out[indices[j]] += x


@njit
def add_at(out, index, values):
    """``out[index[j]] += values[j]``."""
    for j in range(index.size):
        out[index[j]] += values[j]


@njit(fastmath={"contract"})
def dense_times(matrix, turned, table, out):
    """``out = matrix @ table``, or with its transpose; unlike BLAS always in the same order."""
    out[:] = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            x = matrix[i, j]
            target, source = (out[j], table[i]) if turned else (out[i], table[j])
            for k in range(table.shape[1]):
                target[k] += x * source[k]
