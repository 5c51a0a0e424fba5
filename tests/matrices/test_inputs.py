"""Two matrices as they come in: kinds of arrays, missing values, pairs, wrong input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from matrix_samples import two_matrices

from dkmd.base.arrays import Array
from dkmd.base.errors import NanError, TooLittleError
from dkmd.matrices.multivariate import dkmd_multivariate, run_multivariate

pytestmark = pytest.mark.slow  # plain Python would need minutes


@pytest.mark.parametrize("kind", [np.float32, np.int64, "fortran", "big-endian", "strided"])
def test_every_kind_of_array_gives_the_same_answer(kind: Any) -> None:
    rng = np.random.default_rng(9)
    x, y = (np.round(8 * rng.normal(size=(50, 3))) for _ in range(2))
    expected = run_multivariate(x, y, n_resamples=49)

    def other(array: Array) -> Any:
        if kind == "fortran":
            return np.asfortranarray(array)
        if kind == "strided":
            return np.repeat(array, 2, axis=0)[::2]
        return array.astype(">f8" if kind == "big-endian" else kind)

    found = run_multivariate(other(x), other(y), n_resamples=49)
    np.testing.assert_allclose(found.shift, expected.shift, rtol=1e-12, atol=1e-14)
    assert found.pvalue == expected.pvalue


def test_missing_values_follow_the_policy() -> None:
    x, y = two_matrices(12, d=3)
    x[4, 1] = np.nan
    y[:20, 2] = np.nan  # more than half of 27
    assert math.isnan(run_multivariate(x, y).pvalue)
    with pytest.raises(NanError, match="x has missing values in 1 rows, first in row 5"):
        run_multivariate(x, y, nan_policy="raise")
    found = run_multivariate(x, y, nan_policy="omit")
    assert found.sizes == (39, 27)
    assert math.isnan(found.shift[2])
    assert math.isnan(found.column_pvalues[2])
    alone = run_multivariate(np.delete(x, 4, axis=0)[:, :2], y[:, :2])
    np.testing.assert_allclose(found.shift[:2], alone.shift, rtol=1e-9)
    told = " ".join(found.notes)
    assert "more than half of their values are missing: 2" in told
    assert "1 row of x has missing values and was left out" in told
    with pytest.warns(RuntimeWarning, match="left out"):
        dkmd_multivariate(x, y, nan_policy="omit")


def test_wrong_input_is_named() -> None:
    x, y = two_matrices(14, d=3)
    for given, message in (
        ((x, y[:, :2]), "x has 3 columns and y has 2"),
        ((x[:1], y), "x has 1 rows"),
        ((x[None], y), "must have rows and columns"),
        ((x[:, :0], y[:, :0]), "no columns"),
        ((x.astype(complex), y), "real numbers"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            run_multivariate(*given)
    with pytest.raises(ValueError, match="nan_policy"):
        run_multivariate(x, y, nan_policy="drop")
    with pytest.raises(ValueError, match="n_resamples"):
        run_multivariate(x, y, n_resamples=0)
    with pytest.raises(TooLittleError, match="x has 1 rows without missing values"):
        run_multivariate(np.array([[1.0], [np.nan]]), y[:, :1], nan_policy="omit")


def test_pairs_cancel_what_units_share() -> None:
    rng = np.random.default_rng(16)
    units = 20 * rng.normal(size=(40, 3))
    y = units + rng.normal(size=(40, 3))
    x = units + rng.normal(size=(40, 3)) + 0.8
    assert run_multivariate(x, y).pvalue > 0.05
    paired = run_multivariate(x, y, paired=True)
    assert paired.pvalue == pytest.approx(1 / 1000)
    np.testing.assert_allclose(paired.shift, 0.8, atol=0.6)
    labels = np.arange(40).astype(str)
    order = rng.permutation(40)
    grouped = run_multivariate(x, y[order], paired=True, groups=(labels, labels[order]))
    np.testing.assert_allclose(grouped.shift, paired.shift, rtol=1e-9)
    alone = run_multivariate(x, y[5:], paired=True, groups=(labels, labels[5:]))
    assert alone.sizes == (35, 35)
    assert "5 units are on one side only" in alone.notes[0]
    with pytest.raises(ValueError, match="as many rows"):
        run_multivariate(x, y[1:], paired=True)


def test_a_missing_label_of_a_pair_is_an_error() -> None:
    x, y = two_matrices(14, n=6, m=6)
    labels = np.array(["a", "b", "c", "d", "e", None], dtype=object)
    with pytest.raises(ValueError, match="1 label of x is missing"):
        run_multivariate(x, y, paired=True, groups=(labels, np.array(list("abcdef"))))


def test_labels_of_pairs_are_units_by_their_value() -> None:
    """As in ``dkmd_2samp``: whole numbers of any type are the same unit, and 1 is not "1"."""
    x, y = two_matrices(15, n=30, m=30)
    whole = np.arange(30)
    expected = run_multivariate(x, y, paired=True, groups=(whole, whole))
    for other in (whole.astype(np.float64), whole.astype(np.int8), whole.astype(object)):
        found = run_multivariate(x, y, paired=True, groups=(whole, other))
        np.testing.assert_array_equal(found.shift, expected.shift)
        assert found.pvalue == expected.pvalue
    with pytest.raises(ValueError, match="labels of x are numbers and labels of y are text"):
        run_multivariate(x, y, paired=True, groups=(whole, whole.astype(str)))
    with pytest.raises(TooLittleError, match="no unit is on both sides"):
        run_multivariate(x, y, paired=True, groups=(whole, whole + 30))


def test_swapping_pairs_by_label_flips_every_sign() -> None:
    """Whatever the order of rows and the labels of units on one side only."""
    x, y = two_matrices(17, n=40, m=40)
    labels = np.array([f"unit {i}" for i in range(45)])
    order = np.random.default_rng(17).permutation(40)
    of_x, of_y = labels[:40], labels[5:][order]
    forth = run_multivariate(x, y, paired=True, groups=(of_x, of_y))
    back = run_multivariate(y, x, paired=True, groups=(of_y, of_x))
    np.testing.assert_array_equal(forth.shift, -back.shift)
    assert forth.pvalue == back.pvalue
    assert forth.length_interval() == back.length_interval()
