"""Features of true label chains minus features of guesses, where the two differ."""

from __future__ import annotations

import numpy as np

from trelliswork._jit import njit


@njit
def _first_not_below(values, wanted):
    low, high = np.int64(0), values.size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def contrast(
    features,
    offsets,
    gold,
    guesses,
    samples,
    n_labels,
    flat,
    pairs,
    out_ptr,
    out_indices,
    out_data,
    fill,
):
    """Count the entries of some sequences into ``out_ptr[i + 1]``, or fill them in.

    Parameters
    ----------
    features : Features
        Features of the tokens.
    offsets, gold, guesses
        Token ranges and two label sequences.
    samples : int array
        The sequences, one row each.
    flat : sorted int64 positions, or empty
        Which (attribute, label) pairs have a weight; empty for all.
    pairs : (n_labels * n_labels,)
        Weight of every transition ``[from, to]``, -1 for none.
    out_ptr, out_indices, out_data : CSR arrays
        Result.
    fill : bool
        Whether to fill in the entries; else only count them.
    """
    indptr, indices, data, token_rows = features
    for i in range(samples.size):
        s = samples[i]
        filled = out_ptr[i] if fill else 0
        for t in range(offsets[s], offsets[s + 1]):
            right, guess = gold[t], guesses[t]
            if right != guess:
                for block in range(token_rows.shape[1]):
                    r = token_rows[t, block]
                    if r < 0:
                        continue
                    for j in range(indptr[r], indptr[r + 1]):
                        for sign in range(2):
                            place = np.int64(indices[j]) * n_labels + (right if sign == 0 else guess)
                            if flat.size:
                                where = _first_not_below(flat, place)
                                if where == flat.size or flat[where] != place:
                                    continue
                                place = where
                            if fill:
                                out_indices[filled] = place
                                out_data[filled] = data[j] if sign == 0 else -data[j]
                            filled += 1
            if t > offsets[s] and (right != guess or gold[t - 1] != guesses[t - 1]):
                for sign in range(2):
                    if sign == 0:
                        place = pairs[gold[t - 1] * n_labels + right]
                    else:
                        place = pairs[guesses[t - 1] * n_labels + guess]
                    if place >= 0:
                        if fill:
                            out_indices[filled] = place
                            out_data[filled] = 1.0 if sign == 0 else -1.0
                        filled += 1
        if not fill:
            out_ptr[i + 1] = filled
