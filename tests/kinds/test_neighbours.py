"""Neighbouring values that are alike: a warning at every door, as a possibility."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from shell import here

from dkmd import Monitor, Witness, compare, dkmd_2samp
from dkmd.inference.kinds.neighbours import CLEAR, Middle, neighbour_correlation

Array = npt.NDArray[np.float64]

POSSIBLY = "if the rows are in time order or repeated measurements"


def _in_time(seed: int, size: int = 1_000, memory: float = 0.5) -> Array:
    """AR(1): each value keeps half of the one before."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=size)
    for i in range(1, size):
        values[i] += memory * values[i - 1]
    return values


def _alone(seed: int, size: int = 1_000) -> Array:
    return np.random.default_rng(seed).normal(size=size)


def _in_batches(x: Array, y: Array, size: int) -> None:
    monitor = Monitor()
    for start in range(0, x.size, size):
        monitor.update(x=x[start : start + size], y=y[start : start + size])


@pytest.mark.parametrize("middle", [Middle(0.0, 1.0), Middle(0.4, 0.3), Middle(-1.0, 20.0)])
def test_the_correlation_is_that_of_psi_at_neighbours(middle: Middle) -> None:
    values = _in_time(1)
    psi = Witness(middle.width, middle.width, middle.center)(values)
    around = psi - psi.mean()
    expected = (around[1:] @ around[:-1]) / (around @ around)
    assert expected * np.sqrt(values.size) > CLEAR
    assert neighbour_correlation(values, middle) == pytest.approx(expected, rel=1e-9)
    gaps = np.insert(values, [10, 500], np.nan)
    assert neighbour_correlation(gaps, middle) == pytest.approx(expected, rel=1e-9)
    moved = Middle(3.0 * middle.center - 7.0, 3.0 * middle.width)
    assert neighbour_correlation(3.0 * values - 7.0, moved) == pytest.approx(expected, rel=1e-9)


def test_chance_and_order_are_no_correlation() -> None:
    middle = Middle(0.0, 1.0)
    assert neighbour_correlation(_alone(1), middle) == 0.0
    assert neighbour_correlation(np.sort(_alone(1)), middle) == 0.0
    assert neighbour_correlation(_in_time(1)[:19], middle) == 0.0  # too few to tell
    assert neighbour_correlation(np.full(100, 3.0), middle) == 0.0


def test_a_table_sorted_by_another_column_is_told_a_possibility() -> None:
    """Heights sorted by age are no time series, and nothing in the values tells which."""
    rng = np.random.default_rng(3)
    age = np.sort(rng.uniform(4.0, 16.0, 600))
    heights = 80.0 + 6.0 * age + rng.normal(0.0, 8.0, 600)
    told = compare(heights[::2], heights[1::2]).warnings
    assert any(POSSIBLY in each for each in told)
    assert not any("so the p-value is too small" in each for each in told)


def test_the_test_warns_as_the_answer_does() -> None:
    old, new = _in_time(1), _in_time(2)
    (told,) = (each for each in compare(old, new).warnings if "neighbouring" in each)
    with pytest.warns(RuntimeWarning, match=POSSIBLY):
        result = dkmd_2samp(new, old)
    assert result.notes == [told]


@pytest.mark.parametrize("kind", ["float32", "int64", "strided", "list", "with gaps"])
def test_the_test_warns_for_every_kind_of_array(kind: str) -> None:
    old, new = 100.0 * _in_time(1, 6_000), 100.0 * _in_time(2, 6_000)
    if kind in ("float32", "int64"):
        old, new = old.astype(kind), new.astype(kind)
    if kind == "strided":
        old, new = np.repeat(old, 2)[::2], np.repeat(new, 2)[::2]
    if kind == "with gaps":
        old[::7] = np.nan
    with pytest.warns(RuntimeWarning, match=POSSIBLY):
        dkmd_2samp(new.tolist() if kind == "list" else new, old, nan_policy="omit")


def test_independent_and_sorted_values_and_groups_get_no_warning() -> None:
    for seed in range(20):
        assert dkmd_2samp(_alone(seed), _alone(seed + 100)).notes == []
    assert dkmd_2samp(np.sort(_in_time(1)), np.sort(_in_time(2))).notes == []
    groups = np.arange(1_000) // 20
    assert dkmd_2samp(_in_time(1), _in_time(2), groups=(groups, groups)).notes == []
    assert dkmd_2samp(_in_time(1), _in_time(2), paired=True).notes == []


def test_a_monitor_warns_of_neighbours_once() -> None:
    x, y = _in_time(1), _in_time(2)
    with pytest.warns(RuntimeWarning, match="neighbouring values of x are alike") as told:
        _in_batches(x, y, 50)
    assert len(told) == 1


def test_a_monitor_warns_of_single_values_and_of_its_reference() -> None:
    with pytest.warns(RuntimeWarning, match="neighbouring values of x are alike"):
        _in_batches(_in_time(1), _alone(2), 1)
    against = Monitor(reference=_in_time(2))
    with pytest.warns(RuntimeWarning, match="neighbouring values of y are alike"):
        against.update(x=_alone(1))


def test_a_monitor_of_independent_values_says_nothing() -> None:
    for seed in range(10):
        _in_batches(_alone(seed), _alone(seed + 50), 50)


def test_a_watch_of_two_arms_notes_neighbours_that_are_alike(tmp_path: Path) -> None:
    arms = {"a": _in_time(1), "b": _in_time(2)}
    rows = [{"arm": arm, "ms": arms[arm][i]} for i in range(1_000) for arm in "ab"]
    stream = tmp_path / "stream.jsonl"
    stream.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arms_of = ("--by", "arm", "--reference", "a", "--current", "b")
    done = here("watch", str(stream), "--field", "ms", *arms_of, code=None)
    assert "neighbouring values of b are alike" in " ".join((done.stdout + done.stderr).split())
