"""How values and differences of one column are shown: plain numbers, large ones, or dates.

Values may be kept minus a whole number (an offset), because doubles hold only 53 bits. The offset
is added back here, exactly.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from fractions import Fraction

from dkmd.base.wording import (
    MINUS,
    amount,
    interval_digits,
    plain_pair,
    rounded,
    signed_number,
)

STEPS = ((86_400, "days", "day"), (3_600, "h", "h"), (60, "min", "min"))
"""Units of a length of time above a second."""


@dataclass(frozen=True)
class Display:
    """A column's unit, its offset, and whether it holds dates (in seconds since 1970)."""

    unit: str = ""
    offset: int = 0
    dates: bool = False

    def amount(self, difference: float, with_unit: bool = True) -> str:
        """A difference with its sign: +4.83 ms, or +3 days 4 h."""
        if self.dates:
            return length_of_time(difference)
        return amount(difference, self.unit if with_unit else "")

    def end(self, difference: float) -> str:
        """An end of an interval: without the unit, unless it is a length of time."""
        return self.amount(difference, with_unit=False)

    def interval(self, middle: float, low: float, high: float) -> tuple[str, str, str]:
        """A difference without its unit and the ends of its interval, with digits to differ."""
        if self.dates:
            return length_of_time(middle), length_of_time(low), length_of_time(high)
        digits = interval_digits(low, high)
        known = (middle, low, high)
        shown = ("–" if math.isnan(v) else signed_number(v, digits) for v in known)
        return next(shown), next(shown), next(shown)

    def lengths(self, old: float, new: float) -> tuple[str, str]:
        """Two spreads, which have no offset."""
        if self.dates:
            return length_of_time(old).lstrip("+"), length_of_time(new).lstrip("+")
        return plain_pair(old, new)

    def pair(self, old: float, new: float) -> tuple[str, str]:
        """Two values with enough digits to see that they differ."""
        if self.dates:
            fine = math.isfinite(new - old) and abs(new - old) < 60.0
            return moment(self.offset, old, fine), moment(self.offset, new, fine)
        if self.offset:
            return _whole(self.offset, old, new), _whole(self.offset, new, old)
        return plain_pair(old, new)


PLAIN = Display()
"""Numbers without a unit."""


def length_of_time(seconds: float) -> str:
    """A signed length of time in its two largest units.

    Examples
    --------
    >>> length_of_time(273_600.0), length_of_time(-95.0), length_of_time(0.25)
    ('+3 days 4 h', '−1 min 35 s', '+0.250 s')
    """
    if not math.isfinite(seconds):
        return amount(seconds)
    size = abs(seconds)
    sign = "+" if seconds > 0.0 else (MINUS if seconds < 0.0 else "")
    for i, (step, several, one) in enumerate(STEPS):
        if size < step:
            continue
        below, word = (STEPS[i + 1][0], STEPS[i + 1][1]) if i + 1 < len(STEPS) else (1, "s")
        parts = round(size / below)
        whole, rest = divmod(parts, step // below)
        told = f"{whole:,} {one if whole == 1 else several}"
        return f"{sign}{told} {rest} {word}" if rest else f"{sign}{told}"
    return f"{sign}{rounded(size)} s" if size else "0 s"


def moment(offset: int, seconds: float, fine: bool = False) -> str:
    """A point in time, ``seconds`` after ``offset`` seconds since 1970, in UTC.

    Examples
    --------
    >>> moment(1_767_225_600, 3_600.0), moment(1_767_225_600, 0.25, fine=True)
    ('2026-01-01 01:00:00', '2026-01-01 00:00:00.250000')
    """
    if not math.isfinite(seconds):
        return "–" if math.isnan(seconds) else ("inf" if seconds > 0.0 else f"{MINUS}inf")
    nano = offset * 10**9 + round(Fraction(seconds) * 10**9)
    since, rest = divmod(nano if fine else round(Fraction(nano, 10**9)) * 10**9, 10**9)
    try:
        start = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=since)
    except OverflowError:
        return f"{since:,} s"
    shown = f"{start:%Y-%m-%d %H:%M:%S}"
    if not rest:
        return shown
    digits = f"{rest:09d}"
    return f"{shown}.{digits if digits[6:] != '000' else digits[:6]}"


def _whole(offset: int, value: float, other: float) -> str:
    """A large number with all its digits, and decimals if the difference needs some."""
    if not math.isfinite(value):
        return plain_pair(value, value)[0]
    apart = abs(value - other) if math.isfinite(other) else 0.0
    decimals = 0 if apart == 0.0 or apart >= 100.0 else min(6, 2 - math.floor(math.log10(apart)))
    scaled = round((offset + Fraction(value)) * 10**decimals)
    sign = MINUS if scaled < 0 else ""
    whole, rest = divmod(abs(scaled), 10**decimals)
    return f"{sign}{whole:,}.{rest:0{decimals}d}" if decimals and rest else f"{sign}{whole:,}"
