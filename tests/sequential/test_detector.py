"""The detector: its sums against their definition, its promise, its alarms, its state."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import naive
import numpy as np
import pytest
from looks_streams import scale_of, streams

from dkmd import Detector, StateFileError, Summary
from dkmd.base.arrays import Array
from dkmd.base.errors import TooLittleError
from dkmd.sequential.detection import BETS, LIMIT, UP
from dkmd.sequential.detector import RECENT

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(50.0, 4.0, 4_000)


def _stream(seed: int, before: int, after: int, shift: float) -> Array:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(50, 4, before), rng.normal(50 + shift, 4, after)])


def _scores(values: Array) -> Array:
    """The mean of ψ/2σ over all values of the reference, by a loop over pairs."""
    width = Detector(REFERENCE)._baseline.pair.width
    return np.asarray(naive.closed_psi((values[:, None] - REFERENCE) / width).mean(axis=1))


def test_the_width_is_a_tenth_of_the_robust_scale() -> None:
    scale = naive.robust_scale(REFERENCE, np.empty(0))
    assert Detector(REFERENCE)._baseline.pair.width == pytest.approx(0.1 * scale, rel=2e-3)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_the_sums_are_those_of_the_definition(margin: float) -> None:
    values = _stream(1, 15, 10, 6.0)
    detector = Detector(REFERENCE, arl=1e9, margin=margin)
    expected = naive.shiryaev_roberts(_scores(values), BETS, detector.tolerance)
    for value, mean in zip(values, expected, strict=True):
        detector.update(value)
        assert detector._state[UP:].mean() == pytest.approx(mean, rel=1e-6)


def test_the_tolerance_counts_the_margin_and_the_uncertainty_of_the_reference() -> None:
    error = _scores(REFERENCE).std(ddof=1) / math.sqrt(4_000)
    assert Detector(REFERENCE).tolerance == pytest.approx(2.2 * error, rel=1e-7)
    moved = abs(float(_scores(REFERENCE + 1.5).mean()))
    assert Detector(REFERENCE, margin=1.5).tolerance == pytest.approx(2.2 * error + moved, rel=1e-7)
    scale = Detector(REFERENCE)._baseline.scale
    assert Detector(REFERENCE, margin="0.5sd").tolerance == pytest.approx(
        Detector(REFERENCE, margin=0.5 * scale).tolerance
    )


@pytest.mark.parametrize("shift", [3.0, -5.0])
def test_an_alarm_says_which_way_since_when_and_by_how_much(shift: float) -> None:
    detector = Detector(REFERENCE)
    alarms = detector.update_many(_stream(2, 900, 80, shift))
    alarm = alarms[0]
    assert alarm.direction == ("higher" if shift > 0 else "lower")
    assert 900 <= alarm.at < 980
    assert alarm.began.low <= 900 <= alarm.began.high
    assert abs(alarm.began.estimate - 900) < 30
    assert alarm.shift == pytest.approx(shift, abs=3.0)
    assert alarm.interval[0] < shift < alarm.interval[1]
    assert alarm.strength >= 1.0
    assert "selected" in alarm.note
    assert str(alarm).startswith(f"{alarm.direction} by ")
    assert json.loads(json.dumps(alarm.to_dict(), allow_nan=False))["at"] == alarm.at


def test_one_value_at_a_time_and_many_give_the_same_alarms() -> None:
    values = _stream(3, 400, 300, 4.0)
    values[[5, 410]] = math.nan
    values[20] = math.inf
    many, single = Detector(REFERENCE, arl=2_000), Detector(REFERENCE, arl=2_000)
    found = []
    for value in values:
        if single.update(value).drift_detected:
            assert single.last_alarm is not None
            found.append(single.last_alarm)
    alarms = many.update_many(values[:500]) + many.update_many(values[500:])
    assert found == alarms
    assert len(alarms) > 2
    assert (many.n, many.missing) == (single.n, single.missing) == (698, 2)


def test_drift_detected_is_about_the_last_update_and_the_alarm_stays() -> None:
    detector = Detector(REFERENCE)
    detector.update_many(_stream(4, 0, 60, 9.0))
    assert detector.drift_detected
    alarm = detector.last_alarm
    detector.update(50.0)
    assert not detector.drift_detected
    assert detector.last_alarm is alarm
    detector.reset()
    assert detector.last_alarm is None
    assert detector.n == 0
    detector.reset(REFERENCE + 9.0)
    assert detector.update_many(_stream(4, 0, 60, 9.0)) == []


def test_infinite_values_are_data() -> None:
    detector = Detector(REFERENCE)
    values = _stream(5, 200, 0, 0.0)
    values[100:150] = -math.inf
    (alarm, *_) = detector.update_many(values)
    assert alarm.direction == "lower"
    assert 100 <= alarm.at < 150
    assert detector.n == 200


def test_outliers_and_changes_of_spread_raise_no_alarm() -> None:
    rng = np.random.default_rng(6)
    values = 50.0 + 4.0 * 4.0 * rng.standard_t(2, 3_000)  # four times the spread, heavy tails
    assert Detector(REFERENCE, arl=50_000).update_many(values) == []


def test_a_shift_within_the_margin_is_no_alarm() -> None:
    values = _stream(7, 0, 4_000, 1.5)
    assert Detector(REFERENCE, arl=50_000).update_many(values)
    assert Detector(REFERENCE, arl=50_000, margin=2.0).update_many(values) == []
    (alarm, *_) = Detector(REFERENCE, margin=2.0).update_many(_stream(7, 0, 300, 6.0))
    assert alarm.direction == "higher"


def test_references_come_as_values_summaries_and_files(tmp_path: Path) -> None:
    detector = Detector(REFERENCE)
    path = tmp_path / "reference.json.gz"
    detector.reference.save(path)
    values = _stream(8, 100, 100, 4.0)
    for other in (Detector(Summary.load(path)), Detector(path), Detector(str(path))):
        assert other.update_many(values) == Detector(REFERENCE).update_many(values)


def test_what_cannot_be_a_detector_is_refused() -> None:
    for given, says in (
        ({"arl": 1.0}, "arl"),
        ({"block": 0}, "block"),
        ({"block": 300, "arl": 500.0}, "two blocks"),
        ({"margin": "3%"}, "data units"),
        ({"block": 1_000}, "at least 10,000"),
    ):
        with pytest.raises(ValueError, match=says):
            Detector(REFERENCE, **given)
    with pytest.raises(TooLittleError, match="24 values"):
        Detector(REFERENCE[:24])
    with pytest.raises(TooLittleError, match="differ"):
        Detector(np.zeros(500))
    with pytest.raises(ValueError, match="per_day"):
        Detector(REFERENCE).expected_false_alarms(per_day=-1.0)
    with pytest.raises(TypeError, match="real numbers"):
        Detector(REFERENCE).update_many(["a"])


def test_a_saved_detector_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    values = _stream(9, 700, 100, 5.0)
    whole = Detector(REFERENCE, margin="0.1sd", block=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a shift makes neighbours alike
        expected = whole.update_many(values)
        detector = Detector(REFERENCE, margin="0.1sd", block=2)
        found = []
        for part in np.array_split(values, 9):
            found += detector.update_many(part)
            detector.save(tmp_path / "state")
            again = Detector.load(tmp_path / "state")
            assert again.last_alarm == detector.last_alarm
            if again.last_alarm is not None and detector.last_alarm is not None:
                assert again.last_alarm.to_dict() == detector.last_alarm.to_dict()
            assert again.drift_detected == detector.drift_detected
            detector = again
    assert found == expected
    assert detector.n == 800
    detector.reference.save(tmp_path / "state")
    with pytest.raises(StateFileError, match="not a saved dkmd detector"):
        Detector.load(tmp_path / "state")


def test_memory_is_bounded_and_old_beginnings_show_the_oldest_value() -> None:
    detector = Detector(REFERENCE, arl=1e250)  # no alarm for long
    detector.update_many(_stream(10, 0, 2 * RECENT, 1.0))
    assert detector._ring.size == RECENT
    detector.arl = 2.0
    detector._fixed[LIMIT] = 2.0  # the next value alarms
    detector.update(62.0)
    assert detector.last_alarm is not None
    oldest = 2 * RECENT + 1 - RECENT
    assert oldest <= detector.last_alarm.began.low < oldest + 50


def test_neighbours_that_are_alike_are_warned_about_once() -> None:
    rng = np.random.default_rng(11)
    noise = rng.normal(size=4_000)
    values = np.empty(4_000)
    level = 0.0
    for i in range(4_000):
        level = 0.6 * level + 0.8 * noise[i]
        values[i] = 50.0 + 4.0 * level
    detector = Detector(REFERENCE)
    with pytest.warns(RuntimeWarning, match=r"correlation of 0\.[45].*block") as caught:
        detector.update_many(values)
    assert len(caught) == 1
    for value in values:  # no second warning, which would be an error here
        detector.update(value)
    Detector(REFERENCE).update_many(_stream(12, 4_000, 0, 0.0))


def test_the_reference_of_blocks_counts_its_correlation() -> None:
    rng = np.random.default_rng(13)
    slow = np.repeat(rng.normal(50, 4, 200), 20)
    assert Detector(slow, block=20).tolerance > 3.0 * Detector(slow).tolerance
    assert Detector(Summary.of(slow, Detector(slow).reference.grid), block=20).tolerance == (
        pytest.approx(Detector(slow).tolerance)
    )


def test_zeros_in_a_reference_keep_the_promise() -> None:
    """A few small values share the bin of the zeros. The width must not become that of the bin."""
    rng = np.random.default_rng(14)
    zeros = np.where(rng.random(22_000) < 0.95, 0.0, rng.normal(size=22_000))
    zeros[:4] = [1e-5, 2e-5, 3e-5, 4e-5]
    detector = Detector(zeros[:20_000])
    assert detector._baseline.scale > 0.5
    assert detector.update_many(zeros[20_000:]) == []


def test_false_alarms_are_counted_per_day() -> None:
    assert Detector(REFERENCE, arl=5_000).expected_false_alarms(per_day=86_400) == 17.28


STREAMS = 60


@pytest.mark.slow
@pytest.mark.parametrize(("family", "size"), [(0, 2_000), (4, 200), (6, 2_000)])
def test_run_lengths_keep_the_promise(family: int, size: int) -> None:
    """Normal, lognormal(2) with a short reference, Bernoulli 1%; ``make looks`` has more."""
    found = streams(family, count=STREAMS, n_reference=size, arl=300.0, number=1)
    error = found.length.std() / math.sqrt(STREAMS)
    assert found.length.mean() + 3.0 * error >= 300.0


@pytest.mark.slow
def test_a_change_is_found_soon_and_on_the_right_side() -> None:
    found = streams(1, count=STREAMS, n_reference=20_000, arl=1e4, shift=-scale_of(1), begins=300)
    assert found.length.mean() <= 45.0
    assert np.all(found.side == -1.0)
