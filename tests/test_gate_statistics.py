"""The gate's statistics at its door: correlated rounds, counters, one value per run.

Every claim is made through ``dkmd gate`` or ``dkmd.gate`` on files as benchmark tools write them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom
from shell import here

from dkmd.answers.gate import FAILED, PASSED, Gate, gate, load_benchmarks, read_histories

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

Values = npt.NDArray[np.float64]
PASSES = ("same", "not worse", "better")


def _go(path: Path, **metrics: Sequence[float] | Values) -> Path:
    """A file of ``go test -bench . -count N``; ``Sort_B`` are the bytes of ``Sort``."""
    units = {"": "ns/op", "B": "B/op", "allocs": "allocs/op"}
    lines = ["goos: linux", "goarch: amd64", "pkg: example.com/m"]
    for name in dict.fromkeys(name.partition("_")[0] for name in metrics):
        own = {key: values for key, values in metrics.items() if key.partition("_")[0] == name}
        for row in zip(*own.values(), strict=True):
            told = "\t".join(
                f"{value:.9g} {units[key.partition('_')[2]]}"
                for key, value in zip(own, row, strict=True)
            )
            lines.append(f"Benchmark{name}-8\t 1000\t{told}")
    path.write_text("\n".join(lines) + "\nPASS\n")
    return path


def _rounds(rng: np.random.Generator, count: int, correlation: float, noise: float) -> Values:
    """The noise of rounds that follow each other: an autoregression of standard deviation noise."""
    found = rng.normal(size=count)
    for i in range(1, count):
        found[i] = correlation * found[i - 1] + np.sqrt(1.0 - correlation**2) * found[i]
    return noise * found


def _json(*words: str) -> Any:
    return json.loads(here("gate", *words, "--json", code=None).stdout)


# correlated rounds: go test -count N


@pytest.mark.parametrize("count", [24, 25])
@pytest.mark.parametrize("drifts", [0, 1])
def test_rounds_that_drift_on_one_side_are_cut_into_blocks_on_both(
    count: int, drifts: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(11)
    noise = [rng.normal(0.0, 0.01, count) for _ in range(2)]
    noise[drifts] = 0.02 * np.sin(np.arange(count) / 3.0)
    sides = [str(_go(tmp_path / f"{i}.txt", Sort=1e4 * np.exp(noise[i]))) for i in range(2)]
    done = here("gate", *sides, "--margin", "10%")
    assert "blocks of neighbours are compared" in " ".join(done.stdout.split())
    assert "only 4 and 4" in done.stdout
    assert "processes" not in done.stdout
    assert "too few" not in done.stdout


def _go_gate(folder: Path, rng: np.random.Generator, slower: float = 1.0, **asked: Any) -> Gate:
    """A gate of five benchmarks, 25 rounds each, whose neighbours are more or less alike."""
    files = [
        _go(
            folder / f"{side}.txt",
            **{f"B{i}": 1e4 * factor * np.exp(_rounds(rng, 25, 0.15 * i, 0.01)) for i in range(5)},
        )
        for side, factor in (("main", 1.0), ("branch", slower))
    ]
    return gate(*(load_benchmarks(str(file)) for file in files), **asked)


def test_gates_of_correlated_rounds_pass_and_never_find_too_few_inside_the_margin(
    tmp_path: Path,
) -> None:
    rng, times = np.random.default_rng(12), 60
    outcomes = []
    for _ in range(times):
        found = _go_gate(tmp_path, rng, margin="5%")
        outcomes.append(found.outcome)
        assert all(row.interval[1] >= 0.05 for row in found.rows if row.cause == "too few values")
    assert outcomes.count(PASSED) >= 0.9 * times
    assert outcomes.count(FAILED) == 0
    worse = [_go_gate(tmp_path, rng, slower=1.12, margin="5%").outcome for _ in range(times)]
    assert worse.count(FAILED) >= 0.9 * times
    assert worse.count(PASSED) == 0


def test_a_change_of_the_margin_in_correlated_rounds_keeps_both_promises(tmp_path: Path) -> None:
    """At the margin itself a gate may fail in alpha of the cases, and so may a benchmark pass."""
    rng, times = np.random.default_rng(13), 100
    found = [_go_gate(tmp_path, rng, slower=1.03, margin="3%") for _ in range(times)]
    fails = sum(each.outcome == FAILED for each in found)
    passes = sum(row.verdict in PASSES for each in found for row in each.rows)
    # docs/gate_runs.md: few correlated rounds keep rates of up to twice alpha
    assert fails <= binom.ppf(1.0 - 1e-4, times, 0.1)
    assert passes <= binom.ppf(1.0 - 1e-4, 5 * times, 0.1)


@pytest.mark.parametrize("count", [4, 8, 12, 25])
def test_quiet_go_files_of_any_count_pass(count: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    sides = [
        str(_go(tmp_path / f"{side}.txt", Sort=1e4 * np.exp(rng.normal(0.0, 0.01, size))))
        for side, size in (("main", count), ("branch", 25))
    ]
    assert _json(*sides, "--margin", "10%")["outcome"] == PASSED


# counters that never change, beside a history


def _counting_run(path: Path, rng: np.random.Generator, between: float, size: int = 2048) -> Path:
    """Times that vary, bytes and allocations that never do; one counter is 0."""
    metrics: dict[str, Sequence[float] | Values] = {}
    for i in range(3):
        level = np.log(1e4 * (i + 1)) + between * rng.normal()
        metrics[f"B{i}"] = np.exp(level + rng.normal(0.0, 0.01, 12))
        metrics[f"B{i}_B"] = [size * (i + 1.0)] * 12
        metrics[f"B{i}_allocs"] = [float(i)] * 12
    return _go(path, **metrics)


@pytest.fixture(params=[0.0, 0.047], ids=["quiet times", "times that differ from run to run"])
def counting(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Runs of the same code, twelve of them past, and one with more bytes."""
    rng = np.random.default_rng(1)  # with quiet times, noise explains how runs differ
    for i in range(12):
        _counting_run(tmp_path / f"past-{i:02}.txt", rng, request.param)
    for name in ("main", "branch"):
        _counting_run(tmp_path / f"{name}.txt", rng, request.param)
    _counting_run(tmp_path / "larger.txt", rng, request.param, size=2400)
    return tmp_path


