"""Margins of shares and of two parts, in percent, points, data units and sd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import here

from dkmd import Grid, Summary, compare, dkmd_2samp, drift
from dkmd.base.arrays import Array
from dkmd.inference.test.margins import beyond_margin

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


RNG = np.random.default_rng(20)


def _yes(size: int, yes: int, no: float = 0.0, value: float = 1.0) -> Array:
    """So many values, of which so many are yes, in random order."""
    values = np.full(size, no)
    values[:yes] = value
    return RNG.permutation(values)


def _zeros(size: int, others: Array) -> Array:
    return RNG.permutation(np.concatenate([np.zeros(size - others.size), others]))


AMOUNTS = np.random.default_rng(1).lognormal(3.0, 0.8, 400)


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [
        (None, "higher"),
        ("0.1sd", "higher"),
        ("5pp", "higher"),
        ("13pp", "inconclusive"),
        ("20pp", "equivalent"),
        (0.05, "higher"),
        (0.2, "equivalent"),
        ("10%", "higher"),
        ("50%", "equivalent"),
    ],
)
def test_margins_of_shares(margin: Any, verdict: str) -> None:
    old, new = _yes(2000, 900), _yes(2000, 1160)  # 45% and 58%
    answer = compare(old, new, margin=margin)
    assert answer.verdict == verdict
    assert (answer.pvalue_beyond < 0.05) == (verdict == "higher")
    mirrored = compare(new, old, margin=margin)
    assert mirrored.verdict == {"higher": "lower"}.get(verdict, verdict)
    grid = Grid.fit(old, new)
    binned = compare(Summary.of(old, grid), Summary.of(new, grid), margin=margin)
    assert (binned.verdict, binned.pvalue, binned.shift) == pytest.approx(
        (answer.verdict, answer.pvalue, answer.shift)
    )


def test_points_are_for_shares_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="percentage points is for shares"):
        compare(AMOUNTS, AMOUNTS + 1.0, margin="1pp")
    pd.DataFrame({"t": AMOUNTS}).to_csv(tmp_path / "a.csv", index=False)
    refused = here(
        "gate", str(tmp_path / "a.csv"), str(tmp_path / "a.csv"), "--margin", "1pp", code=2
    )
    assert "percentage points are for shares" in refused.stderr
    frames = [pd.DataFrame({"t": AMOUNTS, "yes": _yes(400, k)}) for k in (100, 200)]
    found = drift(frames[0], frames[1], margin="1pp")
    assert list(found) == ["yes"]
    assert "percentage points" in found.skipped["t"]


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [("5%", "higher"), ("300%", "equivalent"), ("5pp", "equivalent"), (50.0, "equivalent"),
     ("3sd", "equivalent"), (0.05, "higher")],
)  # fmt: skip
def test_margins_of_two_parts(margin: Any, verdict: str) -> None:
    rng = np.random.default_rng(8)
    old = _zeros(6000, rng.lognormal(3.0, 0.5, 600))
    new = _zeros(6000, 1.7 * rng.lognormal(3.0, 0.5, 610))
    answer = compare(old, new, margin=margin)
    assert answer.verdict == verdict
    assert (answer.pvalue_beyond < 0.05) == (verdict == "higher")
    if margin == 50.0:
        assert "the mean of value is EQUIVALENT up to 50" in answer.headline()


def test_the_mean_of_two_parts_is_beyond_a_margin_where_its_interval_is() -> None:
    """Student's t alone gave p = 0.0009 for a mean whose guarded interval reached the margin."""
    verdicts = []
    for seed, size, factor in ((65, 25, 3.0), (94, 25, 3.0), (1, 25, 9.0), (2, 300, 3.0)):
        rng = np.random.default_rng(seed)
        old = np.where(rng.random(300) < 0.6, 0.0, rng.lognormal(0.0, 1.5, 300))
        new = np.where(rng.random(size) < 0.6, 0.0, factor * rng.lognormal(0.0, 1.5, size))
        answer = compare(old, new, margin=0.2, kind="zeros")
        means = dkmd_2samp(new, old, estimand="mean")
        assert answer.pvalue_beyond == pytest.approx(beyond_margin(means, 0.2), rel=1e-12)
        assert (answer.pvalue_beyond < 0.05) == (answer.verdict == "higher")
        verdicts.append(answer.verdict)
    assert verdicts[:2] == ["inconclusive", "inconclusive"]
    assert "higher" in verdicts
