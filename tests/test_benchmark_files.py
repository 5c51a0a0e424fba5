"""Benchmark files of every known tool: what is read, what is refused, and any damage in between.

The files in ``bench_files`` have the shapes that the tools' documentation and sources give. Their
numbers are made up.
"""

from __future__ import annotations

import copy
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dkmd.answers.gate import INCONCLUSIVE, gate, load_benchmarks
from dkmd.base.errors import BenchmarkFileError, DkmdError
from dkmd.sources.files.benchmarks import (
    BenchmarkFile,
    Measurements,
    better_of,
    looks_like_benchmarks,
    parse_benchmarks,
    read_benchmarks,
    reading,
)

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

FOLDER = Path(__file__).parent / "bench_files"
GOOD = ("better", "same", "not worse")
FILES = sorted(path.name for path in FOLDER.iterdir())


def _read(name: str) -> BenchmarkFile:
    return read_benchmarks(FOLDER / name)


def _parse(document: Any) -> BenchmarkFile:
    text = document if isinstance(document, str) else json.dumps(document)
    return parse_benchmarks(text, "x.json")


class Expected(NamedTuple):
    """What is known of one benchmark of a file."""

    file: str
    name: str
    unit: str
    better: str
    first: float
    size: int
    processes: int


SORT = "org.example.Sort.quick(size=100, kind=random)"
EXPECTED = [
    Expected("hyperfine.json", "sort words.txt", "s", "lower", 0.202526, 6, 6),
    Expected("pyperf.json", "json_loads", "s", "lower", 2.5174672e-05, 9, 3),
    Expected("pyperf.json", "peak", "B", "lower", 7340032.0, 4, 2),
    Expected(
        "pytest_benchmark.json",
        "tests/test_sort.py::test_sort[10]", "s", "lower", 0.000100619, 6, 6,
    ),
    Expected("google_benchmark.json", "BM_copy/1024", "ns", "lower", 100.097, 3, 3),
    Expected("google_benchmark.json", "BM_copy/1024 cpu_time", "ns", "lower", 98.095, 3, 3),
    Expected(
        "google_benchmark.json", "BM_copy/1024 bytes_per_second", "B/s", "higher", 10230076825, 3, 3
    ),
    Expected(
        "google_benchmark.json", "BM_copy/1024 items_per_second", "items/s", "higher", 9990309, 3, 3
    ),
    Expected("google_benchmark.json", "BM_copy/1024 frames_per_second", "1/s", "higher", 60, 3, 3),
    Expected("google_benchmark.json", "BM_copy/1024 cache_misses", "", "unknown", 12.5, 3, 3),
    Expected("google_benchmark.json", "BM_copy/1024 max_bytes_used", "B", "lower", 4096, 3, 3),
    Expected("go_test.txt", "BenchmarkSort-8", "ns", "lower", 104210.0, 3, 3),
    Expected("go_test.txt", "BenchmarkSort-8 MB/s", "MB/s", "higher", 98.27, 3, 3),
    Expected("go_test.txt", "BenchmarkSort-8 B/op", "B/op", "lower", 1024.0, 3, 3),
    Expected("go_test.txt", "BenchmarkSort-8 allocs/op", "allocs/op", "lower", 2.0, 3, 3),
    Expected("go_test.txt", "BenchmarkCache/size=64-8 hits", "hits", "higher", 0.931, 3, 3),
    Expected("jmh.json", SORT, "us", "lower", 11.961645, 12, 3),
    Expected("jmh.json", f"{SORT} gc.alloc.rate.norm", "B/op", "lower", 1040.00137, 12, 3),
    Expected("jmh.json", f"{SORT} comparisons", "#", "unknown", 612.0, 12, 3),
    Expected("jmh.json", "org.example.Queue.offer", "ops/s", "higher", 2487372.255997, 12, 3),
    Expected("jmh.json", "org.example.Http.get", "ms", "lower", 1.19, 4, 2),  # (90+18+11)/100
    Expected("criterion.json", "parse/small", "ns", "lower", 5719.6 / 110, 10, 10),
    Expected(
        "benchmark_dotnet_full.json",
        "Example.Sort.Quick(Size: 100)", "ns", "lower", 814.384514, 15, 3,
    ),
    Expected(
        "benchmark_dotnet_full.json",
        "Example.Sort.Merge(Size: 100)", "ns", "lower", 996.267297, 5, 5,
    ),
    Expected(
        "benchmark_dotnet_full.json",
        "Example.Sort.Quick(Size: 100) allocated", "B", "lower", 424.0, 1, 1,
    ),
    Expected(
        "benchmark_dotnet_brief.json",
        "Example.Sort.Quick(Size: 100)", "ns", "lower", 797.459776, 15, 15,
    ),
    Expected("k6_points.json", "http_req_duration", "ms", "lower", 39.427, 6, 4),
    Expected("k6_points.json", "http_req_duration post", "ms", "lower", 39.782, 6, 4),
    Expected("k6_points.json", "http_req_succeeded", "share", "higher", 1.0, 4, 4),
    Expected("k6_points.json", "checks", "share", "higher", 1.0, 4, 4),
    Expected("k6_summary_export.json", "http_req_duration med", "ms", "lower", 42.0, 1, 1),
    Expected("k6_summary_export.json", "http_req_duration p(95)", "ms", "lower", 50.5, 1, 1),
    Expected("k6_summary_export.json", "queue_length med", "", "unknown", 3.0, 1, 1),
    Expected("k6_handle_summary.json", "http_req_duration p(99)", "ms", "lower", 54.0, 1, 1),
    Expected("k6_handle_summary.json", "http_req_succeeded", "share", "higher", 0.75, 1, 1),
    Expected("asv_2.json", "bench.Suite.time_sort(10, 'quick')", "s", "lower", 1.2075526e-05, 5, 5),
    Expected("asv_2.json", "bench.Suite.time_sort(10, 'merge')", "s", "lower", 2.31452974e-4, 5, 5),
    Expected("asv_2.json", "bench.Suite.peakmem_sort", "B", "lower", 52428800.0, 1, 1),
    Expected("asv_2.json", "bench.track_score", "", "unknown", 0.93, 1, 1),
    Expected("asv_1.json", "bench.Suite.time_sort(100)", "s", "lower", 0.000232079977, 5, 5),
    Expected("asv_1.json", "bench.time_plain", "s", "lower", 0.0025, 1, 1),
    Expected("asv_1.json", "bench.mem_list", "B", "lower", 816.0, 1, 1),
    Expected("perf_stat.csv", "task-clock:u", "ms", "lower", 120.39, 4, 4),
    Expected("perf_stat.csv", "instructions:u", "", "lower", 1000123.0, 4, 4),
    Expected("perf_stat_r.csv", "task-clock:u", "ms", "lower", 120.31, 1, 1),
    Expected("perf_stat_per_core.csv", "S0-D0-C0 cycles", "", "lower", 4000123.0, 2, 2),
]  # fmt: skip


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda e: f"{e.file}-{e.name}")
def test_every_benchmark_has_its_unit_direction_values_and_processes(expected: Expected) -> None:
    measured = _read(expected.file)[expected.name]
    assert (measured.unit, measured.better) == (expected.unit, expected.better)
    assert measured.values[0] == pytest.approx(expected.first, rel=1e-12)
    assert len(measured.values) == len(measured.groups) == expected.size
    assert len(set(measured.groups)) == expected.processes


