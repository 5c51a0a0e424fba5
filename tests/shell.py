"""The ``dkmd`` command for tests: in a process of its own, or quicker in this one."""

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
"""The command, hearing SIGINT: shells let background jobs ignore it, and children inherit that."""


class Done(NamedTuple):
    """What a run left."""

    code: int
    stdout: str
    stderr: str


def run(
    *words: str,
    code: int = 0,
    stdin: str | None = None,
    cwd: Path = ROOT,
    answered: bool = False,
    **environment: str,
) -> Done:
    """Run the installed command in a process of its own; see ``_checked``."""
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
    """Run the command with a shell's word after it, such as ``> /dev/full`` or ``| head -1``.

    The exit code is that of the command.
    """
    line = f"{shlex.join([str(COMMAND), *words])} {redirection}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def here(*words: str, code: int | None = 0, cwd: Path = ROOT, answered: bool = False) -> Done:
    """Run the command in this process, which is quicker: for what does not depend on that."""
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
    """The exit code as expected (any, if None); bad input is one line, never a traceback.

    Nothing is answered then, but where an answer could not be written to its file as well.
    """
    assert code in (None, done.code), done.stderr
    assert "Traceback" not in done.stderr
    if done.code == 2:
        assert done.stderr.startswith("dkmd: ")
        assert len(done.stderr.splitlines()) == 1
        assert bool(done.stdout) == answered
    return done
