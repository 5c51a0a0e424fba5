"""Designs of a pilot: groups multiply the size, covariates divide it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dkmd import Grid, Summary, detectable_shift, dkmd_2samp, plan, power, sample_size

RNG = np.random.default_rng(41)
GROUPS = np.repeat(np.arange(200), 10)
REPEATED = RNG.normal(size=200)[GROUPS] + RNG.normal(size=2000)
KNOWN = RNG.normal(size=2000)
EXPLAINED = 0.8 * KNOWN + 0.6 * RNG.normal(size=2000)


def test_groups_multiply_the_size_by_their_design_effect() -> None:
    """An intraclass correlation of 0.5 in groups of 10: 1 + 9·0.5 = 5.5."""
    answer = plan(REPEATED, 0.2, groups=GROUPS)
    assert answer.design_effect is not None
    assert answer.design_effect == pytest.approx(5.5, rel=0.2)
    alone = sample_size(REPEATED, 0.2)
    assert answer.n == pytest.approx(alone * answer.design_effect, rel=0.03)
    assert answer.groups == (math.ceil(answer.n / 10), math.ceil(answer.m / 10))
    assert answer.n == sample_size(REPEATED, 0.2, groups=GROUPS)
    assert power(REPEATED, 0.2, answer.n, groups=GROUPS) == pytest.approx(0.8, abs=0.001)
    found = detectable_shift(REPEATED, answer.n, groups=GROUPS)
    assert found == pytest.approx(0.2, rel=0.001)
    text = np.array([f"host {group}" for group in GROUPS])
    assert sample_size(REPEATED, 0.2, groups=text) == answer.n
    shuffled = np.random.default_rng(1).permutation(GROUPS)
    assert sample_size(REPEATED, 0.2, groups=shuffled) == pytest.approx(alone, rel=0.2)


def test_few_groups_have_few_degrees_of_freedom() -> None:
    """As many independent values would have more power."""
    found = plan(REPEATED, 2.0, n=40, groups=GROUPS)
    assert found.design_effect is not None
    alone = power(REPEATED, 2.0, round(40 / found.design_effect))
    assert found.power < alone - 0.05


@pytest.mark.parametrize(("shift", "n"), [(2.0, 40), (1.5, 80), (1.0, 200), (0.7, 400)])
def test_the_check_of_a_plan_with_groups_draws_whole_groups(shift: float, n: int) -> None:
    found = plan(REPEATED, shift, n=n, groups=GROUPS)
    assert found.check is not None
    assert found.check.power == pytest.approx(
        found.power, abs=0.03 + 2 * found.check.standard_error
    )
    too_few = plan(REPEATED, 3.0, n=20, groups=GROUPS)  # two groups a side cannot be told apart
    assert too_few.check is not None
    assert too_few.check.power == too_few.power == 0.0


def test_the_check_of_a_plan_draws_covariates_and_strata_with_their_values() -> None:
    found = plan(EXPLAINED, 0.2, covariate=KNOWN, strata=np.sign(KNOWN).astype(int))
    assert found.check is not None
    assert found.check.power == pytest.approx(0.8, abs=0.03 + 2 * found.check.standard_error)
    other = plan(EXPLAINED, 0.2, covariate=KNOWN, other=EXPLAINED)
    assert other.check is None


def test_the_check_of_a_share_turns_values_of_one_kind_into_the_other() -> None:
    yes = REPEATED > 0.8
    for share in (0.1, -0.1):
        found = plan(yes, share=share, groups=GROUPS)
        assert found.check is not None
        # values turn one by one, which is a little clearer than whole groups would be
        assert 0.75 < found.check.power < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.35, 1.0])
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


def test_shares_have_groups_too() -> None:
    rng = np.random.default_rng(45)
    shares = rng.beta(2.0, 2.0, 200)  # an intraclass correlation of 1/(2 + 2 + 1)
    yes = rng.random(2000) < shares[GROUPS]
    answer = plan(yes, 0.05, groups=GROUPS)
    assert answer.design_effect is not None
    assert answer.design_effect == pytest.approx(1.0 + 9.0 / 5.0, rel=0.2)
    assert answer.n == pytest.approx(answer.design_effect * sample_size(yes, 0.05), rel=0.02)
    spent = np.where(rng.random(2000) < 0.5 * shares[GROUPS], rng.lognormal(3, 1, 2000), 0.0)
    grouped = plan(spent, share=0.05, groups=GROUPS)
    assert grouped.design_effect == plan(spent > 0.0, 0.05, groups=GROUPS).design_effect
    assert grouped.n == sample_size(spent > 0.0, share=0.05, groups=GROUPS, alpha=0.025)


def test_a_covariate_is_worth_what_it_explains() -> None:
    without, with_it = plan(EXPLAINED, 0.1), plan(EXPLAINED, 0.1, covariate=KNOWN)
    assert without.worth is None
    assert with_it.worth is not None
    assert with_it.worth == pytest.approx(1.0 / 0.36, rel=0.1)
    assert with_it.n == pytest.approx(without.n / with_it.worth, rel=0.02)
    assert (with_it.groups, with_it.design_effect) == (None, None)
    yes = plan(EXPLAINED > 1.0, share=0.05, covariate=KNOWN)
    assert yes.worth is not None
    assert 1.2 < yes.worth < 2.5
    assert yes.n == pytest.approx(sample_size(EXPLAINED > 1.0, share=0.05) / yes.worth, rel=0.02)
    logs = plan(np.exp(EXPLAINED), factor=1.1, covariate=KNOWN)
    assert logs.worth == pytest.approx(with_it.worth, rel=1e-9)


def test_strata_groups_and_a_covariate_go_together() -> None:
    rng = np.random.default_rng(13)
    country = rng.choice(["DE", "FR", "US"], 2000)
    level = rng.normal(size=200)[GROUPS]
    pilot = level + rng.normal(size=2000) + 1.5 * (country == "FR")
    known = level + 0.5 * rng.normal(size=2000)
    plain, strata = sample_size(pilot, 0.2), sample_size(pilot, 0.2, strata=country)
    assert strata < 0.9 * plain
    grouped = plan(pilot, 0.2, groups=GROUPS)
    both = plan(pilot, 0.2, groups=GROUPS, covariate=known, strata=country)
    assert both.design_effect == grouped.design_effect
    # little is left of the groups' levels, so the covariate is worth more than for single values
    alone = plan(pilot, 0.2, covariate=known, strata=country).worth
    assert both.worth is not None
    assert alone is not None
    assert both.worth > 1.3 * alone
    # 52 groups have fewer degrees of freedom than 250
    assert grouped.n / both.worth < both.n < 1.06 * grouped.n / both.worth


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"groups": np.zeros(2000)}, "single unit"),
        ({"groups": np.zeros(7)}, "groups: the pilot has 2,000 values and needs as many"),
        ({"covariate": KNOWN[1:]}, "covariate: the pilot has 2,000 values and needs as many"),
        ({"covariate": np.ones(2000)}, "have one value only"),
        ({"strata": np.ones(2000), "groups": GROUPS}, "have one value only"),
        ({"covariate": REPEATED}, "is the outcome itself"),
    ],
)
def test_designs_that_say_nothing_are_one_line_errors(beside: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        plan(REPEATED, 0.2, **beside)
    assert "\n" not in str(error.value)


def test_designs_need_single_values() -> None:
    with pytest.raises(ValueError, match="a summary does not hold"):
        sample_size(Summary.of(REPEATED, Grid.fit(REPEATED)), 1.0, groups=GROUPS)