@pytest.mark.parametrize("name", FILES)
def test_every_example_is_recognised_and_expected(name: str) -> None:
    assert looks_like_benchmarks(FOLDER / name)
    assert load_benchmarks(str(FOLDER / name)) == _read(name)
    assert any(expected.file == name for expected in EXPECTED)


@pytest.mark.parametrize(
    ("unit", "better"),
    [
        ("ops/s", "higher"), ("ops/ms", "higher"), ("MB/s", "higher"), ("MB/sec", "higher"),
        ("req / s", "higher"), ("items/s", "higher"), ("1/s", "higher"), ("ns", "lower"),
        ("ms/op", "lower"), ("B/op", "lower"), ("", "lower"), ("s/file", "lower"),
    ],
)  # fmt: skip
def test_amounts_per_time_are_better_when_higher(unit: str, better: str) -> None:
    assert better_of(unit) == Measurements(unit).better == better
    assert Measurements(unit, better="higher").better == "higher"


def test_a_throughput_that_falls_is_worse_and_one_that_rises_is_not() -> None:
    def build(rate: float, time: float) -> dict[str, Measurements]:
        noise = [1.0 + 0.001 * (i % 5) for i in range(20)]
        return {
            "rate": Measurements("ops/s", [rate * v for v in noise], list(range(20))),
            "time": Measurements("ms", [time * v for v in noise], list(range(20))),
        }

    fine = gate(build(100.0, 10.0), build(120.0, 8.0))
    assert all(row.verdict in GOOD for row in fine.rows)
    assert [row.better for row in fine.rows] == ["higher", "lower"]
    bad = gate(build(100.0, 10.0), build(80.0, 12.0))
    assert [row.verdict for row in bad.rows] == ["worse", "worse"]
    given = gate(build(100.0, 10.0), build(80.0, 12.0), worse="higher")
    assert given.rows[0].verdict in GOOD
    assert given.rows[1].verdict == "worse"
    assert given.worse == "higher"
    assert bad.worse is None


