"""What ``dkmd gate`` prints: tables that fit, the answer last, settings from a file, Markdown."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import termios
from fcntl import ioctl
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from shell import COMMAND, here, run

from dkmd.answers.gate import Gate, GateRow
from dkmd.answers.gate.markdown import LONGEST
from dkmd.base.units import converted, read_amount, shown_in
from dkmd.cli.gate_settings import GateSettings, read_settings
from dkmd.render.terminal import first_of, fitted, fitting_line, shortened, width_of
from dkmd.render.terminal.table import Column, Drop, Row, Shorten, Step

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

WIDE = "基准测试排序基准测试排序🚀基准测试排序基准测试排序"
LONG = "tests/test_serialize.py::test_roundtrip[orjson-with-a-very-long-parameter-1000000]"


def _file(path: Path, seed: int, **factors: float) -> Path:
    rng = np.random.default_rng(seed)
    results = [
        {"command": name, "times": (0.0000236 * f * np.exp(rng.normal(0, 0.01, 20))).tolist()}
        for name, f in factors.items()
    ]
    path.write_text(json.dumps({"results": results}))
    return path


@pytest.fixture
def suite(tmp_path: Path) -> tuple[str, str]:
    """Twelve worse, two better, thirteen the same, one missing and one new."""
    names = [LONG, WIDE, *(f"bench_{i:02d}" for i in range(25))]
    before = _file(tmp_path / "main.json", 1, **dict.fromkeys(names, 1.0), old=1.0)
    factors = {n: 1.2 if i < 12 else 0.7 if i < 14 else 1.0 for i, n in enumerate(names)}
    after = _file(tmp_path / "branch.json", 2, **factors, new=1.0)
    return str(before), str(after)


def _on_terminal(columns: int, *words: str) -> list[str]:
    """The lines that a terminal of some width shows, with their colours."""
    screen, side = pty.openpty()
    ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "CI")}
    process = subprocess.Popen(
        [COMMAND, "gate", *words],
        stdin=side, stdout=side, stderr=subprocess.DEVNULL,
        env=known | {"TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(side)
    shown = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # the terminal closes with the last process that uses it
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    process.wait()
    return shown.decode().splitlines()


def _plain(lines: list[str]) -> list[str]:
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(columns: int, suite: tuple[str, str]) -> None:
    lines = _on_terminal(columns, *suite, "--margin", "2%")
    plain = _plain(lines)
    assert max(map(cell_len, plain)) <= columns
    assert plain[-1].startswith("✗ FAILED  12 of 27 worse by more than 2%")
    assert ("geometric mean" in plain[-1]) == (columns >= 80)
    heads = plain[0].split()
    assert heads[0] == "benchmark"
    assert ("interval" in heads) == (columns >= 60)
    assert ("reference" in heads) == (columns >= 100)
    assert ("n" in heads) == ("p" in heads) == (columns >= 200)
    assert "\x1b[1m\x1b[31m✗ FAILED" in lines[-1].replace("\x1b[1;31m", "\x1b[1m\x1b[31m")


def test_without_a_terminal_lines_have_a_fixed_width(suite: tuple[str, str]) -> None:
    shown = run("gate", *suite, "--margin", "2%", code=1)
    assert 90 <= max(map(cell_len, shown.stdout.splitlines())) <= 100
    narrow = run("gate", *suite, "--margin", "2%", code=1, COLUMNS="60")
    assert max(map(cell_len, narrow.stdout.splitlines())) <= 60
    odd = run("gate", *suite, "--margin", "2%", code=1, COLUMNS="wide")
    assert odd.stdout == shown.stdout


def _verdicts(text: str) -> list[str]:
    lines = text.split("\n\n", maxsplit=1)[0].splitlines()[1:]
    return [re.split(r"\s{2,}", line.strip())[-1] for line in lines]


def test_ten_rows_of_each_verdict_unless_all_are_asked_for(suite: tuple[str, str]) -> None:
    found = _verdicts(here("gate", *suite, "--margin", "2%", code=1).stdout)
    assert found == [
        *["worse"] * 10, "… 2 more worse (--all)", "better", "better",
        *["same"] * 10, "… 3 more same (--all)", "missing", "new",
    ]  # fmt: skip
    every = _verdicts(here("gate", *suite, "--margin", "2%", "--all", code=1).stdout)
    assert every == [*["worse"] * 12, "better", "better", *["same"] * 13, "missing", "new"]


def test_only_some_verdicts_are_shown_and_all_count(suite: tuple[str, str]) -> None:
    words = ("gate", *suite, "--margin", "2%", "--only", "better", "--only", "missing")
    shown = here(*words, code=1).stdout
    assert _verdicts(shown) == ["better", "better", "missing"]
    assert shown.splitlines()[-1].startswith("✗ FAILED  12 of 27 worse")
    nothing = here("gate", *suite, "--margin", "2%", "--only", "inconclusive", code=1)
    assert "benchmark" not in nothing.stdout.splitlines()[0]


def test_one_unit_for_both_sides_and_the_interval(tmp_path: Path) -> None:
    before, after = _file(tmp_path / "a.json", 1, x=1.0), _file(tmp_path / "b.json", 2, x=2.0)
    line = here("gate", str(before), str(after), "--margin", "1us", code=1).stdout.splitlines()[1]
    assert re.match(r"x +23\.\d µs +47\.\d µs +\+23\.\d µs +\+2\d\.\d to \+2\d\.\d µs", line)


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [
        ("s", 2.36e-5, "23.6 µs"), ("s", 4.2e-10, "0.42 ns"), ("s", 1234.0, "1234 s"),
        ("ns", 999.96, "1 µs"), ("us", 2.5, "2.5 µs"), ("B", 12e6, "12 MB"), ("B", 900.0, "900 B"),
        ("KB", 1500.0, "1.5 MB"), ("ops/s", 1.4e6, "1.4 M ops/s"), ("ops/s", 140.0, "140 ops/s"),
        ("MB/s", 2500.0, "2.5 GB/s"), ("", 2.5e9, "2.5 G"), ("", 0.25, "0.25"), ("h", 2.0, "2 h"),
        ("ns/op", 2.5e6, "2.5 ms/op"), ("usd", 5e6, "5 M usd"), ("s", 0.0, "0 s"),
    ],
)  # fmt: skip
def test_units_for_people(unit: str, value: float, shown: str) -> None:
    factor, name = shown_in(unit, value)
    assert f"{round(value * factor, 3):g} {name}".strip() == shown


def test_amounts_are_converted_within_a_kind() -> None:
    assert converted(3.0, "ms", "s") == 0.003
    assert converted(1.0, "h", "min") == 60.0
    assert converted(2.0, "GB/s", "MB/s") == 2000.0
    assert converted(1.0, "s", "B") is None
    assert converted(1.0, "ms/op", "ms") is None
    assert read_amount("1e-3 s") == (0.001, "s")
    assert read_amount("ms") is None


def test_names_are_shortened_in_the_middle_by_cells() -> None:
    for width in range(1, 60):
        for name in (LONG, WIDE, "a\u0301" * 40):
            short = shortened(name, width)
            assert width_of(short) <= width
            assert short == name or short.count("…") == 1
    assert shortened(LONG, 30).endswith("1000000]")


def test_columns_give_way_in_the_given_order() -> None:
    columns = [Column("name", "name", right=False), Column("a", "a"), Column("b", "b")]
    rows: list[Row] = [{"name": "x" * 20, "a": "1" * 6, "b": "2" * 6}, "z" * 50]
    steps: list[Step] = [Drop(("b",)), Shorten("name", 10), Drop(("a",)), Shorten("name", 4)]
    kept = {}
    for width in (36, 35, 28, 27, 18, 17, 10, 9, 4):
        lines = fitted(columns, rows, steps, width)
        assert max(width_of(line.text) for line in lines) <= width
        kept[width] = (sorted(lines[1].cells), lines[1].cells["name"][1])
    assert kept[36] == (["a", "b", "name"], 20)
    assert kept[35] == kept[28] == (["a", "name"], 20)
    assert kept[27] == (["a", "name"], 19)
    assert kept[18] == (["a", "name"], 10)
    assert kept[17] == kept[10] == (["name"], 10)
    assert kept[9] == (["name"], 9)
    start, end = fitted(columns, rows, steps, 36)[1].cells["b"]
    assert fitted(columns, rows, steps, 36)[1].text[start:end] == "222222"


def test_lists_are_cut_where_that_saves_a_line() -> None:
    assert first_of(range(11), 10) == (range(11), 0)
    assert first_of(range(12), 10) == (range(10), 2)
    assert fitting_line([("abc", 0), ("d", 1), ("e", 1), ("f", 2)], 5) == "abcde"
    assert fitting_line([("abc", 0), ("d", 1)], 2) == "abc"


def _settings(folder: Path, text: str, name: str = "pyproject.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


PROJECT = """
[tool.dkmd.gate]
margin = "4%"
alpha = 0.01
missing = "fail"
inconclusive = "pass"

