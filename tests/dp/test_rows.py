"""Products of sparse rows with tables, and sums over the tokens of a row, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from trelliswork.dp import rows


@pytest.mark.parametrize("n_columns", [1, 3, 9])
def test_products_with_a_table(n_columns):
    rng = np.random.default_rng(n_columns)
    dense = np.zeros((14, 20))
    for n, row in enumerate(dense):  # 0 to 13 entries a row
        row[rng.choice(20, n, replace=False)] = rng.normal(size=n)
    m, table = sp.csr_matrix(dense), rng.normal(size=(20, n_columns))
    out = np.full((14, n_columns), np.nan)
    rows.times(m.indptr, m.indices, m.data, table, out, 0, 14)
    np.testing.assert_allclose(out, dense @ table, atol=1e-12)
    part = np.full((14, n_columns), np.nan)
    rows.times(m.indptr, m.indices, m.data, table, part, 3, 9)
    np.testing.assert_array_equal(part[3:9], out[3:9])
    assert np.isnan(part[:3]).all()
    assert np.isnan(part[9:]).all()


def test_sums_over_the_tokens_of_a_row():
    rng = np.random.default_rng(0)
    index, values = rng.integers(-1, 6, 50).astype(np.int32), rng.normal(size=(50, 3))
    index[index == 2] = 3  # nobody has row 2
    tokens = np.argsort(index, kind="stable").astype(np.int32)
    bounds = np.searchsorted(index[tokens], np.arange(7))
    expected, out = np.empty((6, 3)), np.full((6, 3), np.nan)
    rows.collect(index, values, expected)
    for first, last in ((0, 2), (2, 6)):
        rows.sum_rows(bounds, tokens, values, out, first, last)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(out[2], 0.0)
