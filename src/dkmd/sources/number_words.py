"""Text that spells a number or a missing value, and levels in their order.

The one place that knows the words for a missing value.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable

from dkmd.base.errors import NotANumberError

MISSING_AS_WRITTEN = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""Common spellings of a missing value."""

MISSING = tuple(dict.fromkeys(word.lower() for word in MISSING_AS_WRITTEN))
"""The same words in lower case. Text is compared in lower case, too."""

SPREADSHEET_ERRORS = (
    "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "#error!", "#spill!",
    "#calc!",
)  # fmt: skip

MISSING_NUMBERS = (*MISSING, *SPREADSHEET_ERRORS, "-")
"""Words for a missing value among numbers. Among categories they may be levels."""

SHOWN = 20
"""Levels that an error shows."""


def parse_number(text: str) -> float | None:
    """A number from text; NaN for a missing value, None for any other word."""
    word = text.strip()
    if word.lower() in MISSING_NUMBERS:
        return math.nan
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.lower())


def is_comment(line: str) -> bool:
    """Whether a line of plain numbers is a comment: it begins with # and is not #N/A or #DIV/0!."""
    return line.startswith("#") and parse_number(line) is None


def not_a_number(where: str, row: int, value: object) -> ValueError:
    """The error for a cell that is not a number."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return NotANumberError(f"{where}, row {row:,}: {shown} is not a number")


def level_order(level: str) -> tuple[bool, float, str]:
    """A sort key: levels that are numbers come first, by size; then text."""
    number = parse_number(level)
    if number is None or math.isnan(number):
        return True, 0.0, level
    return False, number, level


def no_such_level(by: str, level: str, levels: Iterable[str]) -> ValueError:
    """The error for a level that a column does not have; of many levels it shows the nearest."""
    there = sorted(levels, key=level_order)
    start = bisect.bisect(there, level_order(level), key=level_order) - SHOWN // 2
    start = max(0, min(start, len(there) - SHOWN))
    shown = ", ".join(map(repr, there[start : start + SHOWN])) or "none"
    which = "it has" if len(there) <= SHOWN else "the nearest that it has are"
    return ValueError(f"column {by!r} has no level {level!r}: {which} {shown}")