[tool.dkmd.gate.benchmarks]
"noisy_*" = {margin = "20%"}
rate = {worse = "lower"}
"""


def test_the_nearest_project_file_with_settings_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    _settings(tmp_path, PROJECT)
    _settings(tmp_path / "a", "[tool.other]\nx = 1\n")  # has no settings of ours
    monkeypatch.chdir(below)
    found = read_settings(None)
    assert (found.margin, found.alpha, found.missing, found.inconclusive) == (
        "4%", 0.01, "fail", "pass",
    )  # fmt: skip
    assert {k: tuple(v) for k, v in found.rules.items()} == {
        "noisy_*": ("20%", None),
        "rate": (None, "lower"),
    }
    assert found.source == str(tmp_path / "pyproject.toml")
    own = _settings(below, 'margin = "9%"\n', "own.toml")
    assert read_settings(own).margin == "9%"
    given = found.with_options(margin="2%", alpha=None)
    assert (given.margin, given.alpha, given.rules["noisy_*"].margin) == ("2%", 0.01, None)
    assert given.rules["rate"].worse == "lower"


def test_without_a_file_there_are_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_settings(None) == GateSettings("5%", None, 0.05, "warn", "3")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('margni = "3%"', "unknown key 'margni' in tool.dkmd.gate: did you mean margin?"),
        ("speed = 3", "unknown key 'speed' in tool.dkmd.gate: known are margin, worse, alpha"),
        ("margin = [1]", "margin in tool.dkmd.gate must be a text such as '3%'"),
        ("alpha = 'x'", "alpha must be a number, got 'x'"),
        ("alpha = true", "alpha must be a number, got True"),
        ("worse = 'up'", "worse in tool.dkmd.gate must be 'higher' or 'lower', got 'up'"),
        ("missing = 1", "missing in tool.dkmd.gate must be 'warn' or 'fail', got 1"),
        ("benchmarks = 1", "benchmarks must be a table, got 1"),
        ("benchmarks.x = 1", "benchmarks.'x' must be a table, got 1"),
        ("benchmarks.x = {alpha = 1}", "unknown key 'alpha' in benchmarks.'x': known are margin"),
        ("margin = ", "is not valid TOML"),
    ],
)
def test_settings_that_cannot_be_meant_are_one_line(
    text: str, told: str, tmp_path: Path, suite: tuple[str, str]
) -> None:
    _settings(tmp_path, f"[tool.dkmd.gate]\n{text}\n")
    done = here("gate", *suite, code=2, cwd=tmp_path)
    assert told in done.stderr
    alone = _settings(tmp_path, text, "own.toml")
    done = here("gate", *suite, "--config", str(alone), code=2, cwd=tmp_path)
    assert told in done.stderr


def test_a_file_without_the_table_and_no_file_are_told(
    tmp_path: Path, suite: tuple[str, str]
) -> None:
    path = _settings(tmp_path, "[tool.other]\n", "own.toml")
    done = here("gate", *suite, "--config", str(path), code=2, cwd=tmp_path)
    assert "own.toml has no table [tool.dkmd.gate]" in done.stderr
    done = here("gate", *suite, "--config", "none.toml", code=2, cwd=tmp_path)
    assert done.stderr == "dkmd: there is no file none.toml\n"


def test_settings_reach_the_gate_and_are_named(tmp_path: Path, suite: tuple[str, str]) -> None:
    _settings(tmp_path, '[tool.dkmd.gate]\nmargin = "30%"\nmissing = "fail"\n')
    failed = here("gate", *suite, code=1, cwd=tmp_path).stdout
    assert failed.splitlines()[-1].startswith("✗ FAILED  none of 27 worse by more than 30%, 1 miss")
    assert "Note: settings from pyproject.toml." in failed
    assert _verdicts(failed)[0] == "missing"
    passed = here("gate", *suite, "--missing", "warn", code=0, cwd=tmp_path).stdout
    assert passed.splitlines()[-1].startswith("✓ PASSED  none of 27 worse by more than 30%, 1 miss")
    _settings(tmp_path, '[tool.dkmd.gate]\nbenchmarks = {"*" = {margin = "30%"}}\n')
    assert here("gate", *suite, code=0, cwd=tmp_path).code == 0
    here("gate", *suite, "--margin", "2%", code=1, cwd=tmp_path)


def test_ci_alone_changes_nothing(suite: tuple[str, str]) -> None:
    """A verdict that depends on the machine could not be repeated at the desk."""
    alike = [run("gate", *suite, "--margin", "30%", CI=ci) for ci in ("true", "")]
    assert alike[0] == alike[1]


def _many(count: int, verdict: str = "same") -> Gate:
    rows = tuple(
        GateRow(f"{LONG}{i}", "s", verdict, "", (20, 20), (1.0, 1.0), 0.0, (-0.01, 0.01), True, 1.0)
        for i in range(count)
    )
    return Gate(rows, (), (), "2%", None, 1.0)


@pytest.mark.parametrize("verdict", ["same", "worse"])
def test_markdown_fits_a_comment_however_many_benchmarks(verdict: str) -> None:
    text = _many(3000, verdict).markdown()
    assert len(text) < 65_536
    assert LONGEST > len(text) > LONGEST / 3
    assert re.search(r"<summary>[\d,]+ (more )?\w+, [\d,]+ listed</summary>", text)
    assert text.count("<details>") == text.count("</details>") == 1


def test_markdown_shows_what_matters_and_folds_the_rest(
    suite: tuple[str, str], tmp_path: Path
) -> None:
    def markdown(*words: str) -> str:
        path = tmp_path / "x.md"
        here("gate", *suite, "--margin", "2%", "--markdown", str(path), *words, code=1)
        return path.read_text()

    shown, *folded = markdown().split("<details>")
    assert shown.count("| worse |") == 10
    assert shown.count("| better |") == 2
    assert "missing from current: old" in shown
    assert [re.search("<summary>(.*)</summary>", part)[1] for part in folded] == [  # type: ignore[index]
        "2 more worse",
        "13 same",
    ]
    assert markdown("--all").count("| worse |") == 12
    only = markdown("--only", "better")
    assert (only.count("| better |"), only.count("| worse |")) == (2, 0)


def test_signs_of_the_outcome_have_spellings(suite: tuple[str, str]) -> None:
    done = run("gate", *suite, "--margin", "2%", code=1, PYTHONIOENCODING="ascii")
    assert done.stdout.splitlines()[-1].startswith("x FAILED  12 of 27")
    assert "?" not in done.stdout.splitlines()[-1]


def test_wide_names_keep_the_columns_in_line(suite: tuple[str, str]) -> None:
    lines = here("gate", *suite, "--margin", "2%", code=1).stdout.split("\n\n")[0].splitlines()
    rows: list[Any] = [line for line in lines[1:] if line.endswith("worse")]
    assert any("基" in row for row in rows)
    assert {cell_len(row) for row in rows} == {cell_len(rows[0])}
