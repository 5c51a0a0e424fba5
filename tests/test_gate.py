"""The gate: benchmark files of five tools, verdicts, and no accidental passes."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dkmd.answers.gate import FAILED, INCONCLUSIVE, PASSED, gate
from dkmd.answers.gate.decide import holm
from dkmd.base.errors import BenchmarkFileError
from dkmd.inference.test.two_sample import row_tails
from dkmd.sources.files.benchmarks import (
    BenchmarkFile,
    Benchmarks,
    Measurements,
    looks_like_benchmarks,
    parse_benchmarks,
    read_benchmarks,
)

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

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
BenchmarkSort-8   \t 1000\t  1234.5 ns/op
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
                 "fullname", "real_time", "name", "metadata", "run_type", "time_unit", "exit_codes",
                 "error_occurred"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_any_json_is_read_right_or_refused(document: Any) -> None:
    from dkmd.sources.files.benchmarks.reading import _parsed

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
    assert [row.verdict for row in same.rows] == ["same", "same"]
    slower = gate(before, _bench(a=_times(3, 1.0), b=_times(4, 2.2)), margin="2%")
    assert slower.outcome == FAILED
    assert [row.verdict for row in slower.rows] == ["same", "worse"]
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
    assert gate(before, after, margin="2%", worse="lower").outcome == FAILED
    assert gate(after, before, margin="2%", worse="lower").outcome == PASSED


def test_margins_in_units_and_scales_work() -> None:
    before, after = _bench(a=_times(1, 1.0)), _bench(a=_times(2, 1.1))
    assert gate(before, after, margin="50ms").outcome == FAILED
    assert gate(before, after, margin="0.2s").outcome == PASSED
    assert not gate(before, after, margin="0.2 s").rows[0].relative
    assert gate(before, after, margin="0.1sd").outcome == FAILED
    with pytest.raises(ValueError, match="in common"):
        gate(before, _bench(b=[1.0]), margin="2%")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0], "current has one value"),
        ([math.nan, math.nan], "current has no values: all 2 are missing"),
        ([1.0, 1.2], "too few values: 2 beside 10"),
        ([0.7, 0.8, 1.0, 1.1, 1.2, 1.5], "too few values for this margin"),
        ([-1.0, 1.0, 2.0], "positive data"),
    ],
)
def test_what_cannot_be_judged_is_inconclusive_with_a_reason(
    values: list[float], reason: str
) -> None:
    result = gate(_bench(a=_times(1, 1.0, 10)), _bench(a=values), margin="2%")
    assert result.outcome == INCONCLUSIVE
    assert reason in result.rows[0].reason


def test_other_units_do_not_pass() -> None:
    other = {"a": Measurements("B", [1.0, 2.0], [0, 1])}
    assert "units differ" in gate(_bench(a=[1.0, 2.0]), other, margin="2%").rows[0].reason


def test_units_of_time_are_brought_together() -> None:
    times = _times(1, 1.5)
    before = {"a": Measurements("us", times.tolist(), list(range(30)))}
    after = {"a": Measurements("ns", (1000.0 * times).tolist(), list(range(30)))}
    result = gate(before, after, margin="2%")
    assert (result.outcome, result.rows[0].unit) == (PASSED, "us")
    assert result.rows[0].shift == pytest.approx(0.0, abs=1e-12)
    assert Measurements("s", [1.5], [0]).in_unit("ns").values == [1.5e9]
    assert Measurements("min", [1.5], [0]).in_unit("h").values == [0.025]


@pytest.mark.parametrize(
    ("old", "new", "options", "verdict", "shift"),
    [
        (1000, 1000, {"margin": "2%"}, "same", 0.0),
        (0, 0, {"margin": "2%"}, "same", 0.0),
        (1000, 1000, {"margin": 0.0}, "same", 0.0),
        (1000, 1000, {"margin": "0.1sd"}, "same", 0.0),
        (1000, 1010, {"margin": "2%"}, "same", 0.01),
        (1000, 1030, {"margin": "2%"}, "worse", 0.03),
        (1000, 1030, {"margin": "50s"}, "same", 30.0),
        (1000, 1030, {"margin": "20s"}, "worse", 30.0),
        (1000, 970, {"margin": "20s"}, "better", -30.0),
        (1000, 970, {"margin": "50s"}, "same", -30.0),
        (1000, 900, {"margin": "2%"}, "better", -0.1),
        (1000, 1100, {"margin": "2%", "worse": "lower"}, "better", 0.1),
        (1000, 900, {"margin": "2%", "worse": "lower"}, "worse", -0.1),
        (1000, 990, {"margin": "0.1sd"}, "not worse", -10.0),
        (1000, 1001, {"margin": "0.1sd"}, "inconclusive", math.nan),
        (0, 5, {"margin": "2%"}, "worse", 5.0),
        (5, 0, {"margin": "2%"}, "better", -1.0),
    ],
)
def test_values_that_do_not_vary_are_held_against_the_margin(
    old: int, new: int, options: Any, verdict: str, shift: float
) -> None:
    result = gate(_bench(a=[old] * 3), _bench(a=[new] * 2), **options)
    row = result.rows[0]
    assert row.verdict == verdict
    assert row.shift == pytest.approx(shift, nan_ok=True)
    assert math.isnan(row.pvalue)
    assert math.isnan(row.interval[0])
    if verdict != "inconclusive":
        assert "nothing varied" in row.reason
        assert row.centers == (old, new)
    assert result.table()[1][4:6] == ("", "")


def test_a_page_of_values_that_do_not_vary_can_be_written(tmp_path: Path) -> None:
    before = _bench(same=[1000] * 3, more=[1000] * 3)
    gate(before, _bench(same=[1000] * 3, more=[2000] * 3)).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "nothing varied" in text
    assert "more is WORSE by more than 5%" in text


def test_one_value_that_never_varies_does_not_pass() -> None:
    one = _bench(a=[1000])
    assert gate(one, one).outcome == INCONCLUSIVE


def test_values_of_one_process_are_a_group() -> None:
    rng = np.random.default_rng(5)
    processes = np.repeat(np.arange(8), 10)

    def build(seed: int) -> Benchmarks:
        level = np.random.default_rng(seed).normal(1.0, 0.05, 8)[processes]
        values = level + rng.normal(0, 0.001, 80)
        return {"a": Measurements("s", values.tolist(), processes.tolist())}

    alarms = [gate(build(2 * i), build(2 * i + 1), margin=0.0).outcome == FAILED for i in range(60)]
    assert np.mean(alarms) <= 0.15  # one-sided 5%; without groups it would be about a third
    lone = {"a": Measurements("s", [1.0, 1.1, 1.2], [0, 0, 0])}
    assert "come from one process" in gate(lone, lone, margin="2%").rows[0].reason


def test_what_vanished_or_appeared_is_listed() -> None:
    result = gate(
        _bench(a=_times(1, 1.0), old=[1.0, 2.0]), _bench(a=_times(2, 1.0), new=[1.0, 2.0])
    )
    assert (result.missing, result.new) == (("old",), ("new",))


def test_false_alarms_over_many_benchmarks_stay_below_alpha() -> None:
    """100 gates of 20 equal benchmarks, margin 0: at most 5% fail (plus 3.1 sd for chance).

    The same holds for gates with any benchmark that is "better".
    """
    failed = praised = 0
    for trial in range(100):
        rng = np.random.default_rng(trial)
        builds = [
            _bench(**{f"b{i}": rng.normal(1.0, 0.05, 15) for i in range(20)}) for _ in range(2)
        ]
        found = gate(*builds, margin=0.0)
        failed += found.outcome == FAILED
        praised += any(row.verdict == "better" for row in found.rows)
    assert failed / 100 <= 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / 100)
    assert praised / 100 <= 0.05 + 3.1 * math.sqrt(0.05 * 0.95 / 100)


PACKAGES = """pkg: example.com/{0}
BenchmarkSort-8 \t 1000\t  {1} ns/op
BenchmarkSort-8 \t 1000\t  {2} ns/op
PASS
"""


def _go(folder: Path, name: str, text: str) -> Benchmarks:
    (folder / name).write_text(text)
    return read_benchmarks(folder / name)


def test_packages_of_go_are_kept_apart(tmp_path: Path) -> None:
    fast, slow = PACKAGES.format("fast", 10, 11), PACKAGES.format("slow", 1000, 1100)
    both = _go(tmp_path, "both.txt", fast + slow)
    assert {name: m.values for name, m in both.items()} == {
        "example.com/fast.BenchmarkSort-8": [10.0, 11.0],
        "example.com/slow.BenchmarkSort-8": [1000.0, 1100.0],
    }
    assert list(_go(tmp_path, "one.txt", fast)) == ["BenchmarkSort-8"]


def test_one_package_of_go_meets_its_own_among_several(tmp_path: Path) -> None:
    fast, slow = PACKAGES.format("fast", 10, 11), PACKAGES.format("slow", 1000, 1100)
    both, one = _go(tmp_path, "both.txt", fast + slow), _go(tmp_path, "one.txt", slow)
    for result in (gate(both, one), gate(one, both)):
        assert [row.name for row in result.rows] == ["example.com/slow.BenchmarkSort-8"]
    assert gate(both, one).missing == ("example.com/fast.BenchmarkSort-8",)
    untold = _go(tmp_path, "untold.txt", "BenchmarkSort-8 1 5 ns/op\nBenchmarkMap-8 1 5 ns/op\n")
    with pytest.raises(ValueError, match="in common"):  # Sort could be either
        gate(both, untold)
    clear = _go(tmp_path, "clear.txt", fast + slow + "BenchmarkMap-8 1 6 ns/op\n")
    assert [row.name for row in gate(clear, untold).rows] == ["example.com/slow.BenchmarkMap-8"]


def test_what_go_measured_otherwise_is_named(tmp_path: Path) -> None:
    line = "BenchmarkServe-8 1 500.0 req/s 3 B/op\n"
    mixed = _go(tmp_path, "mixed.txt", GO + line)
    result = gate(mixed, mixed)
    others = ["BenchmarkServe-8 req/s", "BenchmarkServe-8 B/op"]
    assert [row.name for row in result.rows] == ["BenchmarkSort-8", *others]
    assert not any("not judged" in note for note in result.notes())
    timed = _go(tmp_path, "timed.txt", GO + "BenchmarkServe-8 1 5.0 ns/op\n" * 2)
    assert gate(timed, mixed).missing == ("BenchmarkServe-8",)
    assert list(_go(tmp_path, "untimed.txt", line)) == others


def test_times_of_go_are_found_among_other_numbers(tmp_path: Path) -> None:
    found = _go(
        tmp_path, "a.txt", "BenchmarkA 5 7.5 widgets/s 1.5e+03 ns/op\nBenchmarkA 1 NaN ns/op"
    )
    assert found["BenchmarkA"].values[0] == 1500.0
    assert math.isnan(found["BenchmarkA"].values[1])


def _google(folder: Path, *entries: Any) -> Benchmarks:
    return read_benchmarks(_file(folder, {"benchmarks": [{**_REPETITION, **e} for e in entries]}))


def test_a_benchmark_that_failed_is_inconclusive_with_what_it_said(tmp_path: Path) -> None:
    fine = _google(tmp_path, {"real_time": 5.0}, {"real_time": 6.0})
    broken = _google(
        tmp_path, {"real_time": 5.0}, {"error_occurred": True, "error_message": "no such file"}
    )
    for sides, side in (((fine, broken), "current"), ((broken, fine), "reference")):
        result = gate(*sides)
        assert result.outcome == INCONCLUSIVE
        assert result.rows[0].reason == f"in {side} it failed: no such file"
        assert not result.missing
    new = _google(
        tmp_path,
        {"real_time": 5.0},
        {"real_time": 5.0},
        {"run_name": "BM/9", "error_occurred": True},
    )
    result = gate(fine, new)
    assert [row.name for row in result.rows] == ["BM/8", "BM/9"]
    assert result.outcome == INCONCLUSIVE
    assert not result.new


def test_runs_of_hyperfine_that_failed_are_inconclusive(tmp_path: Path) -> None:
    entry = {"command": "sort a", "times": [0.1, 0.2, 0.3]}
    fine = read_benchmarks(_file(tmp_path, {"results": [{**entry, "exit_codes": [0, 0, 0]}]}))
    assert fine["sort a"].failure == ""
    broken = read_benchmarks(_file(tmp_path, {"results": [{**entry, "exit_codes": [0, 1, None]}]}))
    result = gate(fine, broken)
    assert result.outcome == INCONCLUSIVE
    assert (
        result.rows[0].reason
        == "in current it failed: 2 of 3 runs ended with a signal, exit code 1"
    )


def test_a_benchmark_of_go_that_failed_is_inconclusive(tmp_path: Path) -> None:
    fine = _go(tmp_path, "fine.txt", GO)
    result = gate(fine, _go(tmp_path, "broken.txt", GO + "--- FAIL: BenchmarkSort-8\n    x.go:7\n"))
    assert result.rows[0].reason == "in current it failed: go test says FAIL"


def test_only_aggregates_are_refused_with_what_to_do(tmp_path: Path) -> None:
    mean = {"run_type": "aggregate", "aggregate_name": "mean", "real_time": 5.0}
    with pytest.raises(BenchmarkFileError, match="without --benchmark_report_aggregates_only"):
        _google(tmp_path, mean)
    partly = _google(tmp_path, {"real_time": 5.0}, mean, {**mean, "run_name": "BM/9"})
    assert list(partly) == ["BM/8"]
    assert isinstance(partly, BenchmarkFile)
    assert list(partly.left_out) == ["BM/9"]


def test_skipped_benchmarks_are_no_measurements(tmp_path: Path) -> None:
    found = _google(
        tmp_path,
        {"real_time": 5.0},
        {"run_name": "BM/9", "skipped": True, "skip_message": "no GPU", "real_time": 0.0},
    )
    assert isinstance(found, BenchmarkFile)
    assert found.left_out == {"BM/9": "was skipped: no GPU"}


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "bench.json.gz"
    path.write_bytes(gzip.compress(json.dumps(PYPERF).encode()))
    assert looks_like_benchmarks(path)
    assert list(read_benchmarks(path)) == ["json"]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(BenchmarkFileError, match="cannot be unpacked"):
        read_benchmarks(path)


def test_files_without_a_common_benchmark_are_told_by_names() -> None:
    before = _bench(**{f"b{i}": [1.0, 2.0] for i in range(5)})
    with pytest.raises(ValueError, match=r"reference has b0, b1, b2 and 2 more; current has c$"):
        gate(before, _bench(c=[1.0, 2.0]))
    eight, four = (_bench(**{f"BenchmarkSort-{n}": [1.0, 2.0]}) for n in (8, 4))
    with pytest.raises(ValueError, match=r"GOMAXPROCS that Go appends \(-8 and -4\)"):
        gate(eight, four)
    some = gate({**eight, **before}, {**four, **before})
    assert any("GOMAXPROCS" in note for note in some.notes())


def test_a_mean_of_some_benchmarks_says_so() -> None:
    before = _bench(a=_times(1, 1.0), b=_times(2, 1.0))
    assert gate(before, before, margin="0.1s").mean_of() == "geometric mean"
    before["b"].values[0] = 0.0
    assert gate(before, before, margin="0.1s").mean_of() == "geometric mean of 1 of 2"


def test_twice_as_slow_can_be_the_margin() -> None:
    before = _bench(a=_times(1, 1.0))
    assert gate(before, _bench(a=_times(2, 1.9)), margin="100%").outcome == PASSED
    assert gate(before, _bench(a=_times(2, 2.2)), margin="100%").outcome == FAILED
    with pytest.raises(ValueError, match="no benchmark could fail"):
        gate(before, before, margin="100%", worse="lower")


NOISES: dict[str, Any] = {
    "normal": lambda rng, n: rng.normal(0.0, 0.05, n),
    "heavy tails": lambda rng, n: 0.03 * rng.standard_t(3, n),
    "skewed": lambda rng, n: rng.exponential(0.05, n),
}
"""The noise of the logarithms of times. The last is as skewed as an exponential."""


def _alarms(noise: str, sizes: tuple[int, int], trials: int, seed: int) -> tuple[int, int]:
    """Benchmarks worse by exactly the margin: count alarms at alpha/10, and passes."""
    rng = np.random.default_rng([seed, *sizes])
    alarms = passes = 0
    for _ in range(trials):
        before, after = (np.exp(NOISES[noise](rng, n)) for n in sizes)
        row = gate(_bench(a=before), _bench(a=1.05 * after), margin="5%", alpha=ALPHA).rows[0]
        # with ten benchmarks, Holm's correction fails a gate if one p-value is below alpha/10
        alarms += row.pvalue < ALPHA / TEN
        passes += row.verdict in ("same", "not worse", "better")
    return alarms, passes


ALPHA, TEN = 0.05, 10


@pytest.mark.parametrize("sizes", [(2, 60), (25, 4), (3, 3), (5, 10)])
@pytest.mark.parametrize("noise", ["normal", "skewed"])
def test_few_values_keep_the_promise_about_false_alarms(noise: str, sizes: tuple[int, int]) -> None:
    """A true change of exactly the margin: at most alpha/10 alarms and at most alpha passes."""
    trials = 400
    alarms, passes = _alarms(noise, sizes, trials, seed=20)
    # if the promise holds, chance exceeds these counts once in 10,000 tests
    assert alarms <= binom.ppf(1.0 - 1e-4, trials, ALPHA / TEN)
    assert passes <= binom.ppf(1.0 - 1e-4, trials, ALPHA)


@pytest.mark.parametrize("sizes", [(2, 60), (60, 2), (3, 20), (4, 9)])
def test_few_values_beside_many_raise_no_alarm(sizes: tuple[int, int]) -> None:
    before, after = (
        _bench(a=_times(n, center, n)) for n, center in zip(sizes, (1.0, 3.0), strict=True)
    )
    result = gate(before, after, margin="50%")
    assert result.outcome == INCONCLUSIVE
    assert f"too few values: {min(sizes)} beside {max(sizes)}" in result.rows[0].reason
    assert math.isnan(result.rows[0].pvalue)


@pytest.mark.parametrize("sizes", [(2, 60), (60, 2), (3, 20), (4, 9)])
def test_few_values_beside_many_pass_if_their_interval_is_inside_the_margin(
    sizes: tuple[int, int],
) -> None:
    before, after = (_bench(a=_times(n, 1.0, n)) for n in sizes)
    result = gate(before, after, margin="50%")
    assert result.outcome == PASSED
    (row,) = result.rows
    assert (row.verdict, row.levels) == ("same", (0.95, 0.95))
    assert row.reason == f"only {sizes[0]} and {sizes[1]} values: the interval is rough"
    better = gate(before, _bench(a=_times(3, 0.1, sizes[1])), margin="50%").rows[0]
    assert (better.verdict, better.cause) == ("not worse", "")


def test_few_values_are_judged_with_a_word_of_caution() -> None:
    result = gate(_bench(a=_times(1, 1.0, 5)), _bench(a=_times(2, 2.0, 5)), margin="5%")
    assert result.outcome == FAILED
    assert result.rows[0].reason == "only 5 and 5 values: the interval is rough"


def test_a_percentage_that_contradicts_the_values_decides_nothing() -> None:
    """Small values fell by half, which ψ hardly sees beside large ones, and these rose by 2."""
    rng = np.random.default_rng(0)
    sides = (
        np.r_[small * np.exp(0.1 * rng.normal(size=1100)), large + 0.5 * rng.normal(size=900)]
        for small, large in ((0.1, 10.0), (0.05, 12.0))
    )
    y, x = (_bench(b=rng.permutation(v).tolist()) for v in sides)
    (row,) = gate(y, x, margin="3%").rows
    assert row.verdict == "inconclusive"
    assert "opposite directions" in row.reason
    assert gate(y, x, margin="0.03s").outcome == "failed"


def test_senseless_options_are_refused() -> None:
    bench = _bench(a=[1.0, 2.0])
    with pytest.raises(ValueError, match="worse must be"):
        gate(bench, bench, worse="sideways")
    with pytest.raises(ValueError, match="alpha must lie"):
        gate(bench, bench, alpha=2.0)


def _table_of_false_alarms(trials: int = 20_000, seed: int = 20) -> None:
    """Print the table of docs/gate.md, with the gate's p-values from compiled rows."""
    sizes = [
        (3, 3),
        (3, 6),
        (5, 5),
        (5, 10),
        (5, 20),
        (5, 60),
        (10, 10),
        (10, 100),
        (20, 20),
        (60, 60),
    ]
    for each in sizes:
        shown = []
        for noise, draw in NOISES.items():
            rng = np.random.default_rng([seed, *each, len(noise)])
            before, after = (draw(rng, trials * n).reshape(trials, n) for n in each)
            delta = math.log1p(0.05)
            worse, fine = row_tails(after + delta, before, delta=delta)
            gain = math.log1p(-0.05)
            _, better = row_tails(after + gain, before, delta=gain)
            alarm, praise = (1.0 - (1.0 - np.mean(p < ALPHA / TEN)) ** TEN for p in (worse, better))
            shown.append(f"{alarm:.1%} / {np.mean(fine < ALPHA):.1%} / {praise:.1%}")
        print(f"| {each[0]}+{each[1]} | {' | '.join(shown)} |", flush=True)


