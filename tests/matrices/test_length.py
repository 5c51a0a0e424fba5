"""The length of the shift: without noise, with its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dkmd.matrices.length import length_interval, noisiest_direction
from dkmd.matrices.multivariate import run_multivariate

pytestmark = pytest.mark.slow  # plain Python would need minutes


def test_the_length_loses_what_noise_adds() -> None:
    """100 columns of nothing at n = 50 have a plain length of 2; a move of 3 stays 3."""
    rng = np.random.default_rng(19)
    plain, lengths, covered = [], [], 0
    for trial in range(40):
        x, y = rng.normal(size=(50, 100)), rng.normal(size=(50, 100))
        found = run_multivariate(x, y, n_resamples=99, rng=trial)
        assert found.fit is not None
        plain.append(math.sqrt(float(found.fit.shift @ found.fit.shift)))
        lengths.append(found.length**2)
        x[:, :9] += 1.0
        low, high = run_multivariate(x, y, n_resamples=199, rng=trial).length_interval()
        covered += low <= 3.0 / float(np.median(found.scale)) <= high
    assert 1.8 < np.mean(plain) < 2.4
    assert np.mean(lengths) < 0.5  # half of them are 0
    assert covered >= 33  # 40 · 0.95 − 3 standard errors


def test_noise_that_all_columns_share_does_not_hide_a_move_in_its_direction() -> None:
    """All columns move by as much, and share a noise. 95% of 100 less 3.5 standard errors is 87.

    With the noise in the direction of the observed shift, 70 intervals held the length, and 32
    moves were called shorter than they are.
    """
    rng = np.random.default_rng(36)
    covered = equivalent = 0
    for trial in range(100):
        x, y = (rng.normal(size=(60, 30)) + rng.normal(size=(60, 1)) for _ in range(2))
        found = run_multivariate(x + 0.25, y, n_resamples=199, rng=trial)
        length = 0.25 * math.sqrt(float(np.sum(found.scale**-2.0)))
        low, high = found.length_interval()
        covered += low <= length <= high
        equivalent += found.equivalence(length) <= 0.05
    assert covered >= 87
    assert equivalent <= 13


def test_the_noisiest_direction_stays_with_a_clear_move() -> None:
    """Noise is long along the last column. A clear move in the first one is where it is."""
    rng = np.random.default_rng(37)
    influences = rng.normal(size=(40, 5)) * np.array([1, 1, 1, 1, 20.0]) / 40
    clear = noisiest_direction(np.array([60.0, 0, 0, 0, 0]), influences)
    assert clear[0] == pytest.approx(1.0, abs=0.02)
    unclear = noisiest_direction(np.array([0.1, 0, 0, 0, 0.5]), influences)
    assert abs(unclear[4]) == pytest.approx(1.0, abs=0.02)
    np.testing.assert_array_equal(noisiest_direction(np.zeros(5), 0.0 * influences), np.zeros(5))


def test_a_direction_that_is_long_by_chance_alone_is_not_taken_for_noise() -> None:
    """1,000 columns and 60 rows: the longest direction seems to have 24 times the noise of any."""
    rng = np.random.default_rng(40)
    influences = rng.normal(size=(60, 1000)) / 60
    toward = noisiest_direction(influences.sum(axis=0), influences)
    along = float(np.sum((influences @ toward) ** 2))
    assert along == pytest.approx(1 / 60, rel=0.5)


def test_the_interval_of_a_length_inverts_its_test() -> None:
    rng = np.random.default_rng(20)
    noise = rng.normal(size=(4000, 5)) * 0.1
    squared, along = np.sum(noise * noise, axis=1), noise[:, 0]
    low, high = length_interval(1.0, squared, along, 0.1)
    for end, above in ((low, True), (high, False)):
        values = end * end + 2 * end * along + squared
        share = np.mean(values >= 1.0) if above else np.mean(values <= 1.0)
        assert share == pytest.approx(0.05, abs=0.005)
    assert length_interval(0.02, squared, along, 0.1)[0] == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_no_length_outside_its_interval_is_kept(seed: int) -> None:
    """Also if the noise is longer than the move, when a resample may be longer, shorter, longer."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_t(3, size=(199, 4)) * np.array([3.0, 1.0, 1.0, 0.3])
    squared, along = np.sum(noise * noise, axis=1), noise @ np.full(4, 0.5)
    observed = float(rng.chisquare(4))
    low, high = length_interval(observed, squared, along, 0.1)
    lengths = np.linspace(0.0, 2.0 * high + 5.0, 4_001)
    values = lengths**2 + 2.0 * lengths * along[:, None] + squared[:, None]
    shorter, longer = (np.mean(side, axis=0) for side in (values <= observed, values >= observed))
    kept = (shorter > 0.05) & (longer > 0.05)
    assert np.all((lengths[kept] >= low) & (lengths[kept] <= high))
    for end in (low, high):
        assert end == 0.0 or np.min(np.abs(lengths[kept] - end)) < 0.02 + 0.01 * high