def test_a_mean_covers_one_direction_and_no_by_products() -> None:
    found = {name: _repeated(measured, 4) for name, measured in _read("go_test.txt").items()}
    twice = {name: _scaled(m, 2.0 if m.unit == "B/op" else 1.0) for name, m in found.items()}
    result = gate(found, twice, margin="5%")
    assert result.geometric_mean == pytest.approx(1.0)
    assert result.covered == 2  # the times of two benchmarks
    assert [row.name for row in result.rows if row.verdict == "worse"] == ["BenchmarkSort-8 B/op"]


def _repeated(measured: Measurements, times: int) -> Measurements:
    """As many rounds as a gate needs: of three values, no order is clear at 5%."""
    other = copy.deepcopy(measured)
    other.values = other.values * times
    other.groups = [*range(len(other.values))]
    return other


def _scaled(measured: Measurements, factor: float) -> Measurements:
    other = copy.deepcopy(measured)
    other.values = [factor * value for value in other.values]
    return other


@pytest.mark.parametrize(
    ("file", "advice"),
    [
        ("k6_summary_export.json", "run k6 with --out json=FILE"),
        ("k6_handle_summary.json", "run k6 with --out json=FILE"),
        ("perf_stat_r.csv", "leave -r out, and repeat perf stat -x, --append -o FILE"),
    ],
)
def test_files_with_aggregates_only_are_inconclusive_and_say_what_to_do(
    file: str, advice: str
) -> None:
    result = gate(_read(file), _read(file))
    assert result.outcome == INCONCLUSIVE
    assert all(row.verdict == "inconclusive" for row in result.judged)
    assert all(advice in row.reason for row in result.judged)
    assert {row.unit for row in result.rows if row not in result.judged} <= {""}


def test_asv_without_samples_says_how_to_record_them() -> None:
    rows = {row.name: row for row in gate(_read("asv_1.json"), _read("asv_1.json")).rows}
    assert "asv run --record-samples" in rows["bench.time_plain"].reason
    assert "failed: asv has no result" in rows["bench.time_broken"].reason
    assert rows["bench.Suite.time_sort(10)"].verdict in GOOD


def test_one_exact_value_is_enough() -> None:
    found = _read("benchmark_dotnet_brief.json")
    name = "Example.Sort.Quick(Size: 100) allocated"
    assert {r.name: r.verdict for r in gate(found, found).rows}[name] in GOOD
    more = BenchmarkFile({**found, name: _scaled(found[name], 1.5)})
    assert {r.name: r.verdict for r in gate(found, more).rows}[name] == "worse"
    assert _read("go_test.txt")["BenchmarkCache/size=64-8 tables"].exact
    assert not _read("go_test.txt")["BenchmarkCache/size=64-8 hits"].exact


def test_what_was_not_measured_is_left_out_with_why() -> None:
    assert _read("google_benchmark.json").left_out == {"BM_gpu": "was skipped: no GPU"}
    assert _read("perf_stat.csv").left_out == {"cache-misses:u": "was not supported"}
    assert _read("perf_stat_r.csv").left_out == {"cpu/event=0x3c,umask=0x0/": "was not counted"}
    assert _read("asv_2.json").left_out == {"bench.Suite.time_sort(100, 'merge')": "was skipped"}
    assert list(_read("k6_points.json").left_out) == ["http_reqs", "http_req_connecting", "vus"]
    assert _read("asv_2.json")["bench.Suite.time_sort(100, 'quick')"].failure
    assert _read("benchmark_dotnet_full.json")["Example.Sort.Crash"].failure


