"""The ``dkmd`` command. Each command parses its words, calls the package and prints; no more.

A command is a function in a file of its own, added in ``app``; what it needs beyond Typer and Rich
is imported inside it, so that ``dkmd --help`` stays quick. Exit codes: 0 done, 1 done and the
answer is no (a check failed), 2 bad input, told in one line, 3 no answer could be given.
"""

from __future__ import annotations

import io
import sys
from typing import Any, cast

from dkmd import __version__

BAD_INPUT = 2
NO_ANSWER = 3
INTERRUPTED = 130


def main() -> None:
    """Run the command line; bad input becomes one line on stderr and exit code 2."""
    arguments = sys.argv[1:]
    sys.stdout, sys.stderr = _outlasting(sys.stdout), _outlasting(sys.stderr)
    if arguments == ["--version"]:  # answered without loading what the commands need
        print(f"dkmd {__version__}")
        return
    debug = "--debug" in arguments
    try:
        code = _run([word for word in arguments if word != "--debug"] or ["--help"], debug)
    except KeyboardInterrupt:
        code = _fail("interrupted", INTERRUPTED)
    if code == INTERRUPTED:
        _end_within(5.0)
    sys.exit(code)


class _Outlasting(io.FileIO):
    """A file whose reader may go away: what is written then is lost, and nothing else happens.

    ``dkmd gate … | head -1`` must end with the exit code of the gate. Click, Rich and Python itself
    would each make another one of a broken pipe.
    """

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except BrokenPipeError:
            return memoryview(content).nbytes


def _outlasting(stream: Any) -> Any:
    """A standard stream that does not break, and writes what its encoding cannot as "?"."""
    if stream not in (sys.__stdout__, sys.__stderr__) or stream is None:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        return stream
    raw = _Outlasting(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="replace",  # a terminal without Unicode still gets an answer
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _end_within(seconds: float) -> None:
    """End the process after that time at the latest: a thread may never hear of the interrupt."""
    import os
    import threading

    timer = threading.Timer(seconds, os._exit, (INTERRUPTED,))
    timer.daemon = True
    timer.start()


def _run(arguments: list[str], debug: bool) -> int:
    """The exit code of a run; ``debug`` lets errors through with their traceback."""
    import typer

    from dkmd.cli.app import app

    # Typer brings its own Click or uses the installed one: its usage error is known by this base
    usage_error = cast(type[typer.BadParameter], typer.BadParameter.__base__)
    try:
        code = app(arguments, prog_name="dkmd", standalone_mode=False)
    except usage_error as error:
        return _fail(f"{error.format_message().rstrip('.')}; see dkmd --help", BAD_INPUT)
    except typer.Abort:
        return _fail("interrupted", INTERRUPTED)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if debug:
            raise
        return _fail(_told(error), BAD_INPUT)
    if code == INTERRUPTED:  # Typer's answer to Ctrl-C
        return _fail("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _told(error: Exception) -> str:
    """An error in words: a system's own come with a number that helps nobody."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no file {error.filename}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _fail(message: str, code: int) -> int:
    """Say in one line what is wrong, and no password with it."""
    from dkmd.sources.messages import without_password

    print(f"dkmd: {without_password(' '.join(message.split()))}", file=sys.stderr)
    return code
