"""Text that spells a number or a missing value, and the order of levels.

The one place that knows the words for a missing value.
"""

from __future__ import annotations

import math

from dkmd.base.errors import NotANumberError

MISSING_AS_WRITTEN = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None")
"""Common spellings of a missing value."""

MISSING = tuple(dict.fromkeys(word.lower() for word in MISSING_AS_WRITTEN))
"""The same words in lower case. Text is compared in lower case, too."""


def parse_number(text: str) -> float | None:
    """A number from text; NaN for a missing value, None for any other word."""
    word = text.strip()
    if word.lower() in MISSING:
        return math.nan
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.lower())


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
