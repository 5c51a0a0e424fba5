"""Several runs per side, the store of a history, and ``dkmd history``."""

from __future__ import annotations

import gzip
import json
import math
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from shell import COMMAND, answer_in, here

import dkmd
from dkmd.answers.gate import FAILED, PASSED, gate, load_runs, read_histories
from dkmd.answers.gate.runs import CORRELATED, ONE_RUN, in_blocks, in_one, runs_of
from dkmd.answers.history import history_of
from dkmd.base.errors import BenchmarkFileError
from dkmd.sources.files.benchmarks import Benchmarks, Measurements
from dkmd.sources.files.history_file import (
    StoredRun,
    content_digest,
    merged,
    read_history,
    stored_run,
    write_history,
)
from dkmd.sources.files.run_files import date_in, normal_date, run_files

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

NAMES = ["json", "regex", "sort", "pickle", "deltablue"]
BETWEEN, WITHIN = 0.01, 0.004


def _run(
    rng: np.random.Generator, day: int | None = None, between: float = BETWEEN, **factors: float
) -> dict[str, Any]:
    """One run of a small suite, as pyperf writes it: 8 processes with 2 values each."""
    benchmarks = []
    for i, name in enumerate(NAMES):
        level = math.log(0.001 * (i + 1) * factors.get(name, 1.0)) + between * rng.normal()
        values = np.exp(level + WITHIN * rng.normal(size=(8, 2)))
        date = {} if day is None else {"date": f"2026-01-{day:02} 10:00:00.5"}
        runs = [{"values": row, "metadata": date} for row in values.tolist()]
        benchmarks.append({"metadata": {"name": name}, "runs": runs})
    return {"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks}


def _write(folder: Path, runs: int, seed: int, day: int | None = 1, **factors: float) -> Path:
    """A folder of runs."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    for i in range(runs):
        document = _run(rng, None if day is None else day + i, **factors)
        (folder / f"run-{i}.json").write_text(json.dumps(document))
    return folder


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Past runs, three runs of main, and three of a branch on which json is 30% slower."""
    folder = tmp_path_factory.mktemp("suite")
    _write(folder / "past", 12, seed=1)
    _write(folder / "main", 3, seed=2, day=20)
    _write(folder / "branch", 3, seed=3, day=24)
    _write(folder / "slow", 3, seed=4, day=24, json=1.3)
    return folder


# several runs per side


def test_a_pattern_a_folder_and_files_are_the_same_runs(suite: Path) -> None:
    words = ["--margin", "10%", "--json"]
    main, slow = (sorted(map(str, (suite / side).iterdir())) for side in ("main", "slow"))
    answers = [
        here("gate", str(suite / "main"), str(suite / "slow"), *words, code=None),
        here("gate", str(suite / "main/*.json"), str(suite / "slow/run-?.json"), *words, code=None),
        here(
            "gate", main[0], slow[0], *words,
            "--also-reference", main[1], "--also-reference", main[2],
            "--also-current", str(suite / "slow" / "run-[12].json"), code=None,
        ),
    ]  # fmt: skip
    documents = [json.loads(answer.stdout) for answer in answers]
    assert documents[0] == documents[1] == documents[2]
    assert documents[0]["runs"] == [3, 3]
    assert documents[0]["outcome"] == FAILED
    worse = [row["name"] for row in documents[0]["benchmarks"] if row["verdict"] == "worse"]
    assert worse == ["json"]
    assert all(row["between"] >= 0.0 for row in documents[0]["benchmarks"])


def test_runs_of_the_same_code_fail_alone_and_not_with_a_history(suite: Path) -> None:
    """One run each: the noise within a run is a third of what runs differ by."""
    main, branch = (str(suite / side / "run-0.json") for side in ("main", "branch"))
    alone = here("gate", main, branch, "--margin", "0%", code=1)
    assert "changes from one run to the next are not in the intervals" in alone.stdout
    assert "0.4% to 1.9%" in alone.stdout
    past = here("gate", main, branch, "--margin", "0%", "--history", str(suite / "past"), code=None)
    assert past.code != 1
    assert "not in the intervals" not in past.stdout
    assert "from a history of 12 runs: typically" in past.stdout


def test_a_history_still_lets_a_large_change_fail(suite: Path) -> None:
    main, slow = load_runs(str(suite / "main"))[:1], load_runs(str(suite / "slow"))[:1]
    answer = gate(main, slow, margin="5%", history=read_histories([str(suite / "past")]))
    assert {row.name: row.verdict for row in answer.rows}["json"] == "worse"
    assert sum(row.verdict == "worse" for row in answer.rows) == 1
    assert answer.history == 12


@pytest.mark.parametrize("margin", ["1%", "0.2ms"])
def test_intervals_with_runs_are_wider_in_percent_and_in_units(suite: Path, margin: str) -> None:
    main, branch = load_runs(str(suite / "main"))[:1], load_runs(str(suite / "branch"))[:1]
    past = read_histories([str(suite / "past")])
    alone, known = (
        gate(main, branch, margin=margin),
        gate(main, branch, margin=margin, history=past),
    )
    for one, other in zip(alone.rows, known.rows, strict=True):
        assert one.shift == other.shift
        assert one.interval[0] > other.interval[0]
        assert one.interval[1] < other.interval[1]
        assert math.isnan(one.between)
        assert 0.001 < other.between < 0.05


def test_more_runs_make_shorter_intervals(suite: Path) -> None:
    past = read_histories([str(suite / "past")])
    main, branch = load_runs(str(suite / "main")), load_runs(str(suite / "branch"))
    few, many = gate(main[:1], branch[:1], history=past), gate(main, branch, history=past)
    widths = [[high - low for low, high in (row.interval for row in g.rows)] for g in (few, many)]
    assert np.mean(widths[1]) < 0.75 * np.mean(widths[0])
    assert many.rows[0].runs == (3, 3)


def test_a_run_that_is_there_twice_counts_once(suite: Path) -> None:
    runs = load_runs(str(suite / "main"))
    answer = gate([*runs, runs[0]], load_runs(str(suite / "branch")))
    assert answer.runs == (3, 3)
    assert any("are copies and count once" in note for note in answer.notes())
    assert in_one(runs[:1])[1] == 1


def test_a_run_keeps_its_processes_and_its_place() -> None:
    first = {"a": Measurements("ms", [1.0, 2.0, 3.0], [0, 0, 1])}
    second = {"a": Measurements("s", [0.004, 0.005], [0, 1]), "b": Measurements("s", [1.0], [0])}
    joined, count, _ = in_one([first, second])
    assert count == 2
    assert joined["a"].values == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert joined["a"].groups == [0, 0, 1, 2, 3]
    assert [run.values for run in runs_of(joined["a"])] == [[1.0, 2.0, 3.0], [4.0, 5.0]]
    assert joined["b"].values == [1.0]


def test_units_that_differ_between_runs_and_failures_are_reasons() -> None:
    runs: list[Benchmarks] = [
        {"a": Measurements("B", [1.0, 2.0, 3.0], [0, 1, 2])},
        {"a": Measurements("s", [1.0, 2.0, 3.5], [0, 1, 2])},
    ]
    answer = gate(runs, runs[0])
    assert answer.rows[0].verdict == "inconclusive"
    assert "unit B in one run and s in another" in answer.rows[0].reason


def test_values_that_vary_only_between_runs_are_judged_by_the_runs() -> None:
    """Counts of instructions: the same in every process of a run, another in the next run."""
    counts = [1000.0, 1010.0, 995.0, 1004.0, 990.0, 1007.0, 1001.0, 996.0]
    runs: list[Benchmarks] = [{"a": Measurements("", [c] * 5, list(range(5)))} for c in counts]
    past = tuple(stored_run(run, f"2026-01-0{i + 1}", "") for i, run in enumerate(runs[:6]))
    alone = gate(runs[6], runs[7], margin="0.1%", worse="lower")
    assert alone.outcome == FAILED  # 1001 → 996
    known = gate(runs[6], runs[7], margin="0.1%", worse="lower", history=past)
    assert known.outcome == "inconclusive"
    far: Benchmarks = {"a": Measurements("", [800.0] * 5, list(range(5)))}
    assert gate(runs[6], far, margin="0.1%", worse="lower", history=past).outcome == FAILED


def test_values_without_logarithms_use_the_runs_of_the_sides() -> None:
    rng = np.random.default_rng(5)
    runs: list[Benchmarks] = [
        {"a": Measurements("", (offset + 0.01 * rng.normal(size=10)).tolist(), list(range(10)))}
        for offset in rng.normal(size=6)
    ]
    alone, known = gate(runs[0], runs[3], margin=0.0), gate(runs[:3], runs[3:], margin=0.0)
    assert min(alone.rows[0].pvalue, 1.0 - alone.rows[0].pvalue) < 1e-5  # 10 + 10 values
    assert 0.001 < known.rows[0].pvalue < 0.999
    assert math.isnan(known.rows[0].between)


def test_correlated_rounds_of_the_same_code_do_not_fail() -> None:
    """Rounds of pytest-benchmark that drift: p was 1e-20 and less for single values."""
    rng = np.random.default_rng(6)
    failed, told = 0, 0
    for _ in range(30):
        sides: list[Benchmarks] = []
        for _side in range(2):
            drift = np.zeros(400)
            for i in range(1, 400):
                drift[i] = 0.95 * drift[i - 1] + rng.normal()
            rounds = (1e-3 * np.exp(0.005 * drift + 0.002 * rng.normal(size=400))).tolist()
            sides.append({"t": Measurements("s", rounds, list(range(400)))})
        answer = gate(sides[0], sides[1], margin="0%")
        failed += answer.outcome == FAILED
        told += CORRELATED in answer.rows[0].reason
    assert failed <= 5  # one-sided 5%: at most 5 of 30 in 999 of 1000 series
    assert told == 30


def test_blocks_stay_within_runs() -> None:
    rng = np.random.default_rng(7)
    drifts = [np.cumsum(rng.normal(size=100)).tolist() for _ in range(2)]
    runs: list[Benchmarks] = [{"a": Measurements("", d, list(range(100)))} for d in drifts]
    joined = in_blocks(in_one(runs)[0]["a"])
    assert [run.values for run in runs_of(joined)] == drifts
    assert len(set(joined.groups)) == 8


# the store


@pytest.fixture
def store(suite: Path, tmp_path: Path) -> Path:
    """A store of the twelve past runs."""
    path = tmp_path / "history.json"
    assert "12 runs added" in here("history", "add", str(suite / "past"), "--to", str(path)).stdout
    return path


def test_a_store_gives_the_same_gate_as_its_files(suite: Path, store: Path) -> None:
    main, branch = (str(suite / side / "run-0.json") for side in ("main", "branch"))
    rows = []
    for past in (str(store), str(suite / "past/*.json")):
        done = here("gate", main, branch, "--margin", "3%", "--history", past, "--json", code=None)
        rows.append(json.loads(done.stdout)["benchmarks"])
    for one, other in zip(*rows, strict=True):
        assert one["interval"] == pytest.approx(other["interval"], rel=2e-3)  # rounded numbers
        assert one["verdict"] == other["verdict"]


def test_the_store_is_compact_json_with_a_line_for_each_run(store: Path) -> None:
    text = store.read_text()
    document = json.loads(text)
    assert (document["format"], document["version"]) == ("dkmd-history", 1)
    assert len(text.splitlines()) == 12 + 2
    assert all(line.endswith(",") for line in text.splitlines()[1:-1])
    center, error, values, units, unit = document["runs"][0]["benchmarks"]["sort"]
    assert 0.0025 < center < 0.0035
    assert 0.0 < error < 0.01
    assert (values, units, unit) == (16, 8.0, "s")


def test_adding_a_run_again_changes_nothing_whatever_its_file_is_called(
    suite: Path, store: Path, tmp_path: Path
) -> None:
    before = store.read_bytes()
    packed = tmp_path / "again.json.gz"
    packed.write_bytes(gzip.compress((suite / "past" / "run-3.json").read_bytes()))
    done = here("history", "add", str(packed), "--to", str(store), "--label", "again")
    assert done.stdout.startswith("0 runs added")
    assert store.read_bytes() == before


def test_lines_merged_by_git_are_a_store(suite: Path, tmp_path: Path) -> None:
    """merge=union keeps the lines of both sides, in any order, common ones maybe twice."""
    files = sorted((suite / "past").iterdir())
    stores = [tmp_path / "a.json", tmp_path / "b.json"]
    for store, part in zip(stores, (files[:8], files[4:]), strict=True):
        here("history", "add", *map(str, part), "--to", str(store))
    a, b = (store.read_text().splitlines() for store in stores)
    union = tmp_path / "union.json"
    union.write_text("\n".join([a[0], *b[1:-1], *a[1:-1], a[-1]]) + "\n")
    here("history", "add", str(stores[1]), "--to", str(stores[0]))
    assert read_history(union) == read_history(stores[0])
    assert len(read_history(union)) == 12


def test_pruning_keeps_the_latest_runs(store: Path) -> None:
    dates = [run.date for run in read_history(store)]
    done = json.loads(
        here("history", "add", str(store), "--to", str(store), "--keep", "5", "--json").stdout
    )
    assert (done["added"], done["pruned"], done["runs"]) == (0, 7, 5)
    assert [run.date for run in read_history(store)] == sorted(dates)[-5:]


def test_twelve_processes_that_add_a_run_at_once_lose_none(suite: Path, tmp_path: Path) -> None:
    store = tmp_path / "history.json"
    adding = [
        subprocess.Popen([COMMAND, "history", "add", str(file), "--to", str(store), "-q"])
        for file in sorted((suite / "past").iterdir())
    ]
    assert [process.wait() for process in adding] == [0] * 12
    assert len(read_history(store)) == 12
    assert os.listdir(tmp_path) == ["history.json"]  # no lock is left


def test_a_lock_that_stays_is_an_error_that_names_it(
    suite: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dkmd.base.whole_files.PATIENCE", 0.2)
    before = store.read_bytes()
    lock = tmp_path / "history.json.lock"
    lock.touch()
    add = ("history", "add", str(suite / "main" / "run-0.json"), "--to", str(store))
    told = here(*add, code=2).stderr
    assert str(lock) in told
    assert "delete the lock" in told
    assert store.read_bytes() == before
    lock.unlink()
    assert here(*add).stdout.startswith("1 run added")


def test_a_lock_that_others_take_in_turn_is_waited_for(
    suite: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting is too long only if one process keeps the lock, not if many come before."""
    monkeypatch.setattr("dkmd.base.whole_files.PATIENCE", 0.5)
    lock = tmp_path / "history.json.lock"
    lock.touch()
    stop = threading.Event()

    def take_turns() -> None:
        for turn in range(1, 21):
            os.utime(lock, ns=(turn, turn))
            stop.wait(0.05)
        lock.unlink()

    others = threading.Thread(target=take_turns)
    others.start()
    done = here("history", "add", str(suite / "main" / "run-0.json"), "--to", str(store))
    others.join()
    assert done.stdout.startswith("1 run added")


def test_a_run_without_a_date_gets_one(tmp_path: Path) -> None:
    files = _write(tmp_path / "runs", 2, seed=8, day=None)
    store = str(tmp_path / "h.json")
    first, second = (str(files / f"run-{i}.json") for i in range(2))
    here("history", "add", first, "--to", store, "--date", "2026-02-01T12:00+02:00", "--label", "c")
    here("history", "add", first, "--to", store)  # the same run, at another time
    here("history", "add", second, "--to", store)
    runs = read_history(store)
    assert (runs[0].date, runs[0].label) == ("2026-02-01T10:00:00", "c")
    assert len(runs) == 2
    assert runs[1].label == "run-1.json"


def test_runs_without_dates_keep_the_order_of_their_names(tmp_path: Path) -> None:
    folder = _write(tmp_path / "runs", 12, seed=9, day=None)
    history = read_histories([str(folder)])
    assert [Path(run.label).name for run in history] == [f"run-{i}.json" for i in range(12)]
    assert run_files(str(folder / "run-1*.json"))[-1].endswith("run-11.json")
    store = tmp_path / "h.json"
    here("history", "add", str(folder), "--to", str(store))
    assert [run.label for run in read_history(store)] == [f"run-{i}.json" for i in range(12)]


def test_dates_are_read_in_one_form(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text, expected in [
        ('{"date": "2026-03-01T12:30:00+01:00"}', "2026-03-01T11:30:00"),
        ('{"datetime": "2026-03-01T12:30:00.123456"}', "2026-03-01T12:30:00"),
        ('{"date": "2026-99-01T12:30:00"}', ""),
        ('{"date": "yesterday"}', ""),
    ]:
        path.write_text(text)
        assert date_in(str(path)) == expected
    with pytest.raises(BenchmarkFileError, match="is not a date"):
        normal_date("1st of May")


def _stored(center: float, day: int, unit: str = "s") -> StoredRun:
    values = (center * np.linspace(0.99, 1.01, 10)).tolist()
    run: Benchmarks = {"a": Measurements(unit, values, list(range(10)))}
    return stored_run(run, f"2026-01-{day:02}", f"{day}")


def test_a_store_round_trips_and_merging_does_not_depend_on_the_order(tmp_path: Path) -> None:
    runs = [_stored(1.0 + 0.01 * i, i + 1) for i in range(5)]
    path = tmp_path / "h.json"
    write_history(path, merged(runs))
    again = read_history(path)
    assert [run.digest for run in again] == [run.digest for run in runs]
    for one, other in zip(again, runs, strict=True):
        assert one.levels["a"].level.center == pytest.approx(
            other.levels["a"].level.center, abs=1e-7
        )
        assert one.levels["a"].level.variance == pytest.approx(
            other.levels["a"].level.variance, rel=1e-3
        )
    assert merged(runs[3:], runs[:4]) == merged(runs[::-1]) == merged(runs)
    write_history(path, again)
    assert read_history(path) == again


def test_a_digest_is_of_the_content(suite: Path) -> None:
    run = load_runs(str(suite / "main"))[0]
    assert content_digest(run) == content_digest(dict(reversed(run.items())))
    assert content_digest(run) != content_digest(run, "2026-01-01")
    changed = {**run, "json": Measurements("ms", run["json"].values, run["json"].groups)}
    assert content_digest(run) != content_digest(changed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "dkmd-history", "version": 1, "runs": [', "not valid JSON"),
        ('{"format": "dkmd-history", "version": 9, "runs": []}', "version 9"),
        ('{"format": "dkmd-history", "version": 1}', "damaged"),
        ('{"format": "dkmd-history", "version": 1, "runs": [{"digest": 3}]}', "damaged"),
        ("[]", "is not a history"),
        ("<<<<<<< HEAD\n{}", "merged by hand"),
    ],
)
def test_a_damaged_store_is_one_line_and_stays_as_it_is(
    text: str, message: str, tmp_path: Path, suite: Path
) -> None:
    path = tmp_path / "h.json"
    path.write_text(text)
    run = str(suite / "main" / "run-0.json")
    done = here("history", "add", run, "--to", str(path), code=2)
    assert message in done.stderr
    assert path.read_text() == text


@pytest.mark.parametrize(
    "numbers",
    ["[0, 0.1, 1, 1, 's']", "[1, -1, 1, 1, 's']", "[1, 0.1, 0, 1, 's']", "[1, 0.1, 1, 's']",
     "['x', 0.1, 1, 1, 's']", "[1e999, 0.1, 1, 1, 's']", "3"],
)  # fmt: skip
def test_numbers_that_are_no_level_are_refused(numbers: str, tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    run = f'{{"digest": "a", "date": "", "label": "", "benchmarks": {{"a": {numbers}}}}}'
    store = f'{{"format": "dkmd-history", "version": 1, "runs": [{run}]}}'
    path.write_text(store.replace("'", '"'))
    with pytest.raises(BenchmarkFileError, match="damaged"):
        read_history(path)


def test_errors_say_what_to_do(suite: Path, store: Path, tmp_path: Path) -> None:
    main = str(suite / "main" / "run-0.json")
    as_side = here("gate", str(store), main, code=2).stderr
    assert "is a history, not a run: give it with --history" in as_side
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no benchmark file" in here("gate", main, main, "--history", str(empty), code=2).stderr
    two = [str(suite / "main" / f"run-{i}.json") for i in range(2)]
    several = here("history", "add", *two, "--to", str(store), "--label", "x", code=2).stderr
    assert "for a single run" in several
    assert "a percentage" in here("history", "show", str(store), "--margin", "3", code=2).stderr
    assert "no benchmark 'x'" in here("history", "show", str(store), "-b", "x", code=2).stderr
    nowhere = here("history", "add", main, "--to", str(tmp_path / "no" / "h.json"), code=2).stderr
    assert "there is no folder" in nowhere


def test_the_note_of_one_run_is_one_line() -> None:
    assert "\n" not in ONE_RUN
    rng = np.random.default_rng(10)
    one: Benchmarks = {"a": Measurements("s", rng.normal(10, 1, 20).tolist(), list(range(20)))}
    answer = gate(one, one)
    assert ONE_RUN in answer.notes()
    past = (_stored(1.0, 1),)
    assert any("holds one run" in note for note in gate(one, one, history=past).notes())
    few = gate(one, one, history=(*past, _stored(1.1, 2), _stored(1.2, 3)))
    assert any("with fewer than 10" in note for note in few.notes())


def test_a_history_in_another_unit_of_time_is_converted() -> None:
    runs = [_stored(1.0 + 0.01 * (i % 3), i + 1) for i in range(6)]
    in_ms = [_stored(1000.0 + 10.0 * (i % 3), i + 1, "ms") for i in range(6)]
    bytes_ = [_stored(1.0, i + 1, "B") for i in range(6)]
    rng = np.random.default_rng(11)
    side: Benchmarks = {"a": Measurements("s", rng.normal(1, 0.01, 20).tolist(), list(range(20)))}
    one, other = gate(side, side, history=merged(runs)), gate(side, side, history=merged(in_ms))
    assert one.rows[0].between == pytest.approx(other.rows[0].between)
    none = gate(side, side, history=merged(bytes_))
    assert math.isnan(none.rows[0].between)
    assert any("nothing is known" in note for note in none.notes())


# dkmd history show


def test_show_finds_changes_of_level_and_noisy_benchmarks(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    folder = tmp_path / "runs"
    folder.mkdir()
    for day in range(1, 21):
        document = _run(rng, day, json=1.3 if day >= 11 else 1.0)
        noisy = document["benchmarks"][1]  # regex: far more between runs than the others
        factor = math.exp(0.06 * rng.normal())
        noisy["runs"] = [{**r, "values": [v * factor for v in r["values"]]} for r in noisy["runs"]]
        (folder / f"{day}.json").write_text(json.dumps(document))
    done = here("history", "show", str(folder), "--json")
    found = {each["name"]: each for each in json.loads(done.stdout)["benchmarks"]}
    assert [change["date"] for change in found["json"]["changes"]] == ["2026-01-11T10:00:00"]
    assert found["json"]["changes"][0]["change"] == pytest.approx(0.3, abs=0.03)
    assert not any(found[name]["changes"] for name in NAMES if name != "json")
    assert [name for name in NAMES if found[name]["too_noisy"]] == ["regex"]
    assert found["sort"]["between"] == pytest.approx(BETWEEN, rel=0.5)
    words = here("history", "show", str(folder)).stdout
    told = answer_in(words)
    assert told.startswith("20 runs of 5 benchmarks: 1 changed level, 1 too noisy to gate at 5%")
    assert words.index("json") < words.index("regex") < words.index("sort")
    assert "2026-01-11" in words


def test_more_runs_per_side_detect_smaller_changes(suite: Path) -> None:
    history = read_histories([str(suite / "past")])
    one, three = history_of(history), history_of(history, per_side=3)
    for few, many in zip(one.benchmarks, three.benchmarks, strict=True):
        assert 0.05 < many.detectable < few.detectable
    assert history_of(history, names=["sort"]).benchmarks[0].name == "sort"


def test_the_detectable_change_is_found_that_often() -> None:
    """A gate of one run per side finds the change that ``show`` calls detectable in 4 of 5 cases.

    The history is long, so that its own error is small: 0.8 within three standard errors.
    """
    rng = np.random.default_rng(13)
    runs: list[Benchmarks] = []

    def draw(factor: float = 1.0) -> Benchmarks:
        level = math.log(factor) + 0.01 * rng.normal(size=(4, 1))
        values = np.exp(level + 0.002 * rng.normal(size=(4, 30)))
        return {
            name: Measurements("s", row, list(range(30)))
            for name, row in zip("abcd", values.tolist(), strict=True)
        }

    runs = [draw() for _ in range(150)]
    past = tuple(stored_run(run, f"2026-{i:04}", "") for i, run in enumerate(runs))
    change = {each.name: each.detectable for each in history_of(past, margin="2%").benchmarks}["a"]
    found = 0
    for _ in range(120):
        answer = gate(draw(), {**draw(), "a": draw(1.0 + change)["a"]}, margin="2%", history=past)
        found += {row.name: row.verdict for row in answer.rows}["a"] == "worse"
    assert found / 120 == pytest.approx(0.8, abs=3.0 * math.sqrt(0.16 / 120))


def test_the_page_draws_every_benchmark_and_escapes_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(14)
    name = "<script>alert(1)</script>"
    runs: list[Benchmarks] = [
        {name: Measurements("s", rng.normal(10 + (i > 6), 0.1, 20).tolist(), list(range(20)))}
        for i in range(14)
    ]
    past = tuple(stored_run(run, f"2026-01-{i + 1:02}", "") for i, run in enumerate(runs))
    path = tmp_path / "page.html"
    answer = history_of(past)
    assert answer.benchmarks[0].changes
    answer.report(path)
    page = path.read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert page.count("<svg") == 1
    assert page.count('class="cc"') == 1  # the change
    assert "http" not in page.replace("http-equiv", "")


def test_show_writes_its_page_and_quiet_is_one_line(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = here("history", "show", str(store), "-q", "--report", str(page))
    assert len(done.stdout.splitlines()) == 1
    assert page.read_text().count("<svg") == len(NAMES)


def test_the_json_of_histories_is_what_the_schema_says(suite: Path, store: Path) -> None:
    schema = json.loads((Path(dkmd.__file__).parent / "answers/schema/answers.json").read_text())
    show = here("history", "show", str(store), "--json")
    add = here("history", "add", str(suite / "main"), "--to", str(store), "--json")
    for done in (show, add):
        jsonschema.validate(json.loads(done.stdout), schema)


def test_few_runs_say_nothing(tmp_path: Path) -> None:
    answer = history_of(tuple(_stored(1.0, i) for i in (1, 2, 3)))
    assert math.isnan(answer.benchmarks[0].detectable)
    assert answer.notes() == ["fewer than 4 runs: a"]
    assert answer.table()[1][-1] == "too few runs"
    with pytest.raises(ValueError, match="no benchmark"):
        history_of(())


def test_help_has_examples() -> None:
    for words in (("history", "add"), ("history", "show")):
        assert "Examples:" in here(*words, "--help").stdout
    gate_help = here("gate", "--help").stdout
    assert "--history" in gate_help
    assert "--also-reference" in gate_help


def test_the_call_of_a_gate_of_runs_can_be_repeated(suite: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    here(
        "gate", str(suite / "main"), str(suite / "branch/*.json"), "--margin", "20%",
        "--history", str(suite / "past"), "--report", str(page),
    )  # fmt: skip
    text = page.read_text()
    assert "load_runs(" in text
    assert "read_histories(" in text
    assert PASSED.upper() in text
