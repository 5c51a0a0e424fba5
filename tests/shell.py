"""The ``dkmd`` command for tests: in a process of its own, or quicker in this one."""

from __future__ import annotations

import io
import os
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


class Done(NamedTuple):
    """What a run left."""

    code: int
    stdout: str
    stderr: str


def run(
    *words: str, code: int = 0, stdin: str | None = None, cwd: Path = ROOT, **environment: str
) -> Done:
    """Run the installed command in a process of its own."""
    done = subprocess.run(
        [COMMAND, *words],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        check=False,
    )
    return _checked(Done(done.returncode, done.stdout, done.stderr), code)


def here(*words: str, code: int | None = 0, cwd: Path = ROOT) -> Done:
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
    return _checked(Done(int(left.value.code or 0), out.getvalue(), err.getvalue()), code)


def _checked(done: Done, code: int | None) -> Done:
    """The exit code as expected (any, if None); bad input is one line, never a traceback."""
    assert code in (None, done.code), done.stderr
    assert "Traceback" not in done.stderr
    if done.code == 2:
        assert done.stderr.startswith("dkmd: ")
        assert len(done.stderr.splitlines()) == 1
        assert not done.stdout
    return done
