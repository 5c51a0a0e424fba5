"""The gate: benchmark files of five tools, verdicts, and no way to pass by accident."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dkmd.gate import FAILED, INCONCLUSIVE, PASSED, gate
from dkmd.sources.benchmarks import (
    BenchmarkFileError,
    Benchmarks,
    Measurements,
    looks_like_benchmarks,
    read_benchmarks,
)

pytestmark = pytest.mark.slow  # nothing here is compiled; plain Python would only make it wait

HYPERFINE = {"results": [{"command": "sort a", "mean": 0.2, "times": [0.1, 0.2, 0.3]}]}
PYPERF = {
    "version": "1.0",
    "metadata": {"unit": "second", "name": "json"},
    "benchmarks": [
        {
            "runs": [
                {"metadata": {}, "warmups": [[1, 0.5]]},
                {"values": [0.11, 0.12], "warmups": [[1, 0.4]]},
                {"values": [0.13, 0.14]},
            ]
        }
    ],
}
PYTEST = {
    "machine_info": {},
    "benchmarks": [{"name": "t", "fullname": "test_a.py::t", "stats": {"data": [1.0, 2.0]}}],
}
_REPETITION = {"name": "BM/8", "run_name": "BM/8", "run_type": "iteration", "time_unit": "us"}
GOOGLE = {
    "context": {},
    "benchmarks": [
        {**_REPETITION, "real_time": 5.0},
        {**_REPETITION, "real_time": 6.0},
        {**_REPETITION, "name": "BM/8_mean", "run_type": "aggregate", "real_time": 5.5},
    ],
}
GO = """goos: linux
BenchmarkSort-8   \t 1000\t  1234.5 ns/op\t  16 B/op\t  1 allocs/op
BenchmarkSort-8   \t 1000\t  1250 ns/op
PASS
"""


def _file(folder: Path, content: Any) -> Path:
    path = folder / "bench.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("content", "name", "values", "groups", "unit"),
    [
        (HYPERFINE, "sort a", [0.1, 0.2, 0.3], [0, 1, 2], "s"),
        (PYPERF, "json", [0.11, 0.12, 0.13, 0.14], [1, 1, 2, 2], "s"),
        (PYTEST, "test_a.py::t", [1.0, 2.0], [0, 1], "s"),
        (GOOGLE, "BM/8", [5.0, 6.0], [0, 1], "us"),
        (GO, "BenchmarkSort-8", [1234.5, 1250.0], [0, 1], "ns"),
    ],
)
def test_every_format_is_read(
    tmp_path: Path, content: Any, name: str, values: list[float], groups: list[int], unit: str
) -> None:
    path = _file(tmp_path, content)
    assert looks_like_benchmarks(path)
    assert read_benchmarks(path) == {name: Measurements(unit, values, groups)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("a,b\n1,2\n", "not a benchmark file that dkmd knows"),
        ("{}", "not a benchmark file that dkmd knows"),
        ('{"results": [', "cut off"),
        ('{"results": []}', "holds no benchmarks"),
        ({"results": [{"command": "x"}]}, "--export-json"),
        ({"results": [{"times": [1.0]}]}, "damaged"),
        ({"results": [{"command": "x", "times": ["1"]}]}, "finite number belongs"),
        ({"results": [{"command": "x", "times": 3}]}, "not a list"),
        ({"results": [*HYPERFINE["results"], *HYPERFINE["results"]]}, "two benchmarks are called"),
        ({"benchmarks": [{"fullname": "t", "stats": {"mean": 1}}]}, "--benchmark-save-data"),
        ('{"results": [{"command": "x", "times": [1e999]}]}', "finite number"),
        ("[" * 100_000, "not a benchmark file"),
        ('{"a":' * 100_000, "damaged|cut off"),
    ],
)
def test_other_files_are_refused_with_what_to_do(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(BenchmarkFileError, match=message):
        read_benchmarks(_file(tmp_path, content))


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkFileError, match="folder"):
        read_benchmarks(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_benchmarks(tmp_path / "none.json")
    assert not looks_like_benchmarks(tmp_path / "none.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["results", "benchmarks", "runs", "times", "values", "command", "stats", "data",
                 "fullname", "real_time", "name", "metadata", "run_type", "time_unit"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_any_json_is_read_right_or_refused(document: Any) -> None:
    from dkmd.sources.benchmarks import _parsed

    try:
        found = _parsed(json.dumps(document))
    except (BenchmarkFileError, KeyError, TypeError, ValueError, AttributeError):
        return  # what read_benchmarks turns into a message
    for measured in found.values():
        assert not any(math.isinf(v) for v in measured.values)
        assert len(measured.values) == len(measured.groups)


def _bench(**samples: Any) -> Benchmarks:
    return {
        name: Measurements("s", [float(v) for v in values], list(range(len(values))))
        for name, values in samples.items()
    }


def _times(seed: int, center: float, n: int = 30) -> Any:
    return center * np.random.default_rng(seed).normal(1.0, 0.01, n)


def test_a_slower_benchmark_fails_and_an_equal_one_passes() -> None:
    before = _bench(a=_times(1, 1.0), b=_times(2, 2.0))
    same = gate(before, _bench(a=_times(3, 1.0), b=_times(4, 2.0)), margin="2%")
    assert same.outcome == PASSED
    assert [row.verdict for row in same.rows] == ["not worse", "not worse"]
    slower = gate(before, _bench(a=_times(3, 1.0), b=_times(4, 2.2)), margin="2%")
    assert slower.outcome == FAILED
    assert [row.verdict for row in slower.rows] == ["not worse", "worse"]
    row = slower.rows[1]
    assert row.relative
    assert row.shift == pytest.approx(0.1, abs=0.01)
    assert row.interval[0] < row.shift < row.interval[1]
    assert row.centers == pytest.approx((2.0, 2.2), rel=0.01)
    assert row.pvalue < 1e-6
    assert slower.geometric_mean == pytest.approx(math.sqrt(1.1), rel=0.01)


def test_faster_is_not_worse_unless_a_decrease_is() -> None:
    before, after = _bench(a=_times(1, 1.0)), _bench(a=_times(2, 0.8))
    assert gate(before, after, margin="2%").outcome == PASSED
    assert gate(before, after, margin="2%", worse="decrease").outcome == FAILED
    assert gate(after, before, margin="2%", worse="decrease").outcome == PASSED


def test_margins_in_units_and_scales_work() -> None:
    before, after = _bench(a=_times(1, 1.0)), _bench(a=_times(2, 1.1))
    assert gate(before, after, margin=0.05).outcome == FAILED
    assert gate(before, after, margin=0.2).outcome == PASSED
    assert not gate(before, after, margin=0.2).rows[0].relative
    assert gate(before, after, margin="0.1sd").outcome == FAILED
    with pytest.raises(ValueError, match="in common"):
        gate(before, _bench(b=[1.0]), margin="2%")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0], "current has one value"),
        ([], "current has no values"),
        ([math.nan, math.nan], "no values but NaN"),
        ([1.0, 1.2], "too noisy or too few"),
        ([-1.0, 1.0, 2.0], "positive data"),
    ],
)
def test_what_cannot_be_judged_is_inconclusive_with_a_reason(
    values: list[float], reason: str
) -> None:
    result = gate(_bench(a=_times(1, 1.0, 10)), _bench(a=values), margin="2%")
    assert result.outcome == INCONCLUSIVE
    assert reason in result.rows[0].reason


def test_constant_measurements_and_other_units_do_not_pass() -> None:
    constant = _bench(a=[1.0, 1.0, 1.0])
    assert gate(constant, constant, margin="2%").outcome == INCONCLUSIVE
    other = {"a": Measurements("ms", [1.0, 2.0], [0, 1])}
    assert "units differ" in gate(constant, other, margin="2%").rows[0].reason


def test_values_of_one_process_are_a_group() -> None:
    rng = np.random.default_rng(5)
    processes = np.repeat(np.arange(8), 10)

    def build(seed: int) -> Benchmarks:
        level = np.random.default_rng(seed).normal(1.0, 0.05, 8)[processes]
        values = level + rng.normal(0, 0.001, 80)
        return {"a": Measurements("s", values.tolist(), processes.tolist())}

    alarms = [gate(build(2 * i), build(2 * i + 1), margin=0.0).outcome == FAILED for i in range(60)]
    assert np.mean(alarms) <= 0.15  # one-sided 5 %; without groups it would be about a third
    lone = {"a": Measurements("s", [1.0, 1.1, 1.2], [0, 0, 0])}
    assert "come from one process" in gate(lone, lone, margin="2%").rows[0].reason


def test_what_vanished_or_appeared_is_listed() -> None:
    result = gate(
        _bench(a=_times(1, 1.0), old=[1.0, 2.0]), _bench(a=_times(2, 1.0), new=[1.0, 2.0])
    )
    assert (result.vanished, result.appeared) == (("old",), ("new",))


def test_false_alarms_over_many_benchmarks_stay_below_alpha() -> None:
    """100 gates of 20 equal benchmarks, margin 0: at most 5 % of gates fail (here 3.1 sd more)."""
    failed = 0
    for trial in range(100):
        rng = np.random.default_rng(trial)
        builds = [
            _bench(**{f"b{i}": rng.normal(1.0, 0.05, 15) for i in range(20)}) for _ in range(2)
        ]
        failed += gate(*builds, margin=0.0).outcome == FAILED
    assert failed / 100 <= 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / 100)


def test_senseless_options_are_refused() -> None:
    bench = _bench(a=[1.0, 2.0])
    with pytest.raises(ValueError, match="worse must be"):
        gate(bench, bench, worse="sideways")
    with pytest.raises(ValueError, match="alpha must lie"):
        gate(bench, bench, alpha=2.0)
