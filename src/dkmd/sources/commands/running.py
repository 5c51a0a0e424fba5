"""One run of a command: its wall time, and the processor time of all its processes.

The command gets a process group of its own, so that all of it can be ended. Its standard input is
empty. Its output is discarded, but the end of its standard error is kept for error messages.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from dkmd.base.errors import DkmdError

TAIL = 400
"""Bytes of standard error that an error message shows."""

PATIENCE = 2.0
"""Seconds that an interrupted command has to end, before it is killed."""

DEFAULTS = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM]
"""Signals that Python or a shell may ignore. A command must not inherit that."""


Files = list[tuple[int, ...] | tuple[int, int, str, int, int]]
"""What is done with the standard streams of a command (``os.posix_spawn``)."""


class CommandError(DkmdError):
    """A command cannot be started, or it failed. The message has the end of its output."""


class Run(NamedTuple):
    """The measurements of one run, in seconds.

    Memory is not among them: Linux counts that of dkmd itself, before the program is loaded.
    """

    wall: float
    user: float
    system: float
    code: int  # below 0: the number of the signal that ended it

    @property
    def cpu(self) -> float:
        """Processor time, which other processes disturb less than wall time."""
        return self.user + self.system

    def ended(self) -> str:
        """How a run ended that failed."""
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with exit code {self.code}"


@dataclass(frozen=True)
class Runner:
    """How commands are run.

    Parameters
    ----------
    shell : str
        The shell that reads the commands, with options; "" starts them without a shell.
    show_output : bool
        Let commands write to the terminal.
    """

    shell: str = "/bin/sh"
    show_output: bool = False

    def words(self, command: str) -> list[str]:
        """A command as the program to start and its arguments."""
        try:
            words = (
                [*shlex.split(self.shell), "-c", command] if self.shell else shlex.split(command)
            )
        except ValueError as error:
            raise CommandError(f"cannot split {command!r} into words: {error}") from None
        if not words or not (command.strip()):
            raise CommandError("a command is empty")
        program = shutil.which(words[0])
        if program is None:
            hint = "" if self.shell else ": without a shell, aliases and built-ins are unknown"
            raise CommandError(f"there is no program {words[0]!r}{hint}")
        return [program, *words[1:]]

    def run(self, command: str) -> tuple[Run, str]:
        """Run a command once. Returns what was measured, and the end of its standard error."""
        program, *rest = self.words(command)
        with tempfile.TemporaryFile() as errors:
            run = _measured([program, *rest], self._files(errors.fileno()))
            return run, _tail(errors.fileno())

    def _files(self, errors: int) -> Files:
        """Where the standard streams of a command go."""
        nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        if self.show_output:
            return [nothing]
        return [
            nothing,
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, errors, 2),
        ]


def _measured(words: list[str], files: Files) -> Run:
    """Start a program and wait for its end. An interrupt ends the program first."""
    process = 0
    environment = dict(os.environ)
    start = time.perf_counter()
    try:
        process = os.posix_spawn(
            words[0], words, environment, file_actions=files, setpgroup=0, setsigdef=DEFAULTS
        )
        _, status, used = os.wait4(process, 0)
        wall = time.perf_counter() - start
    except OSError as error:
        raise CommandError(f"cannot start {words[0]}: {error.strerror}") from None
    except BaseException:
        if process:
            _end(process)
        raise
    return Run(wall, used.ru_utime, used.ru_stime, os.waitstatus_to_exitcode(status))


def _end(process: int) -> None:
    """End a command and everything that it started: ask, wait, then kill."""
    with suppress(ProcessLookupError, ChildProcessError):
        os.killpg(process, signal.SIGTERM)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if os.waitpid(process, os.WNOHANG)[0]:
                break
            time.sleep(0.01)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(process, 0)


def _tail(descriptor: int) -> str:
    """The end of what a command wrote to standard error."""
    size = os.fstat(descriptor).st_size
    content = os.pread(descriptor, TAIL, max(0, size - TAIL)).decode("utf-8", "replace").strip()
    return f"…{content}" if size > TAIL else content
