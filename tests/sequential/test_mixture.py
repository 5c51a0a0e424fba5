"""The t mixture against its definition and against two other packages."""

from __future__ import annotations

import json
import math
from typing import Any

import naive
import pytest
from conftest import VECTORS
from looks_arms import asymptotic_evidence

from dkmd.sequential.mixture import critical_t, log_evidence, prior_information


@pytest.mark.parametrize("t", [0.0, 0.7, -2.4, 9.0])
@pytest.mark.parametrize(("df", "information", "r"), [(7.5, 3.0, 11.0), (900.0, 220.0, 4.0)])
def test_the_evidence_is_the_ratio_of_two_densities(
    t: float, df: float, information: float, r: float
) -> None:
    assert log_evidence(t, df, information, r) == pytest.approx(
        naive.log_mixture(t, df, information, r), abs=1e-11
    )


@pytest.mark.parametrize("limit", [math.log(20.0), math.log(1000.0)])
@pytest.mark.parametrize(("df", "information", "r"), [(30.0, 40.0, 5.0), (4000.0, 900.0, 60.0)])
def test_the_critical_t_is_where_the_evidence_reaches_its_limit(
    df: float, information: float, r: float, limit: float
) -> None:
    t = critical_t(df, information, r, limit)
    assert log_evidence(t, df, information, r) == pytest.approx(limit, abs=1e-10)


ORACLES = json.loads((VECTORS / "looks.json").read_text())
"""Made by benchmarks/looks_oracles.py."""


@pytest.mark.parametrize("case", ORACLES["savvi"])
def test_the_evidence_and_its_limit_are_those_of_savvi(case: dict[str, Any]) -> None:
    numbers = case["df"], case["information"], case["r"]
    assert log_evidence(case["t"], *numbers) == pytest.approx(-math.log(case["pvalue"]), abs=1e-9)
    reach = critical_t(*numbers, -math.log(case["alpha"])) * case["error"]
    ends = case["estimate"] - reach, case["estimate"] + reach
    assert ends == pytest.approx(case["ends"], abs=1e-9)


@pytest.mark.parametrize("case", ORACLES["gbstats"])
def test_the_rival_sequence_of_means_is_that_of_gbstats(case: dict[str, Any]) -> None:
    """gbstats counts information as the number of values in both arms together."""
    total, alpha = case["total"], case["alpha"]
    r = prior_information(alpha, case["expected_total"])
    log_e = asymptotic_evidence(case["t"] ** 2, total, r)
    assert min(math.exp(-log_e), 1.0) == pytest.approx(case["pvalue"], rel=1e-9)
    for end in case["ends"]:
        z = (end - case["estimate"]) / case["error"]
        assert asymptotic_evidence(z**2, total, r) == pytest.approx(-math.log(alpha), abs=1e-9)


def test_no_t_is_enough_with_hardly_any_information() -> None:
    assert critical_t(3.0, 0.01, 5.0, math.log(20.0)) == math.inf
    assert log_evidence(math.inf, 3.0, 0.01, 5.0) < math.log(20.0)


def test_the_prior_is_best_where_a_decision_is_expected() -> None:
    """The shift that just decides at the expected information is smallest near this r."""
    alpha, expected = 0.02, 300.0
    r = prior_information(alpha, expected)

    def just_enough(prior: float) -> float:
        return critical_t(1e9, expected, prior, -math.log(alpha))

    assert just_enough(r) < just_enough(1.5 * r)
    assert just_enough(r) < just_enough(r / 1.5)