def test_garbage_per_second_of_jmh_follows_the_speed_and_is_not_read() -> None:
    names = " ".join(_read("jmh.json"))
    assert "gc.alloc.rate.norm" in names
    assert "gc.count" not in names
    assert "stack" not in names


def test_modes_of_one_jmh_benchmark_are_told_apart() -> None:
    entry = json.loads((FOLDER / "jmh.json").read_text())[1]
    other = {**entry, "mode": "avgt"}
    assert list(_parse([entry, other])) == [
        "org.example.Queue.offer [thrpt]",
        "org.example.Queue.offer [avgt]",
    ]
    assert [m.better for m in _parse([entry, other]).values()] == ["higher", "lower"]
    without = copy.deepcopy(entry)
    without["primaryMetric"]["rawData"] = []
    assert "rawData" in next(iter(_parse([without]).values())).advice


def test_jobs_of_one_method_of_benchmark_dotnet_are_told_apart() -> None:
    document = json.loads((FOLDER / "benchmark_dotnet_brief.json").read_text())
    (entry,) = document["Benchmarks"]
    document["Benchmarks"] = [
        {**entry, "DisplayInfo": f"Sort.Quick: .NET {n}", "Memory": None} for n in (8, 9)
    ]
    assert list(_parse(document)) == ["Sort.Quick: .NET 8", "Sort.Quick: .NET 9"]


def test_one_fork_of_jmh_is_one_process() -> None:
    entry = json.loads((FOLDER / "jmh.json").read_text())[1]
    entry["primaryMetric"]["rawData"] = entry["primaryMetric"]["rawData"][:1]
    (row,) = gate(_parse([entry]), _parse([entry])).rows
    assert row.verdict == "inconclusive"
    assert "come from one process" in row.reason
    assert "run JMH with several forks" in row.reason


