"""The command's output: files, standard output and exit codes in difficult cases."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import COMMAND, ROOT, here, through

import dkmd
import dkmd.answers.gate
import dkmd.inference.plan.planning
from dkmd import Summary
from dkmd.cli.options import require_outputs

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

DATA, BENCH = ROOT / "examples" / "data", ROOT / "examples" / "bench"
BEFORE, AFTER = str(DATA / "latency_before.csv"), str(DATA / "latency_after.csv")
MAIN, BRANCH = str(BENCH / "hyperfine-main.json"), str(BENCH / "hyperfine-branch.json")
COMPARE, DRIFT = ("compare", BEFORE, AFTER), ("drift", BEFORE, AFTER)
FAILS, PASSES = ("gate", MAIN, BRANCH), ("gate", MAIN, MAIN, "--margin", "50%")


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with copies of data that a test may damage."""
    for path in (BEFORE, AFTER, MAIN, BRANCH):
        (tmp_path / Path(path).name).write_bytes(Path(path).read_bytes())
    return tmp_path


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


LATENCY = ("latency_before.csv", "latency_after.csv")
BUILDS = ("hyperfine-main.json", "hyperfine-branch.json")


@pytest.mark.parametrize(
    "words",
    [
        ("compare", *LATENCY, "--report", "latency_before.csv"),
        ("compare", *LATENCY, "--report", "./latency_after.csv"),
        ("compare", *LATENCY, "--report", "link"),
        ("compare", "latency_*.csv", "latency_after.csv", "--report", "latency_before.csv"),
        ("compare", ".", "latency_after.csv", "-c", "latency_ms", "--report", "latency_before.csv"),
        ("drift", *LATENCY, "--report", "latency_after.csv"),
        ("gate", *BUILDS, "--markdown", "hyperfine-branch.json"),
        ("gate", *BUILDS, "--report", "hyperfine-main.json"),
        ("summarize", "old.dkmd", "-o", "old.dkmd"),
        ("summarize", "latency_after.csv", "-o", "old.dkmd", "--like", "old.dkmd"),
    ],
)
def test_an_input_is_not_overwritten(words: tuple[str, ...], inputs: Path) -> None:
    (inputs / "link").symlink_to("latency_before.csv")
    here("summarize", "latency_before.csv", "-o", "old.dkmd", "-q", cwd=inputs)
    before = _contents(inputs)
    message = here(*words, cwd=inputs, code=2).stderr
    assert "would overwrite an input: give another name, or --force" in message
    assert _contents(inputs) == before


def test_force_overwrites_an_input(inputs: Path) -> None:
    words = ("compare", *LATENCY, "--report", "latency_before.csv", "--force")
    assert "HIGHER" in here(*words, cwd=inputs).stdout
    page = (inputs / "latency_before.csv").read_text()
    assert page.startswith("<!doctype html>")
    assert "--force" not in page
    here("summarize", "latency_after.csv", "-o", "x.dkmd", "-q", cwd=inputs)
    like = ("summarize", "latency_after.csv", "-o", "x.dkmd", "--like", "x.dkmd", "--force")
    here(*like, cwd=inputs)
    here("gate", *BUILDS, "--markdown", BUILDS[0], "--force", cwd=inputs, code=1)
    assert (inputs / BUILDS[0]).read_text().startswith("**✗ FAILED**")
    here("drift", *(LATENCY[1],) * 2, "--report", LATENCY[1], "--force", cwd=inputs)