def test_the_table_of_false_alarms_is_of_the_gates_own_pvalues() -> None:
    rng = np.random.default_rng(21)
    before, after = np.exp(0.1 * rng.normal(size=12)), 1.05 * np.exp(0.1 * rng.normal(size=9))
    found = gate(_bench(a=before), _bench(a=after), margin="5%")
    worse, _ = row_tails(np.log(after)[None], np.log(before)[None], delta=math.log1p(0.05))
    assert found.rows[0].pvalue == pytest.approx(worse[0], rel=1e-9)


@pytest.mark.parametrize(
    ("pvalues", "corrected"),
    [
        ([0.01, 0.02, 0.03], [0.03, 0.04, 0.04]),  # the last may not fall below the one before
        ([0.03, 0.01, 0.02], [0.04, 0.03, 0.04]),
        ([0.04, 0.001, 0.9, 0.6], [0.12, 0.004, 1.0, 1.0]),
        ([math.nan, 0.02, math.nan, 0.01], [math.nan, 0.02, math.nan, 0.02]),
        ([0.2], [0.2]),
        ([math.nan], [math.nan]),
    ],
)
def test_corrected_p_values_are_those_of_holm(pvalues: list[float], corrected: list[float]) -> None:
    assert holm(np.array(pvalues), 0.05).pvalues == pytest.approx(corrected, rel=1e-12, nan_ok=True)


