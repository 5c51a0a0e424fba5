"""The table of scores against a reference: the mean of ψ over all its values."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest

from dkmd.base.arrays import Array
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.test.sides import Side
from dkmd.inference.test.width import robust_scale
from dkmd.sequential.scores import PER_OCTAVE_BITS, score_table, scores_of

RNG = np.random.default_rng(1)
N = 1_000

REFERENCES = {
    "normal": RNG.normal(1e6, 3.0, N),
    "Cauchy": RNG.standard_cauchy(N),
    "lognormal": RNG.lognormal(0.0, 2.0, N),
    "yes/no": (RNG.random(N) < 0.02).astype(float),
    "two clusters": np.where(RNG.random(N) < 0.3, 500.0, RNG.normal(size=N)),
    "infinite": np.where(RNG.random(N) < 0.2, math.inf, RNG.normal(size=N)),
}


def _exact(values: Array, reference: Array, width: float) -> Array:
    """By a loop over all pairs. inf − inf counts as 0."""
    with np.errstate(invalid="ignore"):
        away = (values[:, None] - reference) / width
    return np.asarray(naive.closed_psi(np.where(np.isnan(away), 0.0, away)).mean(axis=1))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_score_is_the_mean_of_psi_over_the_reference(name: str) -> None:
    reference = REFERENCES[name]
    summary = Summary.of(reference, Grid.fit(reference))
    side = Side.of(summary)
    width = 0.1 * robust_scale(side)
    table = score_table(side, summary.grid.center, width)
    anywhere = np.quantile(reference[np.isfinite(reference)], RNG.random(300))
    values = np.concatenate([anywhere + RNG.normal(0.0, width, 300), reference[:100]])
    values = np.append(values, [math.inf, -math.inf, 1e30, -1e30])
    found = scores_of(values, table)
    # far out, nodes of the table are farther apart than ψ reaches: values between two nodes
    # are not told apart there
    gap = 2.0 * np.abs(values - summary.grid.center) / (1 << PER_OCTAVE_BITS)
    with np.errstate(invalid="ignore"):
        near = (np.abs(values[:, None] - reference) <= gap[:, None]).mean(axis=1)
    allowed = 2e-4 + np.where(np.isfinite(values) & (gap > width), near, 0.0)
    assert np.all(np.abs(found - _exact(values, reference, width)) <= allowed)
    assert scores_of(reference, table).mean() == pytest.approx(0.0, abs=2e-6)


@pytest.mark.parametrize("name", REFERENCES)
def test_scores_rise_between_minus_1_and_1(name: str) -> None:
    reference = REFERENCES[name]
    summary = Summary.of(reference, Grid.fit(reference))
    side = Side.of(summary)
    for multiple in (0.02, 0.1, 3.0):
        table = score_table(side, summary.grid.center, multiple * robust_scale(side))
        low, high = reference.min(), reference[np.isfinite(reference)].max()
        found = scores_of(np.linspace(low - 9.0, high + 9.0, 3_001), table)
        assert np.diff(found).min() > -1e-12
        assert abs(found).max() <= 1.0 + 1e-4


def test_missing_values_have_no_score() -> None:
    side = Side.of(Summary.of(np.arange(50.0), Grid(25.0, 1.0)))
    assert np.isnan(scores_of(np.array([math.nan]), score_table(side, 25.0, 1.0))).all()
