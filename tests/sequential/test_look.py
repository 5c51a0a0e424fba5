"""One look: the evidence of arms and pairs against its definition, and the sequence around it."""

from __future__ import annotations

import math
from typing import Any

import naive
import numpy as np
import pytest
from looks_arms import CELLS, Frozen, fill, frozen, log_e_of, side_from

from dkmd import Monitor, PairMonitor, Witness
from dkmd.inference.test.one_sample import OneSample
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.scan import moments_at
from dkmd.inference.test.sides import side_of_values
from dkmd.sequential.look import Look
from dkmd.sequential.mixture import prior_information

LIMIT = math.log(20.0)


def _arms(seed: int, n: int, m: int, shift: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return shift + rng.normal(0.0, 1.0, n), rng.standard_t(3, m) * 1.7


def _look(x: Any, y: Any, width: float, scale: float = 0.9, r: float = 17.0) -> Look:
    of_x, of_y = (side_of_values(np.sort(values), 0.0) for values in (x, y))
    return Look(Pair(of_x, of_y, width, 0.0), 1.0 / (1.0 / len(x) + 1.0 / len(y)), scale, r)


@pytest.mark.parametrize(("n", "m"), [(60, 25), (31, 170)])
@pytest.mark.parametrize("shift", [0.0, 0.7, 2.0])
def test_the_evidence_of_two_arms_is_that_of_the_definition(n: int, m: int, shift: float) -> None:
    x, y = _arms(3, n, m, shift)
    expected = naive.arms_log_e(x, y, 0.3, 0.9, 17.0)
    assert _look(x, y, 0.3).evidence(0.0, LIMIT).log_e == pytest.approx(expected, abs=1e-7)


def test_the_evidence_of_pairs_is_that_of_the_definition() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(0.3, 1.0, 70), rng.normal(0.0, 0.4, 70)
    monitor = PairMonitor(alpha=0.1, expected_n=90).update(x, y)
    assert monitor.width is not None
    psi, d = Witness(monitor.width, monitor.width), x - y
    center = naive.m_center(d, psi)
    own = d - center
    variance = psi(own).var(ddof=1) / (70 * np.mean(psi.derivative(own)) ** 2)
    t = psi(d).mean() / math.sqrt(psi(d).var(ddof=1) / 70)
    # the burn-in holds all pairs, so the information is their number
    log_e = naive.log_mixture(t, 69, 70, prior_information(0.1, 90))
    assert monitor._frame is not None
    assert monitor._frame.scale == pytest.approx(math.sqrt(70 * variance), rel=1e-6)
    assert monitor.result.information == pytest.approx(70, rel=1e-6)
    assert monitor.result.shift == pytest.approx(center, abs=1e-8)
    assert math.log(monitor.result.evalue) == pytest.approx(log_e, abs=1e-6)


def test_few_pairs_have_no_more_evidence_than_sign_flips() -> None:
    """Ten equal differences: one choice of signs in 2^10 is as clear, on either side."""
    side = side_of_values(np.linspace(1.0, 1.001, 10), 0.0)
    look = Look(OneSample(side, 0.0, Witness(1e-3, 1e-3)), 10.0, 1e-3, 5.0)
    assert look.evidence(0.0, LIMIT).log_e == pytest.approx(9.0 * math.log(2.0), abs=1e-9)


@pytest.mark.parametrize("shift", [0.0, 0.4, 3.0, 200.0])
def test_the_sequence_holds_exactly_the_shifts_that_are_not_rejected(shift: float) -> None:
    look = _look(*_arms(5, 90, 40, shift), 0.2)
    low, high = look.sequence(LIMIT)
    assert low < look.shift < high
    for delta, inside in ((low + 1e-5, True), (low - 1e-5, False), (high - 1e-5, True)):
        assert (look.evidence(delta, LIMIT).log_e < LIMIT) is inside
        assert (abs(look.evidence(delta, LIMIT).score) < 1.0) is inside


def test_the_information_grows_with_the_values_and_falls_with_the_variance() -> None:
    x, y = _arms(9, 400, 300)
    whole, part = _look(x, y, 0.2), _look(x[:100], y[:75], 0.2)
    assert whole.information == pytest.approx(4.0 * part.information, rel=0.2)
    wider = _look(3.0 * x, 3.0 * y, 0.6)
    assert wider.information == pytest.approx(whole.information / 9.0)


def test_the_evidence_of_rare_events_is_that_of_the_pooled_variance() -> None:
    """A small arm without an event has hardly a variance of its own."""
    x, y = np.zeros(30), np.repeat([0.0, 1.0], [290, 10])
    x[0] = 1e-3  # T of its own variance is far out
    look = _look(x, y, 0.2, scale=1.0)
    test = look.tester.test(0.0)
    own, pooled = look._ways(test)
    assert abs(own.t) > 3.0
    assert abs(pooled.t) < 1.5
    assert look.evidence(0.0, LIMIT).log_e < 1.0


def test_the_study_has_the_evidence_of_the_package() -> None:
    """Its coarser cells change ln E by less than a thousandth."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_t(2, 900) + 0.2, rng.standard_t(2, 900)
    monitor, done = Monitor(expected_n=300), 0
    known = Frozen(*frozen(x[:25], y[:25]))
    cells = np.zeros((2, 2 * CELLS, 3))
    r = prior_information(0.05, 150.0)
    for n in (25, 140, 900):
        monitor.update(x[done:n], y[done:n])
        for values, table in ((x, cells[0]), (y, cells[1])):
            fill(values, done, n, known.origin, known.width, table)
        of_x, of_y = (side_from(table, float(n)) for table in cells)
        done = n
        found = moments_at(of_x, of_y, 0.0, known.width)
        log_e = log_e_of(of_x, of_y, found, known.width, known.scale, r)
        assert math.log(monitor.result.evalue) == pytest.approx(log_e, abs=1e-3)
