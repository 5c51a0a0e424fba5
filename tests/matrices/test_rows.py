"""Rows of a side: their blocks, and passes over them."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from matrix_samples import psi_of

from dkmd.matrices.radial import radial
from dkmd.matrices.rows import Blocks, CenterScale, MatrixRows, equal_blocks, random_blocks, sums_of

pytestmark = pytest.mark.slow  # plain Python would need minutes


def test_blocks_have_equal_sizes_and_the_rest_stays() -> None:
    rng = np.random.default_rng(0)
    blocks = equal_blocks(np.arange(1003), 10, 60, rng)
    assert blocks.sizes[:-1].tolist() == [10.0] * 60
    assert blocks.sizes[-1] == 403.0
    assert np.bincount(blocks.of_row).tolist() == blocks.sizes.tolist()
    spread = random_blocks(np.arange(1003), 100, rng)
    assert set(spread.sizes.tolist()) == {10.0, 11.0}
    assert random_blocks(np.arange(7), 100, rng).of_row.tolist() == list(range(7))


def test_sums_over_blocks_leave_out_rows_and_columns() -> None:
    rng = np.random.default_rng(10)
    values = rng.normal(size=(20, 5))
    rows = MatrixRows(values, np.array([1, 4, 5, 19]), np.array([0, 3]))
    blocks = Blocks(np.array([0, 1, 1, 0]), np.array([2.0, 2.0]))
    found = sums_of(rows, CenterScale(np.zeros(2), np.ones(2)), radial(2), blocks)
    expected = [naive.radial_psi(row) for row in values[np.ix_([1, 4, 5, 19], [0, 3])]]
    np.testing.assert_allclose(found.psi[0], expected[0] + expected[3], rtol=1e-9)
    np.testing.assert_allclose(found.psi[1], expected[1] + expected[2], rtol=1e-9)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_slope_of_a_block_is_the_average_over_directions(columns: int) -> None:
    """The trace of the derivative of Ψ, by differences."""
    rng = np.random.default_rng(46)
    row = rng.normal(size=(1, columns))
    rows = MatrixRows(row, np.arange(1), np.arange(columns))
    zero, one = np.zeros(columns), np.ones(columns)
    found = sums_of(rows, CenterScale(zero, one), radial(columns), Blocks(np.arange(1), np.ones(1)))
    step = 1e-6 * np.eye(columns)
    trace = sum(
        (psi_of(row[0] + step[j]) - psi_of(row[0] - step[j]))[j] / 2e-6 for j in range(columns)
    )
    assert found.slope[0] == pytest.approx(trace / columns, rel=1e-6)


def test_rows_of_one_unit_are_in_one_block() -> None:
    rng = np.random.default_rng(3)
    units = rng.integers(0, 50, size=400)
    for blocks in (random_blocks(units, 8, rng), equal_blocks(units, 6, 7, rng)):
        for unit in range(50):
            assert np.unique(blocks.of_row[units == unit]).size <= 1
        assert blocks.sizes.tolist() == np.bincount(blocks.of_row).tolist()
