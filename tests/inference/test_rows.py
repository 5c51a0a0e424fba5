"""Many small tests at once give what each gives alone."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from dkmd import Witness, dkmd_2samp
from dkmd.inference.test.rows import FINE, NO_NUMBERS, ODD, compare_rows


def _rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(14)
    x, y = rng.lognormal(0.0, 1.0, (6, 9)), rng.normal(1.0, 2.0, (6, 14))
    x[1, 2] = math.nan
    x[2], y[2] = 4.0, 4.0
    x[3, :2], y[3, 0] = math.inf, -math.inf
    x[4, :], y[4, :5] = math.inf, math.inf
    x[5], y[5] = 2.0, 3.0
    return x, y


def test_rows_know_which_of_them_need_a_closer_look() -> None:
    x, y = _rows()
    tests = compare_rows(x, y)
    assert tests.state.tolist() == [FINE, NO_NUMBERS, ODD, FINE, FINE, ODD]
    assert np.isnan(tests.numbers("less")["pvalue"]).tolist() == [
        False, True, True, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_rows_of_every_kind_give_what_they_give_alone(alternative: str) -> None:
    x, y = _rows()
    how: dict[str, Any] = {"alternative": alternative, "nan_policy": "omit"}
    with pytest.warns(RuntimeWarning) as told:
        together = dkmd_2samp(x, y, axis=1, **how)
    assert len(told) == 2  # all alike, and constants
    level = 0.9
    low, high = together.shift_interval(level)
    for i in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = dkmd_2samp(x[i], y[i], **how)
        for name in ("statistic", "pvalue", "df", "standard_error", "shift", "width"):
            assert getattr(together, name)[i] == pytest.approx(
                getattr(alone, name), rel=1e-9, nan_ok=True
            ), (i, name)
        assert (low[i], high[i]) == pytest.approx(
            tuple(alone.shift_interval(level)), rel=1e-7, nan_ok=True
        )
        assert together.direction[i] == alone.direction
        assert (together.witness[i] is None) == (alone.witness is None)
        if alone.witness is not None:
            assert together.width[i] == pytest.approx(alone.width, rel=1e-9)


def test_options_hold_for_every_row() -> None:
    """Options such as the Riemann estimator apply to every row, for few values or many."""
    rng = np.random.default_rng(20)
    x, y = rng.normal(0.5, 1.0, (2, 12)), rng.normal(0.0, 1.0, (2, 7))
    options: list[dict[str, Any]]
    options = [{"estimator": "riemann"}, {"witness": Witness(2.0, 1.0)}, {"scale": 0.4}]
    for how in options:
        together = dkmd_2samp(x, y, axis=1, **how)
        alone = [dkmd_2samp(*row, **how) for row in zip(x, y, strict=True)]
        assert together.statistic.tolist() == pytest.approx([a.statistic for a in alone])
        assert together.pvalue.tolist() == pytest.approx([a.pvalue for a in alone])


def test_many_rows_are_worked_through_in_parts_without_a_seam() -> None:
    rng = np.random.default_rng(15)
    x, y = rng.normal(size=(260, 4)), rng.normal(size=(260, 3))
    whole, last = (compare_rows(x[k:], y[k:], 1.0).numbers("less") for k in (0, 255))
    assert whole["statistic"][255:].tolist() == last["statistic"].tolist()
    assert np.isfinite(whole["statistic"]).all()
