"""What the gate makes of its files: directions of counters, constants, and files it cannot read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell import Done, here

from dkmd.answers.gate import gate
from dkmd.sources.files.benchmarks import Measurements

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

NOISE = np.random.default_rng(7).normal(1.0, 0.002, 400).tolist()


def _google(path: Path, repetitions: int = 15, **counters: Any) -> str:
    """A file of google-benchmark: numbers get noise, and numbers in a list stay as they are."""
    noise = iter(NOISE)
    entries = []
    for i in range(repetitions):
        entry = {"run_name": "BM", "run_type": "iteration", "repetition_index": i}
        entry |= {"iterations": 100, "time_unit": "ns", "real_time": 100.0 * next(noise)}
        for name, value in counters.items():
            entry[name] = value[0] if isinstance(value, list) else value * next(noise)
        entries.append(entry)
    path.write_text(json.dumps({"context": {}, "benchmarks": entries}))
    return str(path)


def _gate(folder: Path, before: Any, after: Any, *words: str, code: int | None = None) -> Done:
    files = _google(folder / "a.json", **before), _google(folder / "b.json", **after)
    return here("gate", *files, *words, code=code)


def _rows(done: Done) -> dict[str, Any]:
    return {row["name"].removeprefix("BM").strip(): row for row in _json(done)["benchmarks"]}


def _json(done: Done) -> Any:
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "name",
    ["FOM: GB/s", "rate (items/s)", "read throughput", "rows_per_second", "gasPerSecond", "qps"],
)
def test_a_throughput_that_falls_fails_the_gate(tmp_path: Path, name: str) -> None:
    done = _gate(tmp_path, {name: 100.0}, {name: 60.0}, "--json", code=1)
    assert (_rows(done)[name]["verdict"], _rows(done)[name]["better"]) == ("worse", "higher")
    done = _gate(tmp_path, {name: 60.0}, {name: 100.0}, "--json", code=0)
    assert _rows(done)[name]["verdict"] == "better"


@pytest.mark.parametrize(
    "name",
    ["FOM: rate", "miss_rate", "error rate", "errors_per_second", "cache hits", "GFLOPS", "score"],
)
def test_a_counter_without_a_certain_direction_is_shown_and_not_judged(
    tmp_path: Path, name: str
) -> None:
    for before, after in ((100.0, 60.0), (60.0, 100.0)):
        done = _gate(tmp_path, {name: before}, {name: after}, "--json", code=0)
        row = _rows(done)[name]
        assert (row["verdict"], row["better"]) == ("not judged", "unknown")
        assert row["centers"] == pytest.approx([before, after], rel=0.01)
    told = _gate(tmp_path, {name: 100.0}, {name: 60.0}, "--quiet", code=0)
    assert "none of 1 worse" in told.stdout
    assert f"not judged: BM {name}: it is not known whether higher or lower" in told.stderr


def test_better_decides_for_a_counter_a_unit_a_benchmark_and_a_pattern(tmp_path: Path) -> None:
    fell = {"FOM: rate": 5.0, "GB/s": 9.0}, {"FOM: rate": 3.0, "GB/s": 6.0}
    for name in ("FOM: rate", "BM FOM: rate", "*rate"):
        up = _gate(tmp_path, *fell, "--json", "--better", f"{name}=higher", code=1)
        assert _rows(up)["FOM: rate"]["verdict"] == "worse"
        down = _gate(tmp_path, *fell, "--json", "--better", f"{name}=lower", code=1)
        assert _rows(down)["FOM: rate"]["verdict"] == "better"
    both = ("--better", "FOM: rate=lower", "--better", "GB/s=lower")
    done = _gate(tmp_path, *fell, "--json", *both, code=0)
    assert {row["better"] for row in _rows(done).values()} == {"lower"}
    over = _gate(tmp_path, *fell, "--json", "--worse", "higher", "--better", "GB/s=higher", code=1)
    assert _rows(over)["GB/s"]["verdict"] == "worse"
    assert _rows(over)["FOM: rate"]["verdict"] == "better"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("FOM: rat=higher", "'FOM: rat'; did you mean 'FOM: rate'?"),
        ("zzz=higher", "no benchmark, counter or unit is called 'zzz'"),
        ("FOM: rate", "--better must be NAME=higher or NAME=lower, got 'FOM: rate'"),
        ("FOM: rate=up", "--better must be NAME=higher or NAME=lower, got 'FOM: rate=up'"),
    ],
)
def test_a_direction_of_nothing_is_an_error(tmp_path: Path, given: str, told: str) -> None:
    counters = {"FOM: rate": 5.0}
    assert told in _gate(tmp_path, counters, counters, "--better", given, code=2).stderr


def test_a_gate_that_can_judge_nothing_does_not_pass() -> None:
    side = {"hits": Measurements("hits", [1.0, 2.0, 3.0], [0, 1, 2])}
    with pytest.raises(ValueError, match="nothing can be judged: hits: it is not known whether"):
        gate(side, side)
    assert gate(side, side, better={"hits": "higher"}, margin="0%").rows[0].better == "higher"
    with pytest.raises(ValueError, match="better of hits must be 'higher' or 'lower', got 'up'"):
        gate(side, side, better={"hits": "up"})


def test_a_constant_that_changed_is_named_and_fails_only_if_its_direction_is_known(
    tmp_path: Path,
) -> None:
    same = _gate(tmp_path, {"MB": [24]}, {"MB": [24]}, "--json", code=0)
    assert _rows(same)["MB"]["verdict"] == "same"
    size = _gate(tmp_path, {"MB": [24]}, {"MB": [48]}, "--json", code=0)
    assert _rows(size)["MB"]["verdict"] == "not judged"
    assert "never varies and changed from 24 to 48" in _rows(size)["MB"]["reason"]
    allocs = "allocs_per_iter"
    more = _gate(tmp_path, {allocs: [2]}, {allocs: [3]}, "--json", code=1)
    assert _rows(more)[allocs]["verdict"] == "worse"
    assert "changed from 2 to 3" in _rows(more)[allocs]["reason"]
    first = _gate(tmp_path, {allocs: [0]}, {allocs: [1]}, "--json", code=1)
    assert _rows(first)[allocs]["verdict"] == "worse"


def test_constants_take_no_part_in_what_runs_say_about_other_benchmarks(tmp_path: Path) -> None:
    """Each side has three runs of two constants and a time. A constant that changed is seen."""

    def runs(side: str, level: float, allocs: int) -> str:
        for i in range(3):
            factor = level * (1.0, 1.03, 0.98)[i]
            counters: dict[str, Any] = {"cpu_time": factor, "MB": [24], "allocs_per_iter": [allocs]}
            _google(tmp_path / f"{side}{i}.json", **counters)
        return str(tmp_path / f"{side}?.json")

    rows = _rows(here("gate", runs("m", 50.0, 1000), runs("b", 50.0, 1060), "--json", code=1))
    assert {name: row["verdict"] for name, row in rows.items() if name != "cpu_time"} == {
        "": "same",
        "MB": "same",
        "allocs_per_iter": "worse",
    }
    assert rows["allocs_per_iter"]["between"] is None


@pytest.mark.parametrize(
    ("column", "code"),
    [("throughput", 1), ("gb_s", 1), ("hit_rate", 2), ("accuracy", 2), ("latency", 0), ("x", 0)],
)
def test_the_name_of_a_column_says_its_direction(tmp_path: Path, column: str, code: int) -> None:
    for name, level in (("a", 100.0), ("b", 60.0)):
        values = [str(level * noise) for noise in NOISE[:20]]
        (tmp_path / f"{name}.csv").write_text("\n".join([column, *values]) + "\n")
    files = str(tmp_path / "a.csv"), str(tmp_path / "b.csv")
    here("gate", *files, code=code)
    here("gate", *files, "--better", f"{column}=higher", code=1)
    here("gate", *files, "--better", f"{column}=lower", code=0)


CARGO = """running 2 tests
test bench_fib_10 ... bench:         135 ns/iter (+/- 24)
test bench_fib_20 ... bench:      18,149 ns/iter (+/- 755)