def test_counters_that_never_change_are_compared_as_they_are_beside_a_history(
    counting: Path,
) -> None:
    past = ("--history", str(counting / "past-*.txt"), "--margin", "15%")
    main = str(counting / "main.txt")
    for current, verdict in (("branch", "same"), ("larger", "worse")):
        found = _json(main, str(counting / f"{current}.txt"), *past)
        rows = {row["name"]: row for row in found["benchmarks"]}
        for i in range(3):
            assert rows[f"BenchmarkB{i}-8 B/op"]["verdict"] == verdict
            assert rows[f"BenchmarkB{i}-8 allocs/op"]["verdict"] == "same"
            assert rows[f"BenchmarkB{i}-8 B/op"]["interval"] == [None, None]
            assert None not in rows[f"BenchmarkB{i}-8"]["interval"]
    told = " ".join(
        here("gate", main, str(counting / "branch.txt"), *past, code=None).stdout.split()
    )
    assert "nothing is known about changes from run to run" not in told


def test_counters_have_no_share_in_how_much_times_differ_from_run_to_run(counting: Path) -> None:
    """The same runs without the counters give the same intervals of the times."""
    times = counting / "times"
    times.mkdir()
    for file in counting.glob("*.txt"):
        lines = [line.split(" ns/op")[0] + " ns/op" for line in file.read_text().splitlines()]
        (times / file.name).write_text("\n".join(lines[3:-1]) + "\n")
    rows = [
        {
            row["name"]: row["interval"]
            for row in _json(
                str(folder / "main.txt"), str(folder / "branch.txt"), "--margin", "40%",
                "--history", str(folder / "past-*.txt"),
            )["benchmarks"]
        }
        for folder in (counting, times)
    ]  # fmt: skip
    for name, interval in rows[1].items():
        assert rows[0][name] == pytest.approx(interval, rel=1e-9)


