"""Weights in a Summary: whole weights are repeated values. Files of plain counts do not change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary

GRID = Grid(0.3, 0.05)


def values_of(seed: int, size: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Ordinary values, a few infinite ones and some beyond the last bin."""
    rng = np.random.default_rng(seed)
    values = rng.standard_cauchy(size)
    special = rng.random(size)
    values[special < 0.02] = math.inf
    values[special > 0.98] = -math.inf
    values[(special > 0.5) & (special < 0.51)] = 1e300
    return values


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 400))
def test_whole_weights_are_repeated_values(seed: int, size: int) -> None:
    values = values_of(seed, size)
    counts = np.random.default_rng(seed + 1).integers(1, 5, size)
    weighted = Summary.of(values, GRID, counts)
    repeated = Summary.of(np.repeat(values, counts), GRID)
    assert weighted.weighted
    assert not repeated.weighted
    assert np.array_equal(weighted.bins, repeated.bins)
    assert weighted.counts == pytest.approx(repeated.counts)
    assert weighted.sums == pytest.approx(repeated.sums, rel=1e-12, abs=1e-12)
    assert weighted.squares == pytest.approx(repeated.squares, rel=1e-12)
    assert (weighted.minus_inf, weighted.plus_inf) == (repeated.minus_inf, repeated.plus_inf)
    assert weighted.size == repeated.size
    assert weighted.median() == pytest.approx(repeated.median())


def test_parts_add_up() -> None:
    values = values_of(1, 300_000)
    weights = np.random.default_rng(2).lognormal(size=values.size)
    whole = Summary.of(values, GRID, weights)
    parts = Summary.of(values[:1000], GRID, weights[:1000])
    parts.merge(Summary.of(values[1000:], GRID, weights[1000:]))
    assert np.array_equal(parts.bins, whole.bins)
    assert parts.counts == pytest.approx(whole.counts)
    assert parts.total == pytest.approx(float(weights.sum()))


def test_a_file_keeps_weights(tmp_path: Path) -> None:
    values = values_of(3, 500)
    weighted = Summary.of(values, GRID, np.random.default_rng(4).lognormal(size=values.size))
    weighted.save(tmp_path / "weighted.dkmd")
    assert Summary.load(tmp_path / "weighted.dkmd") == weighted
    plain = Summary.of(values, GRID)
    plain.save(tmp_path / "plain.dkmd")
    loaded = Summary.load(tmp_path / "plain.dkmd")
    assert loaded == plain
    assert loaded.counts.dtype == np.int64
    assert isinstance(loaded.plus_inf, int)


def test_every_value_needs_a_weight() -> None:
    with pytest.raises(ValueError, match="as many weights"):
        Summary.of([1.0, 2.0], GRID, [1.0])