test result: ok. 0 passed; 0 failed; 0 ignored; 2 measured; 0 filtered out
"""
CRITERION = """fib 10                  time:   [135.70 ns 136.14 ns 136.65 ns]
Found 3 outliers among 100 measurements (3.00%)
"""
CATCH2 = """benchmark name                       samples       iterations    est run time
                                     mean          low mean      high mean
-------------------------------------------------------------------------------
Fibonacci 10                                   100         71184    7.1184 ms
                                              1 ns          1 ns          1 ns
"""
ACTION = json.dumps([
    {"name": "sort", "unit": "ns", "value": 135.0},
    {"name": "parse", "unit": "MB/s", "value": 18.0},
])  # fmt: skip
CUSTOM = json.dumps({"sort": 1.25, "parse": 3.5})
BENCHER = json.dumps({"sort": {"latency": {"value": 88.0}}})
HYPERFINE = "command,mean,stddev\nsort,0.2,0.01\nparse,0.3,0.02\n"


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.txt", CARGO, "row 1: 'running 2 tests' is not a number"),
        ("a.txt", CRITERION, "row 1: 'fib 10"),
        ("a", CATCH2, "row 1: 'benchmark name"),
        ("a.txt", "1.5\n1.6\n1.7\nPASS\n", "row 4: 'PASS' is not a number"),
        ("a.json", ACTION, "column 'name' names benchmarks"),
        ("a.jsonl", '{"host": "x", "ms": 1}\n{"host": "y", "ms": 2}\n', "'host' holds no numbers"),
        ("a.json", CUSTOM, "not a benchmark file that dkmd knows"),
        ("a.json", BENCHER, "not a benchmark file that dkmd knows"),
        ("a.csv", HYPERFINE, "column 'command' names benchmarks"),
    ],
)
def test_a_file_that_is_not_known_is_an_error_that_nothing_passes(
    tmp_path: Path, name: str, content: str, found: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    done = here("gate", str(path), str(path), "--inconclusive", "pass", code=2)
    assert found in done.stderr
    assert "hyperfine, pyperf" in done.stderr


def test_an_unknown_file_is_a_table_if_its_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    named = [{"name": n, "value": v} for n in ("sort", "parse") for v in NOISE[:12]]
    path.write_text(json.dumps(named))
    done = here("gate", str(path), str(path), "--by", "name", "-c", "value", "--json", code=0)
    assert [row["name"] for row in _json(done)["benchmarks"]] == ["parse", "sort"]
    done = here("gate", str(path), str(path), "-c", "value", "--json", code=0)
    assert [row["sizes"] for row in _json(done)["benchmarks"]] == [[24, 24]]


@pytest.mark.parametrize(
    ("name", "line", "head"),
    [("a.txt", "{}", ""), ("a.csv", "{}", "wall\n"), ("a.ndjson", '{{"wall": {}}}', "")],
)
def test_files_of_numbers_alone_are_samples(
    tmp_path: Path, name: str, line: str, head: str
) -> None:
    path = tmp_path / name
    path.write_text(head + "".join(line.format(v) + "\n" for v in NOISE[:20]))
    here("gate", str(path), str(path), code=0)


@pytest.mark.parametrize("cell", ["crash", "1.2.3"])
def test_inconclusive_pass_does_not_cover_a_column_that_was_not_read(
    tmp_path: Path, cell: str
) -> None:
    def table(name: str, last: str) -> str:
        rows = [f"{v},{v}" for v in NOISE[:20]] + [f"1.0,{last}"]
        (tmp_path / name).write_text("\n".join(["wall,cpu", *rows]) + "\n")
        return str(tmp_path / name)

    files = table("a.csv", "1.0"), table("b.csv", cell)
    done = here("gate", *files, "--inconclusive", "pass", code=3)
    assert repr(cell) in " ".join(done.stdout.split())
    words = table("c.csv", "1.0")
    Path(words).write_text("wall,cpu\n" + "".join(f"{v},slow\n" for v in NOISE[:20]))
    here("gate", files[0], words, "--inconclusive", "pass", code=3)
    here("gate", files[0], words, "-c", "wall", code=0)


def test_a_benchmark_that_disappeared_follows_missing_and_not_inconclusive(tmp_path: Path) -> None:
    def build(name: str, **second: Any) -> str:
        path = Path(_google(tmp_path / name))
        document = json.loads(path.read_text())
        entry = document["benchmarks"][0] | {"run_name": "BM_gpu"}
        if second:
            document["benchmarks"].append(entry | second)
        else:
            document["benchmarks"] += [entry | {"real_time": v} for v in NOISE[:15]]
        path.write_text(json.dumps(document))
        return str(path)

    before = build("a.json")
    after = build("b.json", skipped=True, skip_message="no GPU")
    for chosen in ("pass", "fail", "3"):
        done = here("gate", before, after, "--inconclusive", chosen, code=0)
        assert "1 missing" in done.stdout
        assert "not judged: BM_gpu was skipped: no GPU" in " ".join(done.stdout.split())
        here("gate", before, after, "--inconclusive", chosen, "--missing", "fail", code=1)
    only_a_mean = build("c.json", run_type="aggregate", aggregate_name="mean")
    done = here("gate", before, only_a_mean, "--inconclusive", "pass", code=3)
    assert "BM_gpu: in current it has only aggregates" in " ".join(done.stdout.split())
    crashed = build("f.json", error_occurred=True, error_message="out of memory")
    done = here("gate", before, crashed, "--inconclusive", "pass", code=3)
    assert "BM_gpu: in current it failed: out of memory" in " ".join(done.stdout.split())
    emptied = tmp_path / "d.json"
    full = {"results": [{"command": c, "times": NOISE[:15]} for c in ("x", "y")]}
    emptied.write_text(json.dumps(full))
    full["results"][1]["times"] = []
    (tmp_path / "e.json").write_text(json.dumps(full))
    files = str(emptied), str(tmp_path / "e.json")
    here("gate", *files, "--missing", "fail", "--inconclusive", "pass", code=1)


def _go(path: Path, *parts: tuple[str, str], factor: float = 1.0) -> str:
    """A file of Go: lines "pkg: …" as they are given, each with twelve lines of a benchmark."""
    text = ""
    for package, benchmark in parts:
        text += package
        text += "".join(f"{benchmark} 10 {factor * 100.0 * v} ns/op\n" for v in NOISE[:12])
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("empty", ["pkg:\n", "pkg: \n", "pkg: \r\n", ""])
def test_an_empty_package_of_go_neither_renames_nor_loses_a_benchmark(
    tmp_path: Path, empty: str
) -> None:
    named = _go(tmp_path / "a.txt", ("pkg: example.com/x\n", "BenchmarkA-8"), ("", "BenchmarkB-8"))
    for first, second in ((empty, "pkg: example.com/x\n"), ("pkg:\texample.com/x\n", empty)):
        parts = (first, "BenchmarkA-8"), (second, "BenchmarkB-8")
        other = _go(tmp_path / "b.txt", *parts, factor=1.5)
        for files in ((named, other), (other, named)):
            done = here("gate", *files, "--json", code=None)
            assert [row["name"] for row in _json(done)["benchmarks"]] == [
                "BenchmarkA-8",
                "BenchmarkB-8",
            ]
            assert (_json(done)["missing"], _json(done)["new"]) == ([], [])
        assert done.code == 0


def test_units_of_go_are_judged_without_a_time(tmp_path: Path) -> None:
    for name, rate in (("a.txt", 500.0), ("b.txt", 300.0)):
        lines = [f"BenchmarkServe-8 1 {rate * v} req/s {0.9 * v} hits" for v in NOISE[:12]]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    done = here("gate", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--json", code=1)
    assert {row["name"]: row["verdict"] for row in _json(done)["benchmarks"]} == {
        "BenchmarkServe-8 req/s": "worse",
        "BenchmarkServe-8 hits": "not judged",
    }
    assert _json(done)["left_out"] == {}
    assert "ns/op" not in done.stderr


def test_a_report_of_benchmark_dotnet_with_a_mean_alone_says_what_is_missing(
    tmp_path: Path,
) -> None:
    def report(name: str, mean: float, **more: float) -> str:
        statistics = {"N": 15, "Mean": mean, **more}
        entry = {"FullName": "Sort.Quick", "Statistics": statistics}
        (tmp_path / name).write_text(json.dumps({"Benchmarks": [entry]}))
        return str(tmp_path / name)

    files = report("a.json", 810.0), report("b.json", 910.0, StandardDeviation=3.0)
    told = " ".join(here("gate", *files, code=3).stdout.split())
    assert "the report has N and Mean, but no single values" in told
    assert "--exporters json" in told
    for i, noise in enumerate(NOISE[:8]):
        report(f"main{i}.json", 810.0 * noise)
        report(f"branch{i}.json", 910.0 * noise, StandardDeviation=3.0)
    several = str(tmp_path / "main*.json"), str(tmp_path / "branch*.json")
    done = here("gate", *several, "--json", code=1)
    assert _json(done)["benchmarks"][0]["centers"] == pytest.approx([810.0, 910.0], rel=0.01)
