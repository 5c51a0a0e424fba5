"""Plans for data that are mostly one value, for factors, groups, unequal sizes and small pilots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dkmd import Grid, Summary, detectable_shift, dkmd_2samp, plan, power, sample_size
from dkmd.answers.options import DEFAULT_TEST
from dkmd.inference import planning
from dkmd.inference.plan_amounts import MOST_DRAWN
from dkmd.inference.plan_parts import TwoPartPlan
from dkmd.inference.plan_search import Change, shift_for
from dkmd.inference.proportions import Counts, share_tails
from dkmd.inference.rest import compare_rest

Values = npt.NDArray[np.float64]

pytestmark = pytest.mark.slow  # small samples are simulated

RNG = np.random.default_rng(41)
NORMAL = RNG.normal(100.0, 10.0, 2000)
BUYERS = RNG.random(4000)
REVENUE = np.where(BUYERS < 0.6, 0.0, RNG.lognormal(3.0, 1.0, 4000))
RARE = np.where(BUYERS < 0.97, 0.0, RNG.lognormal(3.0, 1.0, 4000))


def _two_part_pvalue(x: Values, y: Values) -> float:
    """The smaller p-value of share and rest, twice; written from the definition."""
    rests = x[x != 0.0], y[y != 0.0]
    counts = Counts(rests[0].size, x.size, rests[1].size, y.size)
    p = [float(share_tails(counts).pvalue("two-sided"))]
    if min(rests[0].size, rests[1].size) >= 2:
        p.append(compare_rest(*rests, 0.0, DEFAULT_TEST).pvalue)
    return min(1.0, 2.0 * min(p))


@pytest.mark.parametrize(
    ("zeros", "change", "ratio"),
    [
        (0.6, {"factor": 1.5}, 1.0),
        (0.6, {"factor": 0.7}, 3.0),
        (0.9, {"share": 0.06}, 1.0),
        (0.9, {"factor": 1.5, "share": 0.03}, 1.0),
    ],
)
def test_two_part_plans_have_the_power_that_was_asked_for(
    zeros: float, change: dict[str, float], ratio: float
) -> None:
    rng = np.random.default_rng(42)

    def draw(size: int, zeros: float) -> Values:
        return np.where(rng.random(size) < zeros, 0.0, rng.lognormal(3.0, 1.0, size))

    n = sample_size(draw(20_000, zeros), ratio=ratio, **change)
    m = math.ceil(ratio * n)
    factor, share = change.get("factor", 1.0), change.get("share", 0.0)
    p = [
        _two_part_pvalue(factor * draw(n, zeros - share), draw(m, zeros))
        for _ in range(1000)
    ]  # fmt: skip
    # 2.5 points are two standard errors of this simulation; the plan's own error is as large
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("pilot", [REVENUE, RARE, REVENUE + 7.0])
def test_a_plain_shift_of_mostly_one_value_is_an_error_that_says_what_to_give(
    pilot: Values,
) -> None:
    for call in (
        lambda: sample_size(pilot, 1.0),
        lambda: power(pilot, 1.0, 100),
        lambda: detectable_shift(pilot, 100),
        lambda: detectable_shift(pilot, 100, groups=np.arange(4000) // 4),
        lambda: plan(pilot, n=100),
    ):
        with pytest.raises(ValueError, match=r"of the pilot's values are [07], .*factor=.*share="):
            call()


def test_a_summary_of_two_parts_is_as_good_as_the_data() -> None:
    for pilot in (REVENUE, -REVENUE):
        summary = Summary.of(pilot, Grid.fit(pilot))
        found = sample_size(summary, factor=1.5)
        assert found == pytest.approx(sample_size(pilot, factor=1.5), rel=0.02)
        assert sample_size(summary, share=0.05) == sample_size(pilot, share=0.05)


def test_rare_values_need_many() -> None:
    n = sample_size(RARE, factor=1.5)
    assert n > 1500  # 3% of them are not 0
    assert power(RARE, n=n, factor=1.5) == pytest.approx(0.8, abs=0.03)
    assert power(RARE, n=n, factor=1.5) == power(RARE, n=n, factor=1.5)
    assert sample_size(RARE, factor=1.5, share=0.02) < n


def test_a_factor_multiplies_all_values_of_an_ordinary_pilot() -> None:
    """Data around 100 times 1.03 move by 3, with a spread that grows by 3%."""
    assert sample_size(NORMAL, factor=1.03) == pytest.approx(sample_size(NORMAL, 3.0), rel=0.06)
    assert power(NORMAL, n=2000, factor=1.01) == pytest.approx(power(NORMAL, 1.0, 2000), abs=0.03)
    moved = NORMAL - 100.0  # a factor moves nothing here
    assert power(moved, n=2000, factor=1.1) < 0.1


@pytest.mark.parametrize(("n", "m"), [(60, 60), (90, 30), (2000, 700)])
def test_the_power_of_a_factor_is_that_of_a_simulation(n: int, m: int) -> None:
    """Large samples go through the closed form and small ones through draws from the pilot."""
    rng = np.random.default_rng(43)
    factor = 1.0 + 3.0 * math.sqrt(1.0 / n + 1.0 / m)
    pilot = rng.lognormal(0.0, 1.0, 4000)
    trials = 1500 if n < 100 else 400
    x, y = rng.choice(pilot, (trials, n)) * factor, rng.choice(pilot, (trials, m))
    share = np.mean(dkmd_2samp(x, y, axis=1).pvalue < 0.05)
    assert power(pilot, n=n, m=m, factor=factor) == pytest.approx(share, abs=0.05)


def test_a_ratio_gives_both_sizes() -> None:
    answer = plan(NORMAL, 2.0, ratio=4.0)
    assert answer.m == 4 * answer.n
    assert answer.n == sample_size(NORMAL, 2.0, ratio=4.0)
    found = detectable_shift(NORMAL, answer.n, ratio=4.0)
    assert found == detectable_shift(NORMAL, answer.n, answer.m) == pytest.approx(2.0, rel=0.02)
    assert power(NORMAL, 2.0, answer.n, ratio=4.0) == power(NORMAL, 2.0, answer.n, answer.m)
    with pytest.raises(ValueError, match="m or ratio, not both"):
        power(NORMAL, 2.0, 50, 60, ratio=2.0)


GROUPS = np.repeat(np.arange(200), 10)
REPEATED = RNG.normal(0.0, 1.0, 200)[GROUPS] + RNG.normal(0.0, 1.0, 2000)


def test_groups_multiply_the_size_by_their_design_effect() -> None:
    """An intraclass correlation of 0.5 in groups of 10: 1 + 9·0.5 = 5.5."""
    answer = plan(REPEATED, 0.2, groups=GROUPS)
    assert answer.design_effect is not None
    assert answer.design_effect == pytest.approx(5.5, rel=0.2)
    alone = sample_size(REPEATED, 0.2)
    assert answer.n == pytest.approx(alone * answer.design_effect, rel=0.03)
    assert answer.groups == (math.ceil(answer.n / 10), math.ceil(answer.m / 10))
    n = sample_size(REPEATED, 0.2, groups=GROUPS)
    assert answer.n == n
    assert power(REPEATED, 0.2, n, groups=GROUPS) == pytest.approx(0.8, abs=0.01)
    assert detectable_shift(REPEATED, n, groups=GROUPS) == pytest.approx(0.2, rel=0.02)
    shuffled = np.random.default_rng(1).permutation(GROUPS)
    assert sample_size(REPEATED, 0.2, groups=shuffled) == pytest.approx(alone, rel=0.2)


@pytest.mark.parametrize("shift", [0.35, 0.8])
def test_planned_groups_have_the_power_that_was_asked_for(shift: float) -> None:
    """The larger shift needs few groups, so that Student's t matters."""
    rng = np.random.default_rng(44)
    answer = plan(REPEATED, shift, groups=GROUPS)
    assert answer.groups is not None
    labels = np.repeat(np.arange(answer.groups[0]), 10)
    rejected = []
    for _ in range(600):
        x, y = (
            rng.normal(size=answer.groups[0])[labels] + rng.normal(size=labels.size)
            for _ in range(2)
        )
        rejected.append(dkmd_2samp(x + shift, y, groups=(labels, labels)).pvalue < 0.05)
    # 3.3 points are two standard errors; the design effect of 200 groups is known to 10%
    assert np.mean(rejected) == pytest.approx(0.8, abs=0.07)