def test_an_earlier_page_beside_the_data_is_replaced(inputs: Path) -> None:
    """A file in an input folder is not an input unless it holds data."""
    words = ("compare", ".", "latency_after.csv", "-c", "latency_ms", "--report", "page.html")
    for name in BUILDS:
        (inputs / name).unlink()
    (inputs / "page.html").write_text("old")
    here(*words, cwd=inputs)
    assert (inputs / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("option", ["--report", "--markdown"])
def test_a_dash_is_no_file(option: str, tmp_path: Path) -> None:
    message = here(*FAILS, option, "-", code=2, cwd=tmp_path).stderr
    assert f"{option} - would mix with the answer on standard output" in message
    assert not list(tmp_path.iterdir())


def test_a_dash_is_refused_before_an_hour_of_work(tmp_path: Path) -> None:
    words = ("reproduce", "--only", "table1", "--quick", "--out", "out", "--markdown", "-")
    assert "--markdown - would mix" in here(*words, code=2, cwd=tmp_path).stderr
    (tmp_path / "folder").mkdir()
    words = (*words[:-1], "folder")
    assert "folder is a folder" in here(*words, code=2, cwd=tmp_path).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_file_that_takes_the_answer_takes_no_page(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = through(f"> {out}", *FAILS, "--markdown", str(out))
    assert done.code == 2
    assert "would mix with the answer" in done.stderr
    assert out.read_text() == ""


def test_two_outputs_need_two_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("x")
    words = ("--report", "x", "--markdown", "link")
    assert "name the same file" in here(*FAILS, *words, code=2, cwd=tmp_path).stderr
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    require_outputs({"--report": pipe, "--markdown": pipe})  # a pipe takes both in turn


def test_a_page_is_written_to_a_pipe_and_a_private_file_stays_private(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    private = tmp_path / "private.md"
    private.touch(0o600)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    here(*FAILS, "--report", "pipe", "--markdown", "private.md", cwd=tmp_path, code=1)
    reader.join()
    assert read[0].startswith("<!doctype html>")
    assert read[0].endswith("</html>\n")
    assert (tmp_path / "pipe").is_fifo()
    assert private.read_text().startswith("**✗ FAILED**")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.parametrize(("words", "code"), [(FAILS, 1), (PASSES, 2), (COMPARE, 2), (DRIFT, 2)])
def test_a_file_that_cannot_be_written_does_not_cost_the_answer(
    words: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """The exit code of "worse" stays 1, and 0 becomes 2."""
    (tmp_path / "loop").symlink_to("loop")
    option = "--markdown" if words[0] == "gate" else "--report"
    done = here(*words, option, "loop", "-q", code=code, answered=code == 2, cwd=tmp_path)
    told, _, verdict = done.stderr.partition("; ")
    assert told.rstrip() == "dkmd: loop: Too many levels of symbolic links"
    assert ("the verdict is " in verdict) == (words[0] == "gate")
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]
    assert done.stdout == here(*words, "-q", code=None).stdout


def test_a_file_that_cannot_be_written_does_not_cost_the_others(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    words = (*FAILS, "--markdown", "loop", "--report", "page.html", "-q")
    here(*words, code=1, cwd=tmp_path)
    assert (tmp_path / "page.html").read_text().endswith("</html>\n")


@pytest.mark.parametrize(
    ("redirection", "why"), [("> /dev/full", "No space left on device"), (">&-", "it is closed")]
)
@pytest.mark.parametrize(
    ("words", "code"),
    [(FAILS, 1), (PASSES, 2), ((*COMPARE, "--json"), 2), (("--version",), 2), (("--help",), 2)],
)
def test_an_answer_that_cannot_be_shown_is_an_error(
    words: tuple[str, ...], code: int, redirection: str, why: str
) -> None:
    done = through(redirection, *words)
    assert done.stderr.splitlines()[-1] == f"dkmd: standard output cannot be written to: {why}"
    assert done.code == code
    assert sum("standard output" in line for line in done.stderr.splitlines()) == 1


def test_silence_needs_no_standard_output(tmp_path: Path) -> None:
    done = through(">&-", "summarize", BEFORE, "-o", "x.dkmd", "-q", cwd=tmp_path)
    assert (done.code, done.stderr) == (0, "")
    assert Summary.load(tmp_path / "x.dkmd").size == 1000


def test_a_closed_standard_error_or_input_changes_nothing() -> None:
    done = through("2>&- <&-", *FAILS, "--json")
    assert done.code == 1
    assert json.loads(done.stdout)["outcome"] == "failed"
    nothing = through("<&-", "compare", BEFORE, "-")
    assert nothing.code == 3
    assert "standard input has no rows" in nothing.stdout


def _fail_with(error: BaseException) -> Callable[..., Any]:
    def fails(*_words: Any, **_options: Any) -> Any:
        raise error

    return fails


class PanicError(BaseException):
    """What a Rust extension raises when it panics."""


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division by zero"),
        TypeError("unsupported operand"),
        KeyError("bins"),
        AssertionError(),
        OverflowError("math range error"),
        RecursionError("too deep"),
        PanicError("index out of bounds"),
    ],
)
@pytest.mark.parametrize(
    ("words", "module", "function"),
    [
        (FAILS, "dkmd.answers.gate", "gate"),
        (DRIFT, "dkmd.answers.many_columns", "compare_pair"),
        (COMPARE, "dkmd.answers.asked", "compare_pair"),
        (("plan", BEFORE, "-n", "50"), "dkmd.inference.plan.planning", "plan"),
    ],
)
def test_an_error_that_nobody_foresaw_is_no_verdict(
    words: tuple[str, ...],
    module: str,
    function: str,
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules[module], function, _fail_with(error))
    message = here(*words, code=2).stderr
    assert f"unexpected {type(error).__name__}" in message
    assert "please report it with what the same command shows with --debug" in message


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ImportError("Arrow files need pyarrow: pip install pyarrow"), "need pyarrow"),
        (MemoryError(), "dkmd: MemoryError\n"),
        (OSError(5, "Input/output error", "disk"), "dkmd: disk: Input/output error\n"),
        (ValueError("a reason\nof two lines"), "dkmd: a reason of two lines\n"),
    ],
)
def test_an_error_that_was_foreseen_tells_what_to_do(
    error: Exception, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dkmd.answers.gate, "gate", _fail_with(error))
    message = here(*FAILS, code=2).stderr
    assert shown in message
    assert "unexpected" not in message