def test_the_table_of_formats_names_every_reader() -> None:
    page = (FOLDER.parent.parent / "docs" / "gate_formats.md").read_text()
    named = re.findall(r"^\| ([\w .-]+?) \|", page.partition("## ")[0], re.MULTILINE)[1:]
    modules = Path(reading.__file__).parent.glob("*.py")
    readers = {m.stem for m in modules} - {"__init__", "checks", "model", "reading"}
    spelled = {
        "Go": "go_test",
        "cargo-criterion": "criterion",
        "BenchmarkDotNet": "benchmark_dotnet",
    }
    tables = {"k6 summary", "a table"}
    found = {spelled.get(n, re.sub("[ -]", "_", n.lower())) for n in named if n not in tables}
    assert found == readers
    assert tables <= set(named)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"primaryMetric": 3}]', "damaged"),
        ('[{"benchmark": "a", "mode": "avgt", "primaryMetric": {"scoreUnit": "s/op", '
         '"rawData": [["x"]]}}]', "'x' where a finite number belongs"),
        ('{"reason": "other"}', "no line is a message 'benchmark-complete'"),
        ('{"reason": "benchmark-complete", "id": "a", "unit": "ns", "iteration_count": [0], '
         '"measured_values": [1]}', "a measurement without iterations"),
        ('{"reason": "benchmark-complete", "id": "a", "unit": "ns", "iteration_count": [1, 2], '
         '"measured_values": [1]}', "1 measured_values and 2 iteration_count"),
        ('{"type": "Metric", "data": {"type": "trend"}, "metric": "a"}\n{"type": "Po',
         "line 2 is not valid JSON; was it cut off"),
        ('{"type": "Point", "data": {"time": "t", "value": 1}, "metric": "a"}', "before its type"),
        ('{"commit_hash": "a", "results": {"b": {"result": [1, 2], "params": [["1"]]}}}',
         "1 combinations of parameters, 2 results"),
        ("1,,cycles,1,100.00\nhello\n", "a line is not of perf stat -x: 'hello'"),
        ('{"results": [{"command": "x", "times": [' + "9" * 400 + "]}]}", "finite number belongs"),
        ('{"results": [{"command": "x\\ny", "times": 3}]}', "the measurements of 'x y' are not"),
        ('{"benchmarks": [{"run_name": "' + "n" * 9000 + '", "run_type": "iteration"}]}',
         "a name has 9,000 characters"),
    ],
)  # fmt: skip
def test_damage_is_told_in_one_line(content: str, message: str) -> None:
    with pytest.raises(BenchmarkFileError, match=message) as told:
        _parse(content)
    assert "\n" not in str(told.value)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 10**400, 1e308, -0.0, math.nan, math.inf, "", "NaN", "1", "a\nb"]),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.just([]),
    st.just({}),
    st.lists(st.lists(st.floats(), max_size=2), max_size=3),
    st.dictionaries(st.text(max_size=3), st.floats(), max_size=2),
)


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every container of a document, with a key in it."""
    keys: list[Any] = []
    if isinstance(document, dict):
        keys = list(document)
    elif isinstance(document, list):
        keys = list(range(len(document)))
    found = [(document, key) for key in keys]
    for key in keys:
        found += _places(document[key])
    return found


def _damaged(data: st.DataObject, document: Any) -> Any:
    """A copy of a document with some values replaced, removed or repeated."""
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 4))):
        places = _places(document)
        if not places:
            break
        container, key = places[data.draw(st.integers(0, len(places) - 1))]
        action = data.draw(st.sampled_from(["replace", "remove", "repeat", "rename"]))
        if action == "remove":
            del container[key]
        elif action == "repeat" and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif action == "rename" and isinstance(container, dict):
            container[data.draw(st.text(max_size=4))] = container.pop(key)
        else:
            container[key] = data.draw(JUNK)
    return document


def _check(text: str) -> None:
    """Measurements, or one error that names the file in one line of bearable length."""
    try:
        found = parse_benchmarks(text, "x.json")
    except DkmdError as error:
        message = str(error)
        assert message.startswith("x.json")
        assert message.splitlines() == [message]
        assert len(message) < 700
        return
    assert found
    for name, measured in found.items():
        assert isinstance(name, str)
        assert len(measured.values) == len(measured.groups)
        assert not any(math.isinf(value) for value in measured.values)
        assert measured.better in ("lower", "higher", "unknown")
        assert len(measured.failure) < 1000
    assert sum(len(measured.values) for measured in found.values()) <= len(text)


FUZZED = settings(
    max_examples=40,
    deadline=5000,  # milliseconds: a reader that hangs fails
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


DOCUMENTS = [name for name in FILES if name.endswith(".json")]
BY_LINE = ("criterion.json", "k6_points.json")


def _document(name: str) -> Any:
    """The JSON of a file; a list where every line is a document."""
    text = (FOLDER / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name in BY_LINE else json.loads(text)


def _text(name: str, document: Any) -> str:
    if name in BY_LINE:
        return "\n".join(json.dumps(line) for line in document)
    return json.dumps(document)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_any_one_value_replaced_is_read_or_refused(name: str) -> None:
    document = _document(name)
    junk: list[Any] = [None, True, 0, 10**400, math.nan, math.inf, "a\nb", [[]], {}]
    for container, key in _places(document):
        kept = container[key]
        for each in junk:
            container[key] = each
            _check(_text(name, document))
        container[key] = kept
    assert document == _document(name) or name == "asv_2.json"  # NaN is not itself


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_any_damage_is_read_or_refused(name: str) -> None:
    document = _document(name)

    @FUZZED
    @given(st.data())
    def check(data: st.DataObject) -> None:
        _check(_text(name, _damaged(data, document)))

    check()


@pytest.mark.parametrize("name", FILES)
def test_a_text_with_any_damage_is_read_or_refused(name: str) -> None:
    text = (FOLDER / name).read_text()

    @FUZZED
    @given(st.data())
    def check(data: st.DataObject) -> None:
        damaged = text
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(damaged)))
            end = min(len(damaged), start + data.draw(st.integers(0, 30)))
            new = data.draw(st.text(max_size=8) | st.sampled_from(["\n", ",", "9" * 330, "NaN"]))
            damaged = damaged[:start] + new + damaged[end:]
        _check(damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))])

    check()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_off_is_loaded_or_refused(name: str, tmp_path: Path) -> None:
    """Also where the rest is tried as a table."""
    content = (FOLDER / name).read_bytes()
    for share in (0.1, 0.5, 0.9):
        path = tmp_path / name
        path.write_bytes(content[: int(share * len(content))])
        try:
            found = load_benchmarks(str(path))
        except DkmdError as error:
            told = str(error).splitlines()
        else:
            told = list(found)[:1]
        assert len(told) == 1