def test_yes_no_data_and_two_parts_have_groups_too() -> None:
    rng = np.random.default_rng(45)
    shares = rng.beta(2.0, 2.0, 200)  # an intraclass correlation of 1/(2 + 2 + 1)
    yes = rng.random(2000) < shares[GROUPS]
    answer = plan(yes, 0.05, groups=GROUPS)
    assert answer.design_effect is not None
    assert answer.design_effect == pytest.approx(1.0 + 9.0 / 5.0, rel=0.2)
    assert answer.n == pytest.approx(answer.design_effect * sample_size(yes, 0.05), rel=0.02)
    spent = np.where(rng.random(2000) < 0.3 * shares[GROUPS], rng.lognormal(3, 1, 2000), 0.0)
    grouped = plan(spent, factor=1.6, groups=GROUPS)
    assert grouped.design_effect is not None
    assert grouped.design_effect > 1.0
    assert grouped.n > sample_size(spent, factor=1.6)


def test_few_values_of_the_rarer_kind_give_a_range_too() -> None:
    """2,000 values of which 100 say yes are known to 10%, and so is the size."""
    few, many = plan(np.arange(2000) < 100, 0.01), plan(np.arange(4000) < 200, 0.01)
    assert many.range is None
    assert few.range is not None
    assert few.range[0] < 0.95 * few.n < 1.05 * few.n < few.range[1]
    assert plan(np.arange(2000) >= 100, -0.01).range is not None
    assert plan(RARE, factor=1.8).range is not None  # 3% of 4,000
    assert plan(REVENUE, factor=1.5).range is None


