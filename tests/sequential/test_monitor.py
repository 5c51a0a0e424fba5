"""Monitors: looks that cost nothing, decisions that stay, state that a file keeps."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from looks_arms import Plan, stopping_times
from naive import robust_scale
from scipy.stats import binom

from dkmd import Grid, Monitor, PairMonitor, StateFileError, Summary
from dkmd.base.errors import ColumnError, TooLittleError
from dkmd.sequential.gathering import MOST_WAITING


def _arms(seed: int, n: int, m: int, shift: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return shift + rng.normal(0.0, 1.0, n), rng.standard_t(3, m) * 1.7


def test_the_sequence_holds_exactly_the_shifts_that_are_not_rejected() -> None:
    x, y = _arms(5, 90, 40, shift=0.4)
    low, high = Monitor(0.03, 100, pilot=y).update(x, y).result.interval
    for delta, inside in ((low + 1e-5, True), (low - 1e-5, False), (high - 1e-5, True)):
        result = Monitor(0.03, 100, pilot=y).update(x - delta, y).result
        assert (result.evalue < 1.0 / 0.03) is inside


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.5, 2.0, 40.0, -1e4])
def test_zero_is_outside_exactly_when_the_evidence_decides(shift: float) -> None:
    x, y = _arms(11, 120, 260, shift)
    result = Monitor(expected_n=150).update(x, y).result
    low, high = result.interval
    assert (low <= 0.0 <= high) == (result.evalue < 20.0)
    assert result.decided == (result.evalue >= 20.0)
    assert low < result.shift < high
    if result.decided:
        assert result.verdict == ("higher" if shift > 0 else "lower")


def test_swapping_the_arms_flips_the_signs() -> None:
    x, y = _arms(6, 150, 80, 1.6)
    one = Monitor(expected_n=100).update(x, y).result
    other = Monitor(expected_n=100).update(y, x).result
    assert (one.verdict, other.verdict) == ("higher", "lower")
    assert (one.direction, other.direction) == ("x is larger", "y is larger")
    assert one.shift == pytest.approx(-other.shift, abs=1e-9)
    assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-6)
    assert one.evalue == pytest.approx(other.evalue, rel=1e-9)


@pytest.mark.parametrize(("offset", "factor"), [(0.0, 1e-7), (1e9, 1.0), (-3.0, 1e12)])
def test_other_units_and_zero_points_give_the_same_answer(offset: float, factor: float) -> None:
    x, y = _arms(7, 200, 90, 0.4)
    plain = Monitor().update(x, y).result
    moved = Monitor().update(offset + factor * x, offset + factor * y).result
    assert moved.evalue == pytest.approx(plain.evalue, rel=1e-5)
    assert moved.shift == pytest.approx(factor * plain.shift, rel=1e-6)
    assert moved.information == pytest.approx(plain.information, rel=1e-5)


@pytest.mark.parametrize("how", ["pilot", "reference"])
def test_order_and_batches_do_not_matter_with_a_pilot_or_a_reference(how: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=300), rng.normal(size=260)
    given: dict[str, Any] = {how: y}
    whole, pieces = Monitor(**given), Monitor(**given)
    whole.update(x=x)
    for part in np.array_split(rng.permutation(x), 17):
        pieces.update(x=part)
    if how == "pilot":
        whole.update(y=y)
        for value in y[::-1]:
            pieces.update(y=value)
    assert pieces.result.evalue == pytest.approx(whole.result.evalue, rel=1e-9)
    assert pieces.result.interval == pytest.approx(whole.result.interval, abs=1e-9)


def test_a_reference_fixes_y() -> None:
    monitor = Monitor(reference=np.random.default_rng(2).normal(size=80))
    with pytest.raises(ValueError, match="fixed reference"):
        monitor.update(y=[1.0])
    with pytest.raises(TooLittleError, match="24 values, of which 23"):
        Monitor(reference=np.arange(24.0))
    with pytest.raises(TooLittleError, match="4 differ from the most"):
        Monitor(reference=np.r_[np.zeros(90), 1, 2, 3, 4])


def test_looking_twice_gives_the_same_answer_and_the_smallest_p_stays() -> None:
    rng = np.random.default_rng(4)
    monitor = Monitor(expected_n=60, alpha=0.001)
    monitor.update(rng.normal(0.9, 1, 60), rng.normal(0, 1, 60))
    first = monitor.result
    assert monitor.result is first
    with pytest.warns(RuntimeWarning, match="neighbouring values of x are alike"):
        monitor.update(rng.normal(-2.0, 1, 60), rng.normal(0, 1, 60))
    assert monitor.result.evalue < first.evalue
    assert monitor.result.pvalue == first.pvalue == pytest.approx(1.0 / first.evalue)
    assert monitor.result.looks == 2


def test_a_decision_stays() -> None:
    rng = np.random.default_rng(4)
    monitor = Monitor(expected_n=60).update(rng.normal(2, 1, 50), rng.normal(0, 1, 40))
    assert monitor.result.verdict == "higher"
    monitor.update(x=rng.normal(-3, 1, 60))
    assert monitor.result.decided
    assert monitor.result.verdict == "higher"
    assert "decided after 50 and 40 values" in monitor.result.reason
    assert monitor.result.reason.endswith("of this look alone would not show it.")


def test_the_burn_in_needs_values_on_both_sides_that_vary() -> None:
    monitor = Monitor(burn_in=10).update(x=np.zeros(40), y=np.zeros(9))
    assert monitor.result.reason == "Too early: 40 and 9 values, and the burn-in needs 10 per side."
    monitor.update(y=[0.0, 1.0, 2.0, 3.0, 4.0])
    assert "of which 4 differ from the most frequent one" in monitor.result.reason
    assert monitor.grid is None
    monitor.update(y=[1.0])
    assert monitor.grid is not None
    assert math.isfinite(monitor.result.shift)
    assert monitor.result.verdict == "inconclusive"


def test_an_arm_of_infinities_is_compared_and_saved(tmp_path: Path) -> None:
    order = np.random.default_rng(2)
    monitor = Monitor(margin="0.1sd").update(order.normal(size=60), np.full(60, -math.inf))
    assert monitor.region == (0.0, 0.0)
    assert (monitor.result.verdict, monitor.result.shift) == ("higher", math.inf)
    monitor.save(tmp_path / "state")
    assert Monitor.load(tmp_path / "state").result == monitor.result


def test_infinite_values_alone_have_no_scale() -> None:
    monitor = Monitor().update(np.full(60, math.inf), np.full(60, -math.inf))
    assert monitor.result.reason.startswith("Too early: 60 and 60 values, most of them infinite.")
    x, y = _arms(9, 400, 400)
    with pytest.warns(RuntimeWarning, match="neighbouring values of x are alike"):  # first inf
        monitor.update(x, y)
    assert monitor.width is not None


def test_the_batch_that_completes_the_burn_in_fixes_the_width_for_good() -> None:
    x, y = _arms(9, 4_000, 4_000)
    monitor = Monitor(margin="0.1sd").update(x[:20], y[:30])
    assert (monitor.width, monitor.region, monitor.until_choice) == (None, None, 5)
    monitor.update(x[20:30])
    width, region = monitor.width, monitor.region
    assert width == pytest.approx(0.1 * robust_scale(x[:30], y[:30]), rel=1e-3)
    assert region is not None
    assert region[1] == pytest.approx(0.1 * robust_scale(y[:30], np.empty(0)), rel=1e-3)
    monitor.update(100.0 * x, 100.0 * y)
    assert (monitor.width, monitor.region, monitor.until_choice) == (width, region, math.inf)


def test_a_pilot_fixes_the_width_and_the_bins_and_is_no_data() -> None:
    x, y = _arms(9, 300, 300)
    monitor = Monitor(pilot=y)
    grid, width = monitor.grid, monitor.width
    assert grid is not None
    assert width == pytest.approx(0.1 * robust_scale(y, y), rel=1e-3)
    assert monitor.sizes == (0, 0)
    assert monitor.result.reason == "Too early: 0 and 0 values, and the burn-in needs 25 per side."
    monitor.update(Summary.of(x, grid), Summary.of(y[:90], grid))
    assert (monitor.grid, monitor.width, monitor.sizes) == (grid, width, (300, 90))
    with pytest.raises(ValueError, match="a reference or a pilot, not both"):
        Monitor(pilot=y, reference=y)
    with pytest.raises(TooLittleError, match="the pilot has 9 values"):
        Monitor(pilot=y[:9])


def test_a_long_burn_in_does_not_keep_all_values() -> None:
    monitor = Monitor()
    for _ in range(3):
        monitor.update(x=np.full(MOST_WAITING, 7.0), y=7.0)
    assert monitor.result.n_x == 3 * MOST_WAITING
    assert len(monitor._gathering.waiting[0]) == 1
    rng = np.random.default_rng(0)
    varied = Monitor().update(x=rng.normal(size=MOST_WAITING + 1))
    assert varied.grid is not None
    assert varied.width is None
    assert varied.update(y=rng.normal(size=25)).width is not None


def test_constants_that_differ_are_decided_by_their_number_only() -> None:
    """Nothing varies: E is at most half the number of relabellings."""
    result = Monitor().update(np.ones(25), np.zeros(30)).result
    assert result.verdict == "higher"
    assert result.evalue == pytest.approx(math.comb(55, 25) / 2, rel=1e-6)
    assert result.interval == (result.shift, result.shift)


def test_infinite_values_are_data_and_missing_values_are_counted() -> None:
    rng = np.random.default_rng(3)
    order = np.random.default_rng(0)
    x = order.permutation(np.r_[rng.normal(size=60), [math.inf] * 40, math.nan, math.nan])
    result = Monitor().update(x, np.r_[rng.normal(size=90), math.nan]).result
    assert (result.n_x, result.n_y, result.missing_x, result.missing_y) == (100, 90, 2, 1)
    assert result.verdict == "higher"
    far = order.permutation(np.r_[rng.normal(size=10), [math.inf] * 40])
    mostly = Monitor(expected_n=50).update(far, rng.normal(size=200))
    assert mostly.result.shift == mostly.result.interval[1] == math.inf
    assert mostly.result.verdict == "higher"
    assert mostly.result.to_dict()["shift"] is None


@pytest.mark.parametrize("kind", [bool, np.int32, np.float32])
def test_numbers_of_any_type_are_taken(kind: Any) -> None:
    x, y = np.arange(60) % 3 > 0, np.arange(45) % 3 > 1
    plain = Monitor().update(x.astype(float), y.astype(float)).result
    assert Monitor().update(x.astype(kind), y.astype(kind)).result == plain


def test_a_margin_gives_all_four_verdicts() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(10, 1, 3000)
    for shift, margin, verdict in (
        (0.5, 0.2, "higher"),
        (-0.5, "0.2sd", "lower"),
        (0.02, 0.2, "equivalent"),
        (0.2, 0.2, "inconclusive"),
    ):
        result = Monitor(margin=margin).update(rng.normal(10 + shift, 1, 3000), y).result
        assert result.verdict == verdict
        assert "margin of ±0.2" in result.reason


def test_relative_monitors_speak_percent() -> None:
    rng = np.random.default_rng(0)
    x, y = 1.1 * rng.lognormal(3, 0.2, 900), rng.lognormal(3, 0.2, 900)
    result = Monitor(margin="5%", relative=True).update(x, y).result
    assert result.shift == pytest.approx(0.1, abs=0.03)
    assert "x is larger by +9" in result.reason or "x is larger by +1" in result.reason
    assert result.relative
    logs = Monitor(margin=math.log(1.05)).update(np.log(x), np.log(y)).result
    assert result.shift == pytest.approx(math.expm1(logs.shift))
    with pytest.raises(ColumnError, match="2 of x are 0 or below"):
        Monitor(relative=True).update(x=[1.0, 0.0, -2.0])
    with pytest.raises(ValueError, match="need each other"):
        Monitor(margin="5%")


def test_settings_that_cannot_be_are_refused() -> None:
    for given, says in (
        ({"alpha": 1.0}, "alpha"),
        ({"expected_n": 0}, "expected_n"),
        ({"burn_in": 1}, "burn_in"),
        ({"margin": "1pp"}, "percentage points"),
    ):
        with pytest.raises(ValueError, match=says):
            Monitor(**given)
    with pytest.raises(TypeError, match="real numbers"):
        Monitor().update(x=["a"])


def test_summaries_and_values_give_the_same_monitor() -> None:
    x, y = _arms(2, 90, 70, 0.5)
    grid = Grid.fit(x, y)
    binned = Monitor().update(Summary.of(x, grid), Summary.of(y, grid))
    assert binned.grid == grid
    assert binned.update(x=x[:5]).result.n_x == 95
    with pytest.raises(ValueError, match="another grid"):
        binned.update(x=Summary.of(x, Grid(0.0, 1.0)))


def test_summaries_of_shards_add_up_to_the_whole() -> None:
    x, y = _arms(12, 300, 210, 0.3)
    monitor, whole = (Monitor(pilot=y) for _ in range(2))
    assert monitor.grid is not None
    for i in range(3):
        monitor.update(*(Summary.of(side[i::3], monitor.grid) for side in (x, y)))
    expected = whole.update(x, y).result
    assert monitor.result.evalue == pytest.approx(expected.evalue, rel=1e-9)
    assert (monitor.result.n_x, monitor.result.n_y) == (300, 210)


def _monitors() -> list[Monitor | PairMonitor]:
    x, y = _arms(14, 80, 60, 0.6)
    young = Monitor(margin="0.1sd", alpha=0.01).update(x[:9], [math.inf, math.nan])
    decided = Monitor(expected_n=50).update(x + 2, y)
    assert decided.result.decided
    return [
        young,
        decided.update(x=[-100.0]),
        Monitor(reference=y).update(x=x),
        PairMonitor(relative=True, margin="3%").update(np.exp(x[:60]), np.exp(y)),
    ]


@pytest.mark.parametrize("number", range(4))
def test_a_saved_monitor_goes_on_as_if_nothing_had_happened(number: int, tmp_path: Path) -> None:
    monitor = _monitors()[number]
    before = monitor.result
    path = tmp_path / "state"
    monitor.save(path)
    again = type(monitor).load(path)
    assert str(again.result) == str(before)  # NaN is not equal to NaN
    more = np.linspace(0.5, 1.5, 40)
    for each in (monitor, again):
        if isinstance(each, PairMonitor):
            each.update(more, more[::-1])
        else:
            each.update(x=more)
    assert str(again.result) == str(monitor.result)


def test_files_that_are_not_a_monitor_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    Monitor().save(path)
    whole = path.read_bytes()
    with pytest.raises(StateFileError, match="not the state of a PairMonitor"):
        PairMonitor.load(path)
    for content, says in (
        (whole[:-9], "truncated"),
        (b"hello", "not a saved dkmd monitor"),
        (gzip.compress(b'{"format": "dkmd-summary"}'), "not a saved dkmd monitor"),
        (_edited(whole, version=1), "no longer reads. Start the monitor anew"),
        (_edited(whole, version=3), "install a newer dkmd"),
        (_edited(whole, best=3.0), "checksum does not match"),
    ):
        path.write_bytes(content)
        with pytest.raises(StateFileError, match=says):
            Monitor.load(path)
    with pytest.raises(FileNotFoundError):
        Monitor.load(tmp_path / "nothing")


def _edited(content: bytes, **changes: Any) -> bytes:
    return gzip.compress(json.dumps(json.loads(gzip.decompress(content)) | changes).encode())


def test_a_result_is_json() -> None:
    x, y = _arms(2, 60, 70)
    for monitor in (Monitor(), Monitor().update(x, y)):
        document = json.loads(json.dumps(monitor.result.to_dict(), allow_nan=False))
        assert set(document) >= {"verdict", "decided", "shift", "interval", "pvalue", "reason"}


FEW = 150


@pytest.mark.slow
@pytest.mark.parametrize("family", [1, 6])
def test_false_alarms_are_rare_however_often_one_looks(family: int) -> None:
    """t2 and Bernoulli 1%, arms 1:3, looks at up to 3,000 values; ``make looks`` has more."""
    plan = Plan(family, ratio=3, most=3_000, alpha=0.1)
    stops = stopping_times(plan, FEW, seed=family)
    alarms = np.count_nonzero(stops, axis=0)
    assert alarms[0] <= binom.ppf(0.999, FEW, 0.1)
    assert alarms[1] > 3 * alarms[0]  # repeated Welch tests
