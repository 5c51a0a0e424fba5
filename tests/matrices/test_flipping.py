"""Flipped signs: their statistics by hand, and balanced signs."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dkmd.matrices import flipping
from dkmd.matrices.center import Influences
from dkmd.matrices.flipping import flips_of
from dkmd.matrices.length import noisiest_direction
from dkmd.matrices.multivariate import run_multivariate

pytestmark = pytest.mark.slow  # plain Python would need minutes


@pytest.mark.parametrize("counts", [(12, 17), (7, 30), (12,)])
def test_statistics_of_flipped_signs_follow_their_definition(
    counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: each side's flipped influences, their variance about their mean, both lengths."""
    rng = np.random.default_rng(30)
    sides = tuple(Influences(rng.normal(size=(n, 3)) / n) for n in counts)
    shift, drawn = np.array([0.3, -0.1, 0.2]), []
    keep = flipping._balanced_signs

    def noted(*given: Any) -> Any:
        drawn.append(keep(*given))
        return drawn[-1]

    monkeypatch.setattr(flipping, "_balanced_signs", noted)
    found = flips_of(sides, shift, 20, np.random.default_rng(4))
    moved, variance, long = np.zeros((20, 3)), np.zeros((20, 3)), np.zeros((20, 3))
    for side, signs, sign in zip(sides, drawn, (1.0, -1.0), strict=False):
        n, flipped = side.count, signs.astype(float) @ side.sums
        moved += sign * flipped
        variance += (n * np.sum(side.sums**2, axis=0) - flipped**2) / (n - 1)
        long += sign * flipped * math.sqrt(n / (n - 1))
    t = moved**2 / variance
    np.testing.assert_allclose(found.statistics.total, t.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.statistics.largest, t.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.squared, np.sum(long**2, axis=1), rtol=1e-5)
    along = long @ noisiest_direction(shift, np.concatenate([side.sums for side in sides]))
    np.testing.assert_allclose(found.along, along, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("blocks", [10, 11])
def test_balanced_signs_keep_the_variance_of_sums_that_add_up_to_0(blocks: int) -> None:
    """The mean square over every choice of half of the signs, times the factor of the signs."""
    rng = np.random.default_rng(31)
    values = rng.exponential(size=blocks)
    values -= values.mean()
    signs = flipping._balanced_signs(2000, blocks, rng)
    assert np.abs(np.sign(signs).sum(axis=1)).max() <= 1.0
    assert np.sign(signs).mean() == pytest.approx(0.0, abs=0.05)
    chosen = [list(each) for each in combinations(range(blocks), blocks // 2)]
    every = np.array([-2.0 * values[each].sum() for each in chosen])  # as Σ of values is 0
    factor = float(np.abs(signs[0, 0]))
    assert factor**2 * np.mean(every**2) == pytest.approx(np.sum(values**2), rel=1e-6)


def test_sums_over_many_columns_vary_under_flips_as_they_do_in_the_data() -> None:
    """χ² of 1,000 columns has a standard deviation of 45. Independent signs gave 62 at 30:30."""
    rng = np.random.default_rng(32)
    x, y = rng.normal(size=(30, 1000)), rng.normal(size=(30, 1000))
    found = run_multivariate(x, y).fit
    assert found is not None
    assert 42.0 < found.flips.statistics.total.std() < 54.0
