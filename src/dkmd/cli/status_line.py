"""One line on a terminal that is written again and again; nothing without a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from dkmd.base.wording import visible
from dkmd.cli.terminal import width

OFTEN = 0.25
"""Seconds between two states."""

CLEAR = "\r\x1b[K"


class StatusLine:
    """A line on standard error, if that is a terminal and not silenced."""

    def __init__(self, quiet: bool = False) -> None:
        self.shown = not quiet and sys.stderr.isatty()
        self._last = 0.0

    def show(self, words: Callable[[], str]) -> None:
        """Write the state, at most four times a second."""
        now = time.monotonic()
        if self.shown and now - self._last >= OFTEN:
            self._last = now
            text = visible(words())[: width() - 1]
            sys.stderr.write(f"{CLEAR}{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line, so that something else can be written."""
        if self.shown:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            self._last = 0.0