def test_a_small_pilot_gives_a_range_and_a_large_one_does_not() -> None:
    assert plan(NORMAL[:200], 2.0).range is None
    small, smaller = plan(NORMAL[:199], 2.0), plan(NORMAL[:30], 2.0)
    assert small.range is not None
    assert smaller.range is not None
    assert small.range[0] < small.n < small.range[1]
    assert small.range[1] / small.range[0] < smaller.range[1] / smaller.range[0]
    assert plan(NORMAL[:199], 2.0) == small  # seeded
    assert plan(REPEATED[:1990], 0.2, groups=GROUPS[:1990]).range is not None  # 199 groups


def test_four_of_five_ranges_hold_the_answer_of_a_large_pilot() -> None:
    """80% of 60 pilots, give or take three standard errors of 5 points."""
    rng = np.random.default_rng(46)
    inside = 0
    right = sample_size(rng.normal(size=200_000), 0.1)
    for _ in range(60):
        found = plan(rng.normal(size=100), 0.1).range
        assert found is not None
        inside += found[0] <= right <= found[1]
    assert 39 <= inside <= 57


def test_the_range_is_of_the_number_that_was_asked_for() -> None:
    shift, chance = plan(NORMAL[:90], n=60), plan(NORMAL[:90], 5.0, n=60)
    assert (shift.asked, chance.asked) == ("shift", "power")
    assert shift.range is not None
    assert chance.range is not None
    assert shift.range[0] < shift.change.shift < shift.range[1]
    assert 0.0 < chance.range[0] < chance.power < chance.range[1] <= 1.0
    yes = plan(np.arange(100) < 5, 0.03)
    assert yes.range is not None
    assert yes.range[0] < yes.n < yes.range[1] < math.inf


def test_the_range_of_a_shift_needs_no_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The power of each of the drawn pilots would take seconds to simulate."""
    expected = plan(NORMAL[:90], n=60)
    simulated: list[bool] = []
    monkeypatch.setattr(planning, "shift_for", _counted(shift_for, simulated))
    assert plan(NORMAL[:90], n=60) == expected
    assert simulated.count(False) == planning.REPLICATES
    assert simulated.count(True) == 1  # the shift itself


def _counted(function: Callable[..., float], simulated: list[bool]) -> Callable[..., float]:
    def counted(*args: Any) -> float:
        simulated.append(args[5] if len(args) > 5 else True)
        return function(*args)

    return counted


@pytest.mark.parametrize(
    ("change", "n", "draws"),
    [
        (Change(factor=1.05, share=0.05), 400, 1),
        (Change(share=0.05), 400, 0),  # the rest does not move
        (Change(factor=1.05), 10 * MOST_DRAWN, 0),  # too many values to draw
    ],
)
def test_a_two_part_power_is_simulated_only_where_that_helps(
    change: Change, n: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = REVENUE[REVENUE > 0.0]
    drawn: list[Any] = []
    two = TwoPartPlan(0.0, Summary.of(rest, Grid.fit(rest)), REVENUE.size, None, 0.05)

    def simulated(*asked: Any) -> tuple[float, float]:
        drawn.append(asked)
        return 0.5, 0.001

    monkeypatch.setattr(two, "_drawn", simulated)
    # the simulation outweighs the formula, which is known to a few points
    wanted = pytest.approx(0.5, abs=0.001) if draws else two.expected(change, n, n)
    assert two.power(change, n, n) == wanted
    assert drawn == [(change, n, n)] * draws


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give a change"),
        ({"shift": 1.0, "factor": 1.1}, "not both"),
        ({"factor": 1.0}, "factor must be"),
        ({"factor": -2.0}, "factor must be"),
        ({"share": 0.0}, "share must be"),
        ({"share": 0.1}, "a change of share needs"),
        ({"shift": 1.0, "groups": np.zeros(2000)}, "one group only"),
        ({"shift": 1.0, "groups": np.zeros(7)}, "as many labels"),
    ],
)
def test_senseless_questions_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample_size(NORMAL, **options)


def test_groups_need_single_values() -> None:
    with pytest.raises(ValueError, match="a summary does not hold"):
        sample_size(Summary.of(NORMAL, Grid.fit(NORMAL)), 1.0, groups=np.arange(2000))
    with pytest.raises(ValueError, match="between 0% and 100%"):
        sample_size(REVENUE, share=0.7)
