"""What a terminal shows: colour, progress, a message on Ctrl-C. Pipes get none of it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from shell import COMMAND, INTERRUPTIBLE, ROOT

from dkmd.cli.show import is_first_run

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

BENCH = ROOT / "examples" / "bench"
GATE = ["gate", str(BENCH / "hyperfine-main.json"), str(BENCH / "hyperfine-branch.json")]
RED, CLEAR_LINE = "\x1b[31m", "\x1b[2K"


def _on_terminal(*words: str, interrupt_at: str = "", **environment: str) -> tuple[str, int]:
    """What a terminal shows, and the exit code. The run is interrupted when a text appears."""
    screen, side = pty.openpty()
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    process = subprocess.Popen(
        [*INTERRUPTIBLE, *words],
        stdin=side, stdout=side, stderr=side,
        env=known | {"TERM": "xterm-256color"} | environment,
    )  # fmt: skip
    os.close(side)
    shown = b""
    while True:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # the terminal closes with the last process that uses it
            break
        shown += piece
        if interrupt_at and interrupt_at.encode() in shown:
            process.send_signal(signal.SIGINT)
            interrupt_at = ""
    os.close(screen)
    return shown.decode(), process.wait()


def test_colour_is_for_terminals_and_no_color_turns_it_off() -> None:
    shown, code = _on_terminal(*GATE, "--margin", "3%")
    assert f"{RED}✗ FAILED" in shown.replace("\x1b[1;31m", RED)
    assert code == 1
    plain, _ = _on_terminal(*GATE, "--margin", "3%", NO_COLOR="1")
    assert "FAILED" in plain
    assert "[31m" not in plain
    assert "[1;31m" not in plain
    piped = subprocess.run([COMMAND, *GATE, "--margin", "3%"], capture_output=True, check=False)
    assert b"\x1b" not in piped.stdout + piped.stderr


@pytest.mark.parametrize("words", [[], ["--quiet"]])
def test_a_long_drift_shows_a_bar_unless_it_is_quiet(words: list[str], tmp_path: Path) -> None:
    for seed, name in enumerate(("a.csv", "b.csv")):
        _write_columns(tmp_path / name, seed, 20)
    shown, code = _on_terminal("drift", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), *words)
    assert ("━" in shown) == (not words)
    assert ("Watch out" in shown) == (not words)
    assert code == 0


def test_ctrl_c_ends_it_in_one_line(tmp_path: Path) -> None:
    for seed, name in enumerate(("a.csv", "b.csv")):
        _write_columns(tmp_path / name, seed, 200)
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    shown, code = _on_terminal("drift", *files, interrupt_at="━")
    assert shown.endswith(f"{CLEAR_LINE}dkmd: interrupted\r\n")
    assert "Traceback" not in shown
    assert code == 130


def test_completion_installs_and_completes(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    _, code = _on_terminal("--install-completion", "bash", **home)
    assert code == 0
    assert "_DKMD_COMPLETE" in (tmp_path / ".bash_completions" / "dkmd.sh").read_text()
    asked = {"_DKMD_COMPLETE": "complete_bash", "COMP_WORDS": "dkmd co", "COMP_CWORD": "1"}
    completed = subprocess.run(
        [COMMAND], capture_output=True, text=True, check=False, env=os.environ | asked
    )
    assert completed.stdout.split() == ["compare"]


def _write_columns(path: Path, seed: int, columns: int) -> None:
    values = np.random.default_rng(seed).normal(size=(200, columns))
    head = ",".join([*(f"c{i}" for i in range(columns)), "word"])
    lines = [",".join([*map("{:.3f}".format, row), "text"]) for row in values]
    path.write_text("\n".join([head, *lines]) + "\n")


def test_the_spinner_says_that_the_first_run_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    cache = tmp_path / "inference" / "__pycache__"
    cache.mkdir(parents=True)
    assert is_first_run(tmp_path)
    (cache / "sides.center_of-1.py311.nbi").touch()
    assert not is_first_run(tmp_path)


def test_a_cache_at_another_place_is_no_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inference").mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not is_first_run(tmp_path)
