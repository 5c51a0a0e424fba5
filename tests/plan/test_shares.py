"""Plans for yes/no data: the usual formula, exact sums, and more values never show less."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dkmd import Grid, Summary, detectable_shift, plan, power, sample_size
from dkmd.inference.kinds.proportions import Counts, share_tails
from dkmd.inference.plan.models import Shares

CONVERTED = np.arange(2000) < 100  # 5%


def _usual_size(old: float, new: float, alpha: float, wanted: float) -> float:
    """The textbook's formula with pooled variance."""
    middle = 0.5 * (old + new)
    score = stats.norm.isf(alpha / 2) * math.sqrt(2 * middle * (1 - middle))
    score += stats.norm.ppf(wanted) * math.sqrt(old * (1 - old) + new * (1 - new))
    return float((score / (new - old)) ** 2)


def test_one_point_on_a_conversion_of_5_percent_needs_what_the_usual_formula_says() -> None:
    assert sample_size(CONVERTED, 0.01) == pytest.approx(8143, rel=0.01)


@pytest.mark.parametrize(("shift", "alpha", "wanted"), [(0.02, 0.01, 0.9), (-0.01, 0.05, 0.6)])
def test_large_sizes_are_those_of_the_usual_formula(
    shift: float, alpha: float, wanted: float
) -> None:
    usual = _usual_size(0.05, 0.05 + shift, alpha, wanted)
    assert sample_size(CONVERTED, shift, wanted, alpha) == pytest.approx(usual, rel=0.03)


def test_the_two_values_need_not_be_0_and_1() -> None:
    n = sample_size(CONVERTED, 0.01)
    assert sample_size(CONVERTED * 20.0 - 7.0, 0.2) == n
    assert sample_size(CONVERTED, share=0.01) == sample_size(CONVERTED, factor=1.2) == n
    summary = Summary.of(CONVERTED, Grid.fit(CONVERTED))
    assert sample_size(summary, 0.01) == n
    assert sample_size(~CONVERTED, -0.01) == n


def test_the_three_questions_have_one_answer() -> None:
    n = sample_size(CONVERTED, 0.02, power=0.9, ratio=3.0)
    assert power(CONVERTED, 0.02, n, ratio=3.0) == pytest.approx(0.9, abs=0.001)
    assert power(CONVERTED, 0.02, n - 1, ratio=3.0) < 0.9
    found = detectable_shift(CONVERTED, n, power=0.9, ratio=3.0)
    assert found == pytest.approx(0.02, rel=0.002)
    assert power(CONVERTED, 0.02, n, 3 * n) == power(CONVERTED, 0.02, n, ratio=3.0)


PILOTS = {share: np.arange(2000) < 2000 * share for share in (0.002, 0.05, 0.3, 0.5, 0.95, 0.99)}


@pytest.mark.parametrize("share", list(PILOTS))
@pytest.mark.parametrize("ratio", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.95])
def test_more_values_never_have_a_larger_detectable_shift(
    share: float, ratio: float, wanted: float
) -> None:
    before = math.inf
    for n in [*range(20, 200, 3), *(int(200 * 1.3**k) for k in range(25))]:
        try:
            found = abs(detectable_shift(PILOTS[share], n, power=wanted, ratio=ratio))
        except ValueError:
            found = math.inf
        assert found <= before * (1.0 + 1e-9)
        before = found


@cache
def _rejects(a: int, n: int, b: int, m: int, alpha: float) -> bool:
    return bool(share_tails(Counts(a, n, b, m)).pvalue("two-sided") < alpha)


def _exact_power(x: float, y: float, n: int, m: int, alpha: float) -> float:
    """The probability of all rejected tables, one by one; tables below 1e-5 are left out."""
    of_x, of_y = (
        stats.binom.pmf(np.arange(size + 1), size, share) for size, share in ((n, x), (m, y))
    )
    likely_x, likely_y = np.flatnonzero(of_x > 1e-5), np.flatnonzero(of_y > 1e-5)
    return float(
        sum(
            of_x[a] * of_y[b]
            for a in likely_x
            for b in likely_y
            if _rejects(int(a), n, int(b), m, alpha)
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "shift", "n", "m"),
    [
        (0.5, 0.3, 40, 40),
        (0.5, 0.35, 15, 60),
        (0.2, 0.4, 24, 24),
        (0.2, 0.3, 60, 20),
        (0.05, 0.3, 28, 28),
        (0.05, 0.3, 15, 60),
        (0.9, -0.4, 21, 21),
        (0.9, 0.1, 64, 64),
    ],
)
@pytest.mark.parametrize("alpha", [0.05, 0.02])
def test_the_closed_form_is_close_to_the_sum_over_all_tables(
    share: float, shift: float, n: int, m: int, alpha: float
) -> None:
    """Exact powers go up and down by some points from one size to the next: 6 points are allowed.

    Without its corrections the formula is off by 7 points for 90% against 100%.
    """
    found = Shares(share, alpha).power(shift, n, m)
    exact = _exact_power(share + shift, share, n, m, alpha)
    assert found == pytest.approx(exact, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "shift", "ratio"), [(0.05, 0.05, 1.0), (0.05, 0.02, 4.0), (0.5, 0.1, 1.0)]
)
def test_planned_sizes_have_the_power_that_was_asked_for(
    share: float, shift: float, ratio: float
) -> None:
    n = sample_size(np.arange(2000) < 2000 * share, shift, ratio=ratio)
    m = math.ceil(ratio * n)
    rng = np.random.default_rng(31)
    yes: list[npt.NDArray[np.int64]] = [
        rng.binomial(size, at, 4000) for size, at in ((n, share + shift), (m, share))
    ]
    rejected = [_rejects(int(a), n, int(b), m, 0.05) for a, b in zip(*yes, strict=True)]
    assert np.mean(rejected) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(
    "change", [{"shift": 0.96}, {"shift": -0.06}, {"share": 0.96}, {"factor": 21.0}, {"shift": 1.0}]
)
def test_a_share_beyond_0_or_100_percent_is_an_error(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"share of 1 is 5%.*one percentage point"):
        sample_size(CONVERTED, **change)
    with pytest.raises(ValueError, match="between 0% and 100%"):
        power(CONVERTED, n=100, **change)  # type: ignore[arg-type]


def test_where_there_is_no_room_up_the_detectable_shift_is_down() -> None:
    assert detectable_shift(~CONVERTED, 40) < -0.05
    assert 0.0 < detectable_shift(~CONVERTED, 4000) < 0.05
    with pytest.raises(ValueError, match="plan for more values"):
        detectable_shift(CONVERTED, 2)


def test_two_single_values_are_amounts() -> None:
    assert plan([10.2, 11.7], n=50).shares is None
    assert plan([10.2, 11.7, 10.2], n=50).shares is not None


def test_without_a_shift_power_is_close_to_alpha() -> None:
    assert power(CONVERTED, 0.0, 100_000, alpha=0.1) == pytest.approx(0.1, rel=0.01)
    assert power(CONVERTED, 0.0, 300, alpha=0.05) == pytest.approx(0.05, abs=0.005)
