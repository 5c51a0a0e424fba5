"""Text that spells a number or a missing value, and levels in their order.

The one place that knows the words for a missing value.
"""

from __future__ import annotations

import bisect
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError, NotANumberError

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

YES_NO = {"yes_no": ("no", "yes"), "t_f": ("f", "t"), "y_n": ("n", "y")}
"""Pairs of words for no and yes, beside false and true."""

EXACT_UP_TO = 2**53
"""Doubles hold all whole numbers up to here."""

PRINTED = 17
"""The most digits of a double in print. A text with a point and more digits was no double."""


UNIT = re.compile(
    r"\s*[-+]?\s*(?:[$€£¥]\s*[-+]?[0-9][0-9.,]*"
    r"|[0-9][0-9.,]*(?:e[-+]?[0-9]+)?\s*(?:%|‰|[$€£¥]|°[CF]?|[nuµμm]?s|secs?|seconds?|min|minutes?|h|hrs?|"
    r"hours?|d|days?|[kKMGT]i?[bB]|bytes?|[mck]?m|[mk]?g|lbs?|oz|[kM]?Hz|GHz|[kM]?W|kWh|m?V|m?A|px|"
    r"km/h|mph|USD|EUR|GBP|k|bn))\s*"
)
"""A number with a unit: 12 ms, $12, 12%. Single capital letters are no units: 5G, 12B."""


def number_with_unit(counts: Mapping[str, int]) -> str:
    """A cell that is a number with a unit, if most cells are; else empty."""
    found = {cell: n for cell, n in counts.items() if UNIT.fullmatch(cell)}
    return next(iter(found)) if 2 * sum(found.values()) > sum(counts.values()) else ""


HAS_UNIT = (
    "looks like numbers with a unit, such as {0!r}, and is compared as categories: leave the unit "
    "out of the cells to compare numbers"
)

SIGNS = {",": ".", ".": ","}
"""The decimal signs, each with the sign between thousands that goes with it."""

GROUPED = {
    sign: rf"[-+]?[1-9][0-9]{{0,2}}([{between}][0-9]{{3}})+([{sign}][0-9]*)?"
    for sign, between in SIGNS.items()
}
"""Numbers with a sign between thousands, by their decimal sign."""


def require_decimal(decimal: str | None) -> None:
    """Reject what is no decimal sign."""
    if decimal is not None and decimal not in SIGNS:
        raise ValueError(f"decimal must be ',' or '.', got {decimal!r}")


def parse_number(text: str, decimal: str | None = None) -> float | None:
    """A number from text; NaN for a missing value, None for any other word.

    If users gave the decimal sign, the other sign may stand between thousands.
    """
    word = text.strip()
    if word.lower() in MISSING_NUMBERS:
        return math.nan
    if decimal is not None:
        if re.fullmatch(GROUPED[decimal], word):
            word = word.replace(SIGNS[decimal], "")
        word = word.replace(".", "x").replace(",", ".") if decimal == "," else word
    try:
        return float(word)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(word.lower())


def is_comment(line: str) -> bool:
    """Whether a line of plain numbers is a comment: it begins with # and is not #N/A or #DIV/0!."""
    return line.startswith("#") and parse_number(line) is None


def short_repr(value: object) -> str:
    """A value in quotes, cut where it is long."""
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def decimal_hint(text: str) -> str:
    """What to do about a cell that is a number if users say which sign is decimal."""
    read = any(parse_number(text, sign) is not None for sign in SIGNS)
    return "; say which sign is decimal with --decimal" if read else ""


def not_a_number(where: str, row: int, value: object, what: str = "a number") -> ValueError:
    """The error for a cell that is not a number, or not a date."""
    return NotANumberError(f"{where}, row {row:,}: {short_repr(value)} is not {what}")


def some_are_far(values: Array) -> bool:
    """Whether doubles are so far from 0 that they may have been rounded; NaN is not. No copy."""
    low, high = np.fmin.reduce(values, initial=0.0), np.fmax.reduce(values, initial=0.0)
    return bool(max(-low, high) >= EXACT_UP_TO)


def is_rounded(value: object) -> bool:
    """Whether a whole number or a decimal, perhaps as text, is beyond 2^53 and not a double.

    Text with an exponent was a double. So may be text with a point, unless it has too many digits.

    Examples
    --------
    >>> [is_rounded(value) for value in (2**53, 2**53 + 1, 2**53 + 2, "9007199254740993", "1e300")]
    [False, True, False, True, False]
    """
    if isinstance(value, Decimal):
        value = f"{value:f}"
    if not isinstance(value, str):
        return isinstance(value, numbers.Integral) and _is_no_double(int(value))
    word = value.strip()
    if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", word):
        return False
    digits = word.lstrip("+-0").replace(".", "").rstrip("0")
    return ("." not in word or len(digits) > PRINTED) and _is_no_double(Decimal(word))


def _is_no_double(value: int | Decimal) -> bool:
    """Whether a number beyond 2^53 changes if it becomes a double."""
    try:
        number = float(value)
    except OverflowError:
        return True
    return abs(number) >= EXACT_UP_TO and number != value


TOO_LONG = (
    "beyond 2^53, where doubles round whole numbers: subtract a number near them first, or turn "
    "identifiers into text"
)
"""Why whole numbers are not read, and what to do."""


def beyond_doubles(where: str, row: int, value: object, unit: str = "row") -> ColumnError:
    """The error for a whole number that a double would round."""
    shown = str(value).strip()
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return ColumnError(f"{where}, {unit} {row:,}: {shown} is {TOO_LONG}")


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