def test_a_counter_that_never_changed_differs_by_nothing_from_run_to_run(counting: Path) -> None:
    done = here("history", "show", str(counting / "past-*.txt"), "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["benchmarks"]}
    for name, row in rows.items():
        if "/op" in name:
            assert (row["between"], row["too_noisy"]) == (0.0, False)
            assert row["detectable"] == pytest.approx(0.05)  # the margin


def test_a_counter_without_a_past_is_not_given_the_variance_of_times(counting: Path) -> None:
    for file in counting.glob("past-*.txt"):
        lines = [line.split(" ns/op")[0] + " ns/op" for line in file.read_text().splitlines()]
        file.write_text("\n".join(lines[3:-1]) + "\n")
    main, larger = str(counting / "main.txt"), str(counting / "larger.txt")
    found = _json(main, larger, "--margin", "15%", "--history", str(counting / "past-*.txt"))
    rows = {row["name"]: row["verdict"] for row in found["benchmarks"]}
    assert rows["BenchmarkB0-8 B/op"] == "worse"


def test_several_runs_of_a_counter_that_never_changes_are_compared_as_they_are(
    counting: Path,
) -> None:
    """The mean of equal levels may differ from them in its last digit."""
    found = _json(
        str(counting / "past-0[0-2].txt"), str(counting / "past-0[3-5].txt"), "--margin", "15%"
    )
    rows = {row["name"]: row for row in found["benchmarks"]}
    assert rows["BenchmarkB2-8 B/op"]["interval"] == [None, None]
    assert rows["BenchmarkB2-8 B/op"]["verdict"] == "same"


# one value per run: the default of google-benchmark and asv


def _google(
    folder: Path, name: str, rng: np.random.Generator, slower: float = 1.0, **asked: Any
) -> Path:
    """A run of google-benchmark; by default with one value, and a counter that never varies."""
    values, day = asked.get("values", 1), asked.get("day", 1)
    entries = []
    for i in range(5):
        level = np.log(100.0 * (i + 1) * slower) + 0.008 * rng.normal()
        for time in np.exp(level + 0.006 * rng.normal(size=values)):
            entries.append(
                {"name": f"BM_{i}", "run_name": f"BM_{i}", "run_type": "iteration",
                 "iterations": 1000, "real_time": time, "time_unit": "ns", "allocs_per_iter": 3.0}
            )  # fmt: skip
    context = {"date": f"2026-{1 + day // 28:02}-{1 + day % 28:02}T10:00:00+00:00"}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"context": context, "benchmarks": entries}))
    return path


def _past(folder: Path, rng: np.random.Generator, runs: int, **asked: Any) -> str:
    for i in range(runs):
        _google(folder, f"past-{i:02}", rng, day=i, **asked)
    return str(folder / "past-*.json")


def test_one_value_per_run_is_judged_by_a_history_of_ten_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(31)
    past = ("--history", _past(tmp_path, rng, 10), "--margin", "10%")
    main, same, slow = (
        str(_google(tmp_path, name, rng, factor, day=day))
        for name, factor, day in (("main", 1.0, 40), ("same", 1.0, 41), ("slow", 1.3, 42))
    )
    told = " ".join(here("gate", main, same, *past).stdout.split())
    assert told.count("judged by how much the runs of the history differ") == 1
    failed = _json(main, slow, *past)
    assert failed["outcome"] == FAILED
    rows = {row["name"]: row for row in failed["benchmarks"]}
    assert all(rows[f"BM_{i}"]["verdict"] == "worse" for i in range(5))
    assert all(rows[f"BM_{i} allocs_per_iter"]["verdict"] == "same" for i in range(5))
    assert rows["BM_2"]["interval"][0] < 0.3 < rows["BM_2"]["interval"][1]
    page = tmp_path / "page.html"
    here("gate", main, slow, *past, "--report", str(page), code=1)
    assert "BM_2" in page.read_text()


