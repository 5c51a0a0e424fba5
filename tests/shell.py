"""The ``dkmd`` command for tests: in a separate process, or faster in this one."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from dkmd.cli import main

ROOT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).parent / "dkmd"


HEARS = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
HEARS += "os.execv(sys.argv[1], sys.argv[1:])"
INTERRUPTIBLE = (sys.executable, "-c", HEARS, str(COMMAND))
"""The command with SIGINT enabled: shells disable it for background jobs and their children."""


class Done(NamedTuple):
    """The result of a run."""

    code: int
    stdout: str
    stderr: str


def answer_in(stdout: str) -> str:
    """The answer at the end of what a command printed, on one line."""
    return " ".join(stdout.rstrip().split("\n\n")[-1].split())


def run(
    *words: str,
    code: int = 0,
    stdin: str | None = None,
    cwd: Path = ROOT,
    answered: bool = False,
    **environment: str,
) -> Done:
    """Run the installed command in a separate process; see ``_checked``."""
    done = subprocess.run(
        [COMMAND, *words],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        check=False,
    )
    return _checked(Done(done.returncode, done.stdout, done.stderr), code, answered)


def through(redirection: str, *words: str, cwd: Path = ROOT) -> Done:
    """Run the command with a shell suffix such as ``> /dev/full`` or ``| head -1``.

    The exit code is that of the command.
    """
    line = f"{shlex.join([str(COMMAND), *words])} {redirection}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def here(*words: str, code: int | None = 0, cwd: Path = ROOT, answered: bool = False) -> Done:
    """Run the command in this process, which is faster. Use it if the process does not matter."""
    out, err = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(cwd),
        patch.object(sys, "argv", ["dkmd", *words]),
        pytest.raises(SystemExit) as left,
    ):
        main()
    done = Done(int(left.value.code or 0), out.getvalue(), err.getvalue())
    return _checked(done, code, answered)


def _checked(done: Done, code: int | None, answered: bool) -> Done:
    """Check the exit code (any, if None). Bad input gives one line, never a traceback.

    There is no answer then, unless only writing the answer to its file failed.
    """
    assert code in (None, done.code), done.stderr
    assert "Traceback" not in done.stderr
    if done.code == 2:
        assert done.stderr.startswith("dkmd: ")
        assert len(done.stderr.splitlines()) == 1
        assert bool(done.stdout) == answered
    return done
