"""The ``dkmd`` command: each command parses its arguments, calls the package and prints.

A command is a function in its own file, added in ``app``. It imports inside the function what it
needs beyond Typer and Rich, so that ``dkmd --help`` stays quick. Exit codes: 0 done; 1 done, and a
check failed; 2 bad input, an output that cannot be written, or a fault of dkmd, with one line on
standard error; 3 inconclusive.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from typing import Any, cast

from dkmd import __version__

BAD_INPUT = 2
NO_ANSWER = 3
INTERRUPTED = 130

EXPECTED = (ValueError, OSError, ImportError, MemoryError)
"""Errors that tell users what to do. Any other error is a fault of this package."""


def main() -> None:
    """Run the command line; an error becomes one line on standard error and exit code 2."""
    arguments = sys.argv[1:]
    gc.set_threshold(ALLOCATIONS, *gc.get_threshold()[1:])
    _occupy_standard_descriptors()
    sys.stdout, sys.stderr = _outlasting(sys.stdout, 1), _outlasting(sys.stderr, 2)
    debug = "--debug" in arguments
    try:
        code = _run([word for word in arguments if word != "--debug"] or ["--help"], debug)
    except KeyboardInterrupt:
        code = fail("interrupted", INTERRUPTED)
    if code == INTERRUPTED:
        _end_within(5.0)
    sys.exit(_delivered(code))


ALLOCATIONS = 50_000
"""New objects before Python looks for cycles. Imports make a million objects that stay.

Python's own limit of 700 makes a command 0.1 s slower, because Numba is looked through again and
again.
"""


class _Outlasting(io.FileIO):
    """A standard stream that raises no errors: text that cannot be written is lost.

    ``dkmd gate … | head -1`` must end with the exit code of the gate. Click, Rich and Python would
    each turn a broken pipe or a full disk into another exit code.

    Attributes
    ----------
    failure : OSError or None
        Why text was lost; None after a broken pipe, whose reader wanted no more.
    """

    def __init__(self, descriptor: int, closed: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failure: OSError | None = None
        self._was_closed = closed

    def write(self, content: Any) -> int:
        try:
            if self._was_closed:
                raise OSError(errno.EBADF, "it is closed")
            return super().write(content)
        except BrokenPipeError:
            pass
        except OSError as error:
            self.failure = error
        return memoryview(content).nbytes


def _occupy_standard_descriptors() -> None:
    """Keep data files from getting the number of a closed standard stream (``>&-``)."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)


def _outlasting(stream: Any, descriptor: int) -> Any:
    """A standard stream that raises no errors, and writes "?" for signs that it cannot encode."""
    if stream not in (sys.__stdout__, sys.__stderr__):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Outlasting(descriptor, closed=stream is None)),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="replace",  # a terminal without Unicode still gets an answer
        line_buffering=stream is not None and stream.line_buffering,
        write_through=stream is not None and stream.write_through,
    )


def _delivered(code: int) -> int:
    """The exit code once all output is written; BAD_INPUT instead of 0 if some of it was lost."""
    failure = output_failure()
    if failure is None or code == BAD_INPUT:
        return code
    return fail(f"standard output cannot be written to: {failure.strerror}", code or BAD_INPUT)


def output_failure() -> OSError | None:
    """Why standard output could not be written so far; None if it could, or if no one reads it."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return getattr(raw, "failure", None)


def _end_within(seconds: float) -> None:
    """End the process after this time at the latest: a thread may not notice the interrupt."""
    import threading

    from dkmd.base.spills import remove_all

    def leave() -> None:
        remove_all()
        os._exit(INTERRUPTED)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()


def _run(arguments: list[str], debug: bool) -> int:
    """The exit code of a run; ``debug`` prints the traceback of an error first."""
    try:
        if arguments == ["--version"]:  # answered without loading the commands
            print(f"dkmd {__version__}")
            return 0
        return _command(arguments)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # also panics of Rust, which are not Exceptions
        if _from_interrupt(error):
            raise KeyboardInterrupt from error
        if debug:
            import traceback

            traceback.print_exc()
        return fail(told(error) if isinstance(error, EXPECTED) else _fault(error), BAD_INPUT)


def _from_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused an error: a compiled module that it stops says "ImportError"."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__
    return False


def _command(arguments: list[str]) -> int:
    """The exit code of a command, as Typer runs it."""
    import typer

    from dkmd.cli.app import app

    # Typer has its own Click or uses the installed one; this is the base of its usage errors
    usage_error = cast(type[typer.BadParameter], typer.BadParameter.__base__)
    try:
        code = app(arguments, prog_name="dkmd", standalone_mode=False)
    except usage_error as error:
        return fail(f"{error.format_message().rstrip('.')}; see dkmd --help", BAD_INPUT)
    except typer.Abort:
        return fail("interrupted", INTERRUPTED)
    if code == INTERRUPTED:  # Typer's answer to Ctrl-C
        return fail("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def told(error: BaseException) -> str:
    """An error as a sentence, without the error number of the system."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no file {error.filename}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _fault(error: BaseException) -> str:
    """The message for an unexpected error, with how to report it."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"unexpected {what}. This is a fault of dkmd {__version__}, not an answer: please report "
        "it with what the same command shows with --debug"
    )


def fail(message: str, code: int) -> int:
    """Print in one line what is wrong, without passwords and control characters."""
    from dkmd.base.secrets import without_password
    from dkmd.base.wording import visible

    line = visible(without_password(" ".join(message.split())))
    print(f"dkmd: {line}", file=sys.stderr)
    return code