@pytest.mark.parametrize(("runs", "told"), [(0, ""), (9, ", which has 9 of it")])
def test_one_value_per_run_says_how_many_runs_it_needs(
    runs: int, told: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(32)
    main, branch = (str(_google(tmp_path, n, rng, day=d)) for n, d in (("m", 40), ("b", 41)))
    past = ("--history", _past(tmp_path, rng, runs)) if runs else ()
    found = _json(main, branch, *past)
    assert found["outcome"] == "inconclusive"
    assert {row["reason"] for row in found["benchmarks"]} == {
        "reference has one value: measure two or more, give 3 runs per side, or give a --history "
        f"of 10 runs{told}"
    }


def test_three_runs_of_one_value_per_side_are_judged(tmp_path: Path) -> None:
    rng = np.random.default_rng(33)
    for i in range(6):
        _google(tmp_path, f"{'main' if i < 3 else 'slow'}-{i}", rng, 1.0 if i < 3 else 2.0, day=i)
    sides = str(tmp_path / "main-*.json"), str(tmp_path / "slow-*.json")
    assert _json(*sides)["outcome"] == FAILED


def test_one_value_has_the_noise_that_single_values_have_in_the_history(tmp_path: Path) -> None:
    """Means of forty values vary less from run to run than one value does."""
    rng = np.random.default_rng(34)
    many = _past(tmp_path, rng, 12, values=40)
    main, branch = (str(_google(tmp_path, n, rng, day=d)) for n, d in (("m", 40), ("b", 41)))
    (tmp_path / "single").mkdir()
    single = _past(tmp_path / "single", rng, 12)
    widths = []
    for past in (many, single):
        rows = _json(main, branch, "--history", past, "--margin", "10%")["benchmarks"]
        intervals = [row["interval"] for row in rows if "allocs" not in row["name"]]
        widths.append(np.mean([high - low for low, high in intervals]))
    assert widths[0] == pytest.approx(widths[1], rel=0.35)  # both estimate the same noise


def test_margins_in_units_fit_one_value_and_margins_in_sd_do_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(35)
    past = ("--history", _past(tmp_path, rng, 10))
    main, slow = (
        str(_google(tmp_path, name, rng, factor, day=day))
        for name, factor, day in (("main", 1.0, 40), ("slow", 1.3, 41))
    )
    rows = _json(main, slow, *past, "--margin", "0.1sd")["benchmarks"]
    times = [row for row in rows if "allocs" not in row["name"]]
    assert {row["verdict"] for row in times} == {"inconclusive"}
    assert all("one value has no sd" in row["reason"] for row in times)
    rules = tmp_path / "rules.toml"
    rules.write_text('margin = "10%"\n[benchmarks]\n"BM_?" = {margin = "5ns"}\n')
    in_units = _json(main, slow, *past, "--config", str(rules))["benchmarks"]
    assert {row["verdict"] for row in in_units if "allocs" not in row["name"]} == {"worse"}


def test_a_counter_of_zero_with_one_value_needs_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(36)
    files = [_google(tmp_path, f"run-{i:02}", rng, day=i) for i in range(12)]
    for file in files:
        file.write_text(file.read_text().replace('"allocs_per_iter": 3.0', '"allocs_per_iter": 0'))
    asked = ("--history", str(tmp_path / "run-*.json"), "--margin", "10%")
    rows = _json(str(files[0]), str(files[1]), *asked)["benchmarks"]
    reasons = {row["reason"] for row in rows if "allocs" in row["name"]}
    assert reasons == {
        "reference has one value: measure two or more, or give 3 runs per side (a history keeps "
        "positive values only)"
    }
    sides = str(tmp_path / "run-0[0-2].json"), str(tmp_path / "run-0[3-5].json")
    rows = _json(*sides, *asked)["benchmarks"]
    assert {row["verdict"] for row in rows if "allocs" in row["name"]} == {"same"}


def test_asv_files_of_one_value_are_judged_by_their_history(tmp_path: Path) -> None:
    rng = np.random.default_rng(37)

    def result(name: str, slower: float = 1.0) -> str:
        times = {
            f"suite.time_{i}": [[slower * (i + 1) * float(np.exp(0.01 * rng.normal()))], []]
            for i in range(4)
        }
        document = {"commit_hash": name, "result_columns": ["result", "params"], "results": times}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        return str(tmp_path / f"{name}.json")

    for i in range(10):
        result(f"past-{i}")
    past = ("--history", str(tmp_path / "past-*.json"), "--margin", "10%")
    main = result("main")
    assert _json(main, result("same"), *past)["outcome"] == PASSED
    assert _json(main, result("slow", 1.3), *past)["outcome"] == FAILED
    alone = _json(main, result("other"), "--margin", "10%")["benchmarks"][0]["reason"]
    assert "give 3 runs per side, or give a --history of 10 runs; " in alone
    assert alone.endswith("use asv run --record-samples")


def test_gates_of_one_value_per_run_keep_their_promises(tmp_path: Path) -> None:
    """Unchanged code passes, the margin itself seldom passes or fails, and 35% more fails."""
    rng, times = np.random.default_rng(38), 60
    outcomes: dict[float, list[Gate]] = {1.0: [], 1.1: [], 1.35: []}
    for _ in range(times):
        history = read_histories([_past(tmp_path, rng, 10)])
        for slower, gates in outcomes.items():
            sides = [
                load_benchmarks(str(_google(tmp_path, name, rng, factor, day=day)))
                for name, factor, day in (("main", 1.0, 40), ("branch", slower, 41))
            ]
            gates.append(gate(*sides, margin="10%", history=history))
    found = {slower: [each.outcome for each in gates] for slower, gates in outcomes.items()}
    assert found[1.0].count(FAILED) == 0
    assert found[1.0].count(PASSED) >= 0.9 * times
    assert found[1.35].count(FAILED) == times
    # if the promise holds, chance exceeds these counts once in 10,000 tests
    assert found[1.1].count(FAILED) <= binom.ppf(1.0 - 1e-4, times, 0.05)
    rows = [row for each in outcomes[1.1] for row in each.rows if "allocs" not in row.name]
    passes = sum(row.verdict in PASSES for row in rows)
    assert passes <= binom.ppf(1.0 - 1e-4, len(rows), 0.05)


def test_one_process_per_run_is_judged_by_a_history_of_ten_runs(tmp_path: Path) -> None:
    """Ten values of one process say nothing about the next process; past runs do."""
    rng = np.random.default_rng(39)

    def pyperf(name: str, day: int, slower: float = 1.0) -> str:
        benchmarks = []
        for i in range(4):
            level = np.log(slower * (i + 1)) + 0.01 * rng.normal()
            values = np.exp(level + 0.002 * rng.normal(size=10)).tolist()
            date = f"2026-01-{day:02} 10:00:00"
            benchmarks.append(
                {
                    "metadata": {"name": f"b{i}"},
                    "runs": [{"values": values, "metadata": {"date": date}}],
                }
            )
        document = {"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        return str(tmp_path / f"{name}.json")

    for i in range(10):
        pyperf(f"past-{i}", 1 + i)
    past = ("--history", str(tmp_path / "past-*.json"))
    main, same, slow = pyperf("main", 20), pyperf("same", 21), pyperf("slow", 22, 1.3)
    alone = _json(main, same, "--margin", "10%")
    assert alone["outcome"] == "inconclusive"
    assert "come from one process: measure in two or more" in alone["benchmarks"][0]["reason"]
    assert _json(main, same, "--margin", "10%", *past)["outcome"] == PASSED
    found = _json(main, slow, "--margin", "10%", *past)
    assert [row["verdict"] for row in found["benchmarks"]] == ["worse"] * 4
    assert all(row["interval"][0] < 0.3 < row["interval"][1] for row in found["benchmarks"])