def test_a_benchmark_does_not_overtake_a_clearer_one() -> None:
    """Three equal p-values among falling ones: order and correction are kept."""
    before = _bench(**{name: _times(i, 1.0) for i, name in enumerate("abc")})
    after = _bench(**{n: _times(9 + i, 1.05 + 0.001 * i) for i, n in enumerate("abc")})
    found = gate(before, after, margin="4.5%")
    raw = [found.evidence[row.name].pvalue for row in found.rows]
    order = np.argsort(raw)
    corrected = np.array([row.pvalue for row in found.rows])[order]
    assert np.all(np.diff(corrected) >= 0.0)
    assert corrected[0] == pytest.approx(3 * min(raw))
    assert np.all(corrected >= np.array(raw)[order])


def test_what_either_side_left_out_is_told() -> None:
    before = BenchmarkFile(_bench(a=_times(1, 1.0)))
    after = BenchmarkFile(_bench(a=_times(2, 1.0)))
    before.left_out, after.left_out = {"old": "holds text"}, {"new": "holds dates"}
    found = gate(before, after)
    assert found.left_out == {"old": "holds text", "new": "holds dates"}
    assert found.not_judged() == ["not judged: old holds text", "not judged: new holds dates"]


@pytest.mark.parametrize(("sizes", "told"), [((9, 18), True), ((18, 9), True), ((10, 20), False)])
def test_the_word_of_caution_goes_by_the_smaller_side(sizes: tuple[int, int], told: bool) -> None:
    found = gate(
        _bench(a=_times(1, 1.0, sizes[0])), _bench(a=_times(2, 1.0, sizes[1])), margin="9%"
    )
    caution = f"only {sizes[0]} and {sizes[1]} values: the interval is rough"
    assert (found.rows[0].reason == caution) == told


@pytest.mark.parametrize(
    ("count", "ending"),
    [(5, ": 0, 1, 2, 3, 4."), (6, ": 0, 1, 2, 3, 4, 5."), (7, ": 0, 1, 2, 3, 4 and 2 more.")],
)
def test_a_headline_names_five_and_counts_the_rest(count: int, ending: str) -> None:
    before = _bench(**{str(i): _times(i, 1.0) for i in range(count)})
    after = _bench(**{str(i): _times(50 + i, 1.5) for i in range(count)})
    assert gate(before, after).headline().endswith(ending)


if __name__ == "__main__":
    _table_of_false_alarms()


def test_what_pyperf_says_of_one_benchmark_goes_before_what_it_says_of_all() -> None:
    run = {"values": [1.0, 2.0]}
    own = {"metadata": {"name": "own", "unit": "byte"}, "runs": [run]}
    document = {
        "metadata": {"name": "common", "unit": "second"},
        "benchmarks": [own, {"runs": [run]}],
    }
    found = parse_benchmarks(json.dumps(document), "x.json")
    assert {name: measured.unit for name, measured in found.items()} == {"own": "B", "common": "s"}
