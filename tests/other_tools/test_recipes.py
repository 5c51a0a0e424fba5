"""The examples of docs/adapters.md and the adapters, inside the tools themselves."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river.base import DriftDetector
from scipy.stats import poisson
from sklearn.base import clone

import dkmd
from dkmd.adapters import evidently
from dkmd.adapters.river import DkmdDrift
from dkmd.adapters.scikit import TwoSampleDrift

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _as_a_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In the root of the repository, and without the tools' own warnings of deprecation."""
    monkeypatch.chdir(ROOT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _recipe(section: str) -> dict[str, Any]:
    """What the code of a section of the page defines."""
    page = (ROOT / "docs" / "adapters.md").read_text()
    (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    (code,) = re.findall(r"^```python\n(?!>>>)(.*?)^```$", body, re.M | re.S)
    names: dict[str, Any] = {}
    exec(compile(code, f"adapters.md, {section}", "exec", flags=0, dont_inherit=True), names)
    return names


def _scores(snapshot: Any) -> list[Any]:
    return [metric["value"] for metric in snapshot.dict()["metrics"]]


def _statuses(snapshot: Any) -> list[str]:
    return [test["status"].value for test in snapshot.dict()["tests"]]


def test_evidently_reports_the_p_value_of_compare() -> None:
    names = _recipe("evidently")
    finite = [
        frame["latency_ms"][np.isfinite(frame["latency_ms"])]
        for frame in (names["reference"], names["current"])
    ]
    own = dkmd.compare(*finite, alpha=0.05), dkmd.compare(*finite, alpha=0.01, margin="3%")
    assert _scores(names["snapshot"]) == [own[0].pvalue, own[1].pvalue_beyond]
    assert _statuses(names["snapshot"]) == ["FAIL", "FAIL"]


def test_evidently_finds_no_drift_within_the_margin() -> None:
    from evidently import Report
    from evidently.metrics import ValueDrift

    rng = np.random.default_rng(4)
    reference = pd.DataFrame({"x": rng.gamma(4, 5, 900) + 80, "n": rng.poisson(4, 900)})
    current = pd.DataFrame({"x": rng.gamma(4, 5, 700) + 81.5, "n": rng.poisson(4, 700)})
    evidently.register("any shift")
    evidently.register("more than 5%", margin="5%")
    asked = [("x", "any shift"), ("x", "more than 5%"), ("n", "any shift")]
    metrics = [ValueDrift(column=column, method=method) for column, method in asked]
    snapshot = Report(metrics, include_tests=True).run(current, reference)
    assert _statuses(snapshot) == ["FAIL", "SUCCESS", "SUCCESS"]


def test_evidentlys_preset_uses_dkmd_for_every_number() -> None:
    from evidently import Report
    from evidently.presets import DataDriftPreset

    rng = np.random.default_rng(5)
    reference = pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"])
    current = pd.DataFrame(rng.normal([0.0, 0.5], size=(300, 2)), columns=["a", "b"])
    evidently.register()
    counted, *scores = _scores(Report([DataDriftPreset(num_method="dkmd")]).run(current, reference))
    assert counted["count"] == 1
    assert scores == [dkmd.compare(reference[c], current[c]).pvalue for c in "ab"]


def test_a_threshold_that_is_no_probability_is_an_error() -> None:
    from evidently import Report
    from evidently.metrics import ValueDrift

    evidently.register()
    frame = pd.DataFrame({"x": np.arange(50.0)})
    report = Report([ValueDrift(column="x", method="dkmd", threshold=1.5)])
    with pytest.raises(Exception, match="alpha"):
        _scores(report.run(frame, frame))


def test_a_bad_margin_is_an_error_when_it_is_registered() -> None:
    with pytest.raises(ValueError, match="margin"):
        evidently.register("bad", margin="three")


def test_pandera_says_what_moved() -> None:
    import pandera.pandas as pa

    schema = _recipe("pandera")["requests"]
    before = pd.read_csv("examples/data/latency_before.csv")
    after = pd.read_csv("examples/data/latency_after.csv")
    schema.validate(before)
    words = r"HIGHER.*by more than 3%: typically \+5\.55 ms"
    with pytest.raises(pa.errors.SchemaError, match=words):
        schema.validate(after)


def test_dagster_stores_the_answer() -> None:
    import dagster as dg

    names = _recipe("Dagster")
    result = dg.materialize([names["requests"], names["latency_did_not_rise"]])
    (check,) = result.get_asset_check_evaluations()
    assert not check.passed
    assert "HIGHER" in str(check.metadata["answer"].value)
    assert check.metadata["shift"].value == pytest.approx(5.55, abs=0.01)


def test_scikit_learn_clones_the_detector() -> None:
    rng = np.random.default_rng(6)
    fitted = TwoSampleDrift(margin="0.2sd", alpha=0.01).fit(rng.normal(size=(50, 2)))
    copy = clone(fitted)
    assert copy.get_params() == {"margin": "0.2sd", "alpha": 0.01}
    with pytest.raises(ValueError, match="call fit first"):
        copy.predict(rng.normal(size=(50, 2)))


def _alarms(detector: DkmdDrift, stream: np.ndarray) -> list[int]:
    """The positions of alarms."""
    found = []
    for i, value in enumerate(stream):
        detector.update(float(value))
        if detector.drift_detected:
            found.append(i)
    return found


def test_river_sees_a_detector_of_its_own_kind() -> None:
    detector = DkmdDrift(warm_up=60, arl=2000, margin="0.1sd")
    assert isinstance(detector, DriftDetector)
    copy = detector.clone()
    assert (copy.warm_up, copy.arl, copy.margin) == (60, 2000, "0.1sd")
    with pytest.raises(ValueError, match="at least 25"):
        DkmdDrift(warm_up=24)


@pytest.mark.parametrize(("moved", "word"), [(1.5, "higher"), (-1.5, "lower")])
def test_a_river_detector_learns_the_new_level_after_an_alarm(moved: float, word: str) -> None:
    rng = np.random.default_rng(21)
    stream = np.concatenate([rng.normal(0, 1, 400), rng.normal(moved, 1, 700)])
    detector = DkmdDrift(warm_up=200)
    (at,) = _alarms(detector, stream)
    assert 400 <= at < 450
    assert detector.last_alarm is not None
    assert detector.last_alarm.direction == word


def test_a_river_detector_keeps_a_reference_that_was_given() -> None:
    rng = np.random.default_rng(22)
    detector = DkmdDrift(reference=rng.normal(0, 1, 500))
    assert len(_alarms(detector, rng.normal(1.5, 1, 600))) > 3


def test_false_alarms_of_a_river_detector_keep_their_bound() -> None:
    """At most one per 500 values on average: 20 in 20 streams of 500 after the warm-up."""
    rng = np.random.default_rng(23)
    streams = rng.standard_t(3, (20, 600))
    found = sum(len(_alarms(DkmdDrift(warm_up=100, arl=500), stream)) for stream in streams)
    assert found <= poisson.ppf(0.999, 20)


def test_the_page_shows_what_river_finds() -> None:
    assert _recipe("river")["alarms"] == [(1024, "higher")]