def test_ctrl_c_in_a_compiled_module_that_is_being_loaded_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    monkeypatch.setattr(dkmd.answers.gate, "gate", _fail_with(error))
    monkeypatch.setattr(dkmd.cli, "_end_within", lambda _: None)
    assert here(*FAILS, code=130).stderr.endswith("dkmd: interrupted\n")


def test_debug_shows_where_and_still_gives_no_verdict() -> None:
    words = [str(COMMAND), "gate", "none.json", "none.json", "--debug"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1] == "dkmd: there is no file none.json"


@pytest.mark.parametrize(
    "ends", [(1e-300, 1e100), (1e100, 1e-300), (5e-324, 1.7e308), (0.0, 1e308)]
)
@pytest.mark.parametrize("command", ["compare", "drift"])
def test_extreme_values_get_an_answer_and_a_page_or_a_reason(
    command: str, ends: tuple[float, float], tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    for name, end in zip(("a.csv", "b.csv"), ends, strict=True):
        rows = [
            f"{float(v)!r},{float(w)!r}"
            for v, w in zip(end * rng.uniform(0.5, 1.0, 40), rng.random(40), strict=True)
        ]
        (tmp_path / name).write_text("\n".join(["far,near", *rows]) + "\n")
    words = [command, "a.csv", "b.csv", "-c", "far", "--report", "page.html"]
    words += ["-c", "near"] if command == "drift" else []
    for margin in ([], ["--margin", "3%"], ["--margin", "0.1sd"], ["--margin", "1"]):
        done = here(*words, *margin, cwd=tmp_path, code=None)
        assert "unexpected" not in done.stderr
        assert "encountered" not in done.stdout  # NumPy's own words
        assert done.code in (0, 2, 3)
        if done.code == 0:
            assert (tmp_path / "page.html").read_text().endswith("</html>\n")


RED = "\x1b[31mred\x9b2J\x07\u202e"


def test_names_from_data_do_not_steer_the_terminal(tmp_path: Path) -> None:
    """Names of columns, levels and files, and bad values: as text, as JSON and in errors."""
    rng = np.random.default_rng(3)
    rows = [f"{v},{w},word" for v, w in rng.normal(size=(60, 2))]
    file = f"{RED}.csv"
    (tmp_path / file).write_text(f"{RED} a,{RED} b,{RED} c\n" + "\n".join(rows) + "\n")
    levels = "".join(f"{v},{level}\n" for v in rng.normal(size=30) for level in ("x", RED, "z"))
    (tmp_path / "levels.csv").write_text("v,by\n" + levels)
    by = ("compare", "levels.csv", "-c", "v", "--by", "by", "--reference")
    for code, words in (
        (0, ("drift", file, file)),
        (0, ("drift", file, file, "--json")),
        (0, (*by, "x")),
        (0, (*by, "x", "--json")),
        (0, (*by, RED, "--current", "z")),
        (2, (*by, f"{RED}?", "--current", "z")),
        (3, ("compare", file, file, "-c", f"{RED} c")),
        (2, ("compare", f"{RED}gone.csv", file)),
        (0, ("summarize", file, "-c", f"{RED} a", "-o", f"{RED}.dkmd")),
        (0, ("compare", file, file, "-c", f"{RED} a", "--report", f"{RED}.html")),
        (3, ("gate", file, file)),
        (3, ("gate", file, file, "--json")),
    ):
        done = here(*words, cwd=tmp_path, code=code)
        assert (done.stdout + done.stderr).replace("\n", "").isprintable(), words
    document = json.loads(here("drift", file, file, "--json", cwd=tmp_path).stdout)
    assert {entry["key"] for entry in document["comparisons"]} == {f"{RED} a", f"{RED} b"}
    assert list(document["skipped"]) == [f"{RED} c"]


def test_the_names_of_an_answer_do_not_steer_a_console() -> None:
    frame = pd.DataFrame({f"{RED}{i}": [1.0, 2.0, 4.0, 3.0, 1.5] for i in range(3)})
    answer = dkmd.drift(frame, frame + 100.0)
    assert answer.beyond
    for shown in (repr(answer), str(answer), repr(answer[f"{RED}0"]), str(answer[f"{RED}0"])):
        assert shown.replace("\n", "").isprintable()
