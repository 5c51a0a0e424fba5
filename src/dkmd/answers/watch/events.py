"""What a watch tells as it happens: a line for people, and an object for programs."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from dkmd.answers.comparison import FORMAT_VERSION


@dataclass(frozen=True)
class Event:
    """An alarm or a decision.

    Attributes
    ----------
    text : str
        One line; empty if people have been told before.
    document : dict
        Everything, unrounded.
    """

    text: str
    document: dict[str, Any]


def event(kind: str, text: str, **content: Any) -> Event:
    """An event of now."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    head = {"format": f"dkmd-watch-{kind}", "version": FORMAT_VERSION, "time": now}
    return Event(text, head | content)
