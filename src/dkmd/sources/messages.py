"""What engines say when they do not answer, in one line and fit to be shown."""

from __future__ import annotations

import re


class EngineError(ValueError):
    """An engine did not answer; the message is its own, in one line."""


def gist(error: BaseException) -> str:
    """The first line of an engine's message, without the kind of error and without passwords."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("LINE ", "^"))]
    words = re.sub(r"^[A-Z][A-Za-z ]*Error: ", "", lines[0]) if lines else type(error).__name__
    words = f"{words} {lines[1]}" if len(lines) > 1 and len(words) < 60 else words
    return re.sub(r"://[^@/\s]*@", "://…@", words)
