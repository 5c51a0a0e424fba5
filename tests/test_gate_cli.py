"""The command ``dkmd gate``: exit codes, tables, Markdown and JSON."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import jsonschema
import numpy as np
import pytest
from shell import here

import dkmd
from dkmd.answers.gate import Gate, GateRow, load_benchmarks
from dkmd.sources.files.duckdb_file import DuckFile

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "examples" / "bench"


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """The command in this process, which is faster."""
    done = here("gate", *map(str, words), code=None)
    return subprocess.CompletedProcess([*map(str, words)], done.code, done.stdout, done.stderr)


def alone(*words: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "dkmd", "gate", *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def through(pipe: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Pipe the command's output into another one. The exit code is that of ``dkmd``."""
    line = f"{shlex.join([sys.executable, '-m', 'dkmd', *map(str, words)])} | {pipe}"
    line += "; exit ${PIPESTATUS[0]}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


def _hyperfine(path: Path, **samples: Any) -> Path:
    results = [{"command": name, "times": list(map(float, v))} for name, v in samples.items()]
    path.write_text(json.dumps({"results": results}))
    return path


def _times(seed: int, center: float) -> Any:
    return center * np.random.default_rng(seed).normal(1.0, 0.01, 30)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Builds to judge: an equal one, a slower one, and one with a single value."""
    return {
        "main": _hyperfine(tmp_path / "main.json", a=_times(1, 1.0), b=_times(2, 2.0)),
        "same": _hyperfine(tmp_path / "same.json", a=_times(3, 1.0), b=_times(4, 2.0)),
        "slow": _hyperfine(tmp_path / "slow.json", a=_times(3, 1.0), b=_times(4, 2.2)),
        "lone": _hyperfine(tmp_path / "lone.json", a=[1.0], b=_times(4, 2.0)),
        "other": _hyperfine(tmp_path / "other.json", c=_times(5, 1.0)),
    }


def test_exit_codes_tell_the_outcome(files: dict[str, Path]) -> None:
    passed = alone(files["main"], files["same"], "--margin", "2%")
    assert (passed.returncode, passed.stdout.splitlines()[-1].split()[1]) == (0, "PASSED")
    failed = alone(files["main"], files["slow"], "--margin", "2%")
    assert (failed.returncode, failed.stdout.splitlines()[-1].split()[1]) == (1, "FAILED")
    assert "geometric mean" in failed.stdout.splitlines()[-1]
    undecided = run(files["main"], files["lone"], "--margin", "2%")
    assert undecided.returncode == 3
    assert "current has one value" in undecided.stdout
    assert run(files["main"], files["lone"], "--inconclusive", "pass").returncode == 0
    assert run(files["main"], files["lone"], "--inconclusive", "fail").returncode == 1


def test_what_cannot_be_used_is_one_line_and_exit_code_2(
    files: dict[str, Path], tmp_path: Path
) -> None:
    empty = tmp_path / "empty.json"
    empty.touch()
    for words, reason in (
        ((files["main"], tmp_path / "none.json"), "none.json"),
        ((files["main"], files["other"]), "no benchmark in common"),
        ((files["main"], empty), "empty"),
        ((files["main"], files["same"], "--margin", "much"), "margin"),
        ((files["main"], files["same"], "--margin", "5"), "margin 5 has no unit"),
        ((files["main"], files["same"], "--margin", "5s"), "larger than the values"),
        ((files["main"], files["same"], "--only", "slower"), "only"),
        ((files["main"], files["same"], "--worse", "up"), "worse"),
        ((files["main"],), "CURRENT"),
    ):
        answer = run(*words)
        assert answer.returncode == 2, words
        assert len(answer.stderr.strip().splitlines()) == 1, answer.stderr
        assert reason.lower() in answer.stderr.lower()


def test_json_has_everything_unrounded(files: dict[str, Path]) -> None:
    answer = run(files["main"], files["slow"], "--margin", "2%", "--json")
    document = json.loads(answer.stdout)
    schema = (Path(dkmd.__file__).parent / "answers/schema/answers.json").read_text()
    jsonschema.validate(document, json.loads(schema))
    assert document["format"] == "dkmd-gate"
    assert document["outcome"] == "failed"
    assert [row["verdict"] for row in document["benchmarks"]] == ["same", "worse"]
    assert document["geometric_mean"] == pytest.approx(math.sqrt(1.1), rel=0.01)


def test_markdown_is_written_for_a_pull_request(files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "summary.md"
    run(files["main"], files["slow"], "--margin", "2%", "--markdown", out)
    text = out.read_text()
    assert text.startswith("**✗ FAILED** 1 of 2 worse by more than 2% · geometric mean +4.")
    shown, folded = text.split("<details>")
    assert len([line for line in shown.splitlines() if line.startswith("|")]) == 3
    assert folded.startswith("<summary>1 same</summary>")
    assert "| a |" in folded


def test_a_table_can_be_judged(tmp_path: Path) -> None:
    for name, center in (("main", 1.0), ("branch", 1.2)):
        rows = [f"{b},{v}" for b in ("sort", "scan") for v in _times(len(b + name), center)]
        (tmp_path / f"{name}.csv").write_text("benchmark,wall_ms\n" + "\n".join(rows) + "\n")
    both = (tmp_path / "main.csv", tmp_path / "branch.csv")
    named = run(*both, "--by", "benchmark")
    assert named.returncode == 1
    assert "2 of 2 worse" in named.stdout
    assert " ms" in named.stdout
    column = run(*both, "-c", "wall_ms")
    assert "1 of 1 worse by more than 5%" in column.stdout
    assert column.stdout.splitlines()[1].startswith("wall_ms")


def test_a_reader_that_goes_away_leaves_the_exit_code(files: dict[str, Path]) -> None:
    """``true`` reads nothing, so every write hits a broken pipe."""
    for current, code in (("same", 0), ("slow", 1), ("lone", 3)):
        gone = through("true", "gate", files["main"], files[current], "--margin", "2%")
        assert (gone.returncode, gone.stderr) == (code, "")
    first = through("head -1", "gate", files["main"], files["same"], "--margin", "2%")
    assert (first.returncode, first.stdout.split()[0]) == (0, "benchmark")
    version = through("true", "--version")
    assert (version.returncode, version.stderr) == (0, "")


def test_quiet_still_tells_what_was_not_judged(tmp_path: Path) -> None:
    before = _hyperfine(tmp_path / "a.json", both=_times(1, 1.0), old=_times(2, 1.0))
    after = _hyperfine(tmp_path / "b.json", both=_times(3, 1.0), new=_times(4, 1.0))
    answer = run(before, after, "-q")
    assert answer.returncode == 0
    told = "✓ PASSED  none of 1 worse by more than 5%, 1 missing   geometric mean "
    assert answer.stdout.startswith(told)
    assert answer.stdout.count("\n") == 1
    assert answer.stderr.splitlines() == [
        "dkmd: watch out: missing from current: old",
        "dkmd: watch out: new in current, not judged: new",
    ]


def test_benchmarks_may_come_from_standard_input(files: dict[str, Path], tmp_path: Path) -> None:
    assert alone(files["main"], "-", stdin=files["same"].read_text()).returncode == 0
    lines = "".join(f"BenchmarkSort-8 1 {v} ns/op\n" for v in _times(1, 100.0))
    (tmp_path / "main.txt").write_text(lines)
    piped = alone(tmp_path / "main.txt", "-", stdin="goos: linux\npkg: a\n" + lines)
    assert piped.returncode == 0, piped.stderr
    numbers = "".join(f"{v}\n" for v in _times(1, 100.0))
    (tmp_path / "numbers.txt").write_text(numbers)
    assert alone(tmp_path / "numbers.txt", "-", stdin=numbers).returncode == 0
    empty = alone(files["main"], "-", stdin="")
    assert (empty.returncode, empty.stderr) == (2, "dkmd: standard input: the file is empty\n")


def test_options_of_tables_are_refused_beside_benchmarks(files: dict[str, Path]) -> None:
    for option in ("--column", "--by", "--groups"):
        answer = run(files["main"], files["same"], option, "a")
        assert answer.returncode == 2
        assert "--column, --by and --groups are for tables" in answer.stderr


def test_a_summary_that_cannot_be_written_does_not_cost_the_verdict(
    files: dict[str, Path],
) -> None:
    """The exit code stays, 0 becomes 2, and standard error has the verdict."""
    failed = "the verdict is FAILED: 1 of 2 benchmarks worse by more than 2%: b"
    passed = "the verdict is PASSED: none of 2 benchmarks is worse by more than 2%"
    for option in ("--markdown", "--report"):
        for path, why in (
            ("nowhere/x", "there is no folder nowhere"),
            (".", ". is a folder: give the name of a file"),
        ):
            for current, code, verdict in (("slow", 1, failed), ("same", 2, passed)):
                done = alone(files["main"], files[current], "--margin", "2%", option, path)
                assert (done.returncode, done.stderr) == (code, f"dkmd: {why}; {verdict}\n")


def test_a_full_standard_output_does_not_cost_the_verdict(files: dict[str, Path]) -> None:
    line = [sys.executable, "-m", "dkmd", "gate", str(files["main"]), str(files["slow"])]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    told, why = done.stderr.splitlines()
    assert told == "dkmd: the verdict is FAILED: 1 of 2 benchmarks worse by more than 5%: b"
    assert why == "dkmd: standard output cannot be written to: No space left on device"


def _csv(path: Path, **columns: Any) -> Path:
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text(",".join(columns) + "\n" + "\n".join(rows) + "\n")
    return path


def test_columns_that_hold_no_numbers_are_told(tmp_path: Path) -> None:
    host = ["a", "b"] * 15
    before = _csv(tmp_path / "a.csv", wall_ms=_times(1, 1.0), host=host)
    after = _csv(tmp_path / "b.csv", wall_ms=_times(2, 1.0), host=host)
    answer = run(before, after)
    assert answer.returncode == 0
    assert "not judged: host holds text, not numbers" in answer.stdout


def test_a_column_with_a_word_among_its_numbers_does_not_pass(tmp_path: Path) -> None:
    before = _csv(tmp_path / "a.csv", wall=_times(1, 1.0), cpu=_times(2, 1.0))
    broken = [*_times(3, 1.0)[:-1], "failed"]
    after = _csv(tmp_path / "b.csv", wall=_times(4, 1.0), cpu=broken)
    for files in ((before, after), (after, after)):
        answer = run(*files)
        assert answer.returncode == 3
        told = " ".join(answer.stdout.split())
        assert "cpu: in current it cannot be read" in told
        assert "row 30: 'failed' is not a number" in told
    words = _csv(tmp_path / "c.csv", wall=_times(4, 1.0), cpu=["slow"] * 30)
    answer = run(before, words)
    assert answer.returncode == 3
    assert "cpu: in current it holds text, not numbers" in " ".join(answer.stdout.split())


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_many_levels_are_read_in_one_pass(tmp_path: Path, suffix: str) -> None:
    """300 levels in 20,000 rows, with groups. Rows without a level are left out."""
    rng = np.random.default_rng(6)
    n = 20_000
    frame = {
        "name": np.char.add("b", rng.integers(300, size=n).astype(str)),
        "process": rng.integers(40, size=n),
        "wall": rng.normal(100.0, 1.0, n),
    }
    path = _csv(tmp_path / "a.csv", **frame)
    if suffix == "parquet":
        target = tmp_path / "a.parquet"
        duckdb.sql(f"COPY (FROM read_csv('{path}')) TO '{target}' (FORMAT parquet)")
        path = target
    with patch.object(DuckFile, "part", autospec=True, side_effect=DuckFile.part) as part:
        found = load_benchmarks(str(path), by="name", groups="process")
    assert part.call_count <= 2
    assert len(found) == 300
    rows = frame["name"] == "b7"
    assert found["b7"].values == frame["wall"][rows].tolist()
    assert len(set(found["b7"].groups)) == len(set(frame["process"][rows]))


def test_rows_without_a_level_belong_to_none(tmp_path: Path) -> None:
    path = _csv(tmp_path / "a.csv", name=["a", "a", "", "b", "b"], wall=[1.0, 2.0, 9.0, 3.0, 4.0])
    found = load_benchmarks(str(path), by="name")
    assert {name: m.values for name, m in found.items()} == {"a": [1.0, 2.0], "b": [3.0, 4.0]}


@pytest.mark.parametrize("tool", ["hyperfine", "pyperf"])
def test_the_shipped_benchmarks_show_a_slower_build(tool: str) -> None:
    answer = run(BENCH / f"{tool}-main.json", BENCH / f"{tool}-branch.json", "--margin", "3%")
    assert answer.returncode == 1
    assert answer.stdout.splitlines()[1].split()[0] == "count-words"
    assert "1 of 2 worse by more than 3%" in answer.stdout.splitlines()[-1]


def test_names_cannot_break_out_of_markdown() -> None:
    name = "a|b <img src=x onerror=alert(1)> [x](javascript:1)\n# head"
    row = GateRow(name, "s", "worse", "", (3, 3), (1.0, 2.0), 1.0, (0.5, 1.5), True, 0.01)
    text = Gate((row,), (), (), "2%", "higher", 2.0).markdown()
    assert "<img" not in text.replace("\\<img", "")
    assert "\n# head" not in text
    assert "\\|" in text
    assert "<details>" not in text
    assert "](" not in text.replace("\\](", "")


def test_json_tells_what_was_left_out_averaged_and_allowed(tmp_path: Path) -> None:
    """On both sides, with another alpha, and a mean of some benchmarks only."""
    host = ["a", "b"] * 15
    wall, zero = _times(1, 1.0), _times(5, 1.0) - 1.0
    before = _csv(tmp_path / "a.csv", wall=wall, zero=zero, host=host, old=host)
    after = _csv(tmp_path / "b.csv", wall=_times(2, 1.0), zero=zero, host=host, new=host)
    options = ("--margin", "0.001", "--alpha", "0.01", "--json")
    document = json.loads(run(before, after, *options).stdout)
    schema = json.loads((Path(dkmd.__file__).parent / "answers/schema/answers.json").read_text())
    jsonschema.validate(document, schema)
    assert document["alpha"] == 0.01
    assert (document["averaged"], len(document["benchmarks"])) == (1, 2)
    assert document["left_out"] == dict.fromkeys(("host", "old", "new"), "holds text, not numbers")
    for key in ("alpha", "averaged", "left_out"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in document.items() if k != key}, schema)


def test_names_cannot_steer_a_terminal_through_markdown() -> None:
    name = "a\x1b[31m\x9b2J\x07\u202e|b"
    row = GateRow(name, "s", "worse", name, (3, 3), (1.0, 2.0), 1.0, (0.5, 1.5), True, 0.01)
    gate = Gate((row,), (name,), (), "2%", "higher", 2.0, left_out={name: f"holds {name}"})
    text = gate.markdown()
    assert text.replace("\n", "").isprintable()
    assert "a\\\\x1b\\[31m\\\\x9b2J\\\\x07\\\\u202e\\|b" in text


EXTREMES = {
    "far": (1e-300, 1e300),
    "farther": (5e-324, 1.7e308),
    "down": (1e300, 1e-300),
    "large": (1e307, 1.7e308),
    "growth": (1e-300, 1e100),  # their scale is a valid double, but their ratio is not
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("margin", ["2%", "0.5s", "0.1sd"])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 0.3])
def test_extreme_values_get_an_answer_and_a_page(
    name: str, margin: str, spread: float, tmp_path: Path
) -> None:
    """Factors that no double can hold, on the terminal, as JSON, in Markdown and on the page."""
    rng = np.random.default_rng(2)
    paths = [
        _hyperfine(tmp_path / f"{i}.json", x=v * (1.0 - spread * rng.random(30)), y=_times(i, 1.0))
        for i, v in enumerate(EXTREMES[name])
    ]
    page, text = tmp_path / "page.html", tmp_path / "x.md"
    words = ["gate", *map(str, paths), "--margin", margin, "--json"]
    done = here(*words, "--report", str(page), "--markdown", str(text), code=None)
    if done.code == 2 and margin == "0.5s":
        assert "margin 0.5s is larger than the values of x" in done.stderr
        return
    assert done.code in (0, 1, 3), done.stderr
    document = json.loads(done.stdout)
    assert document["geometric_mean"] is not None
    assert "math domain error" not in done.stderr
    assert page.read_text().endswith("</html>\n")
    assert text.read_text()
