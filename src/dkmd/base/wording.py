"""Numbers as words: amounts, shares and p-values are written the same way everywhere."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence

MINUS = "−"


def amount(value: float, unit: str = "") -> str:
    """A signed number to three digits: +4.83 ms."""
    if math.isnan(value):
        return "–"
    shown = signed_number(value)
    return f"{shown} {unit}" if unit else shown


def signed_number(value: float, digits: int = 3) -> str:
    """A number to three digits with its sign; the minus is a real minus sign."""
    if math.isinf(value):
        return "+inf" if value > 0.0 else f"{MINUS}inf"
    shown = rounded(abs(value), digits)
    sign = "+" if value > 0.0 else (MINUS if value < 0.0 else "")
    return sign + shown


def direction_in_words(signed: float) -> str:
    """A sign in words, the same words everywhere."""
    if signed > 0.0:
        return "x is larger"
    return "y is larger" if signed < 0.0 else "no direction"


def interval_digits(low: float, high: float) -> int:
    """How many digits the ends of an interval need to be told apart, at least three.

    Examples
    --------
    >>> interval_digits(4.79, 6.52), interval_digits(999_999.9, 1_000_000.1)
    (3, 8)
    """
    width, largest = high - low, max(abs(low), abs(high))
    if not 0.0 < width < math.inf:
        return 3
    return max(3, min(16, 1 + math.ceil(math.log10(largest / width))))


def factor(ratio: float, digits: int = 3) -> str:
    """A ratio to some digits, and to more if it would look like 1 and is not.

    Examples
    --------
    >>> factor(2.0512), factor(1.0471, 2), factor(1.0004), factor(1.0)
    ('2.05', '1.05', '1.0004', '1')
    """
    shown = f"{ratio:.{digits}g}"
    while shown == "1" and ratio != 1.0 and digits < 12:
        digits += 1
        shown = f"{ratio:.{digits}g}"
    return shown


def signed(difference: float, old: float, new: float) -> str:
    """The difference of two numbers: empty if one is infinite, 0 if it is only rounding error.

    Examples
    --------
    >>> signed(0.25, 1e9, 1e9 + 0.25), signed(1.8e-15, -8.000000000000002, -8.0)
    ('+0.250', '0')
    """
    if not (math.isfinite(old) and math.isfinite(new)):
        return ""
    if math.isclose(old, new, rel_tol=4e-15):
        return "0"
    return signed_number(difference)


DIGITS = 4
"""Significant digits of a number without a sign."""


def plain(value: float, digits: int = DIGITS) -> str:
    """A number to four significant digits, or to more if asked for."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0.0 else f"{MINUS}inf"
    return (MINUS if value < 0.0 else "") + rounded(abs(value), digits)


def plain_pair(old: float, new: float) -> tuple[str, str]:
    """Two numbers with enough digits to see that they differ.

    Examples
    --------
    >>> plain_pair(97.4, 103.1), plain_pair(1e12, 1e12 + 250.0)
    (('97.40', '103.1'), ('1,000,000,000,000', '1,000,000,000,250'))
    """
    apart = abs(new - old)
    digits = DIGITS
    if 0.0 < apart < math.inf and not math.isclose(old, new, rel_tol=4e-15):
        digits = max(DIGITS, min(16, 3 + math.floor(math.log10(max(abs(old), abs(new)) / apart))))
    return plain(old, digits), plain(new, digits)


def rounded(value: float, digits: int = 3) -> str:
    """A number to some significant digits, without an exponent between 0.0001 and a million.

    With more than four digits, larger numbers are written without an exponent too.

    Examples
    --------
    >>> rounded(0.99961), rounded(99.96), rounded(2.5e-7)
    ('1.00', '100', '2.50e-7')
    """
    if value == 0.0:
        return "0"
    if not 1e-4 <= value < (1e6 if digits <= DIGITS else 10.0 ** (digits + 3)):
        return f"{value:.{digits - 1}e}".replace("e-0", "e-").replace("e+0", "e+")
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of the rounded number
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def percent(change: float) -> str:
    """A relative change in percent: 0.0311 is +3.11%."""
    return f"{signed_number(100.0 * change)}%"


def points(share: float) -> str:
    """A difference of shares in percentage points, to two digits: −0.0703 is −7.0."""
    if math.isnan(share):
        return "–"
    sign = "+" if share > 0.0 else (MINUS if share < 0.0 else "")
    return sign + rounded(abs(100.0 * share), 2)


def share_pair(old: float, new: float) -> tuple[str, str]:
    """Two shares in percent, with enough digits to see that they differ.

    Examples
    --------
    >>> share_pair(0.312, 0.243), share_pair(0.1234, 0.1241), share_pair(0.0, 0.0004)
    (('31%', '24%'), ('12.34%', '12.41%'), ('0%', '0.04%'))
    """
    apart = 100.0 * abs(new - old)
    digits = 0 if apart >= 2.0 or old == new else (1 if apart >= 0.2 else 2)
    least = min((share for share in (old, new) if share > 0.0), default=1.0)
    while digits < 6 and least < 0.5 * 10.0 ** -(digits + 2):
        digits += 1
    return _share(old, digits), _share(new, digits)


def _share(value: float, digits: int) -> str:
    if math.isnan(value):
        return "–"
    return f"{100.0 * value:.{digits}f}%" if value else "0%"


def short_percent(change: float) -> str:
    """A relative change for a column of them: at most two decimals, unless it is smaller.

    Examples
    --------
    >>> [short_percent(change) for change in (0.0643, 0.000643, 0.1234, -0.00001, 3.0)]
    ['+6.43%', '+0.06%', '+12.3%', '−0.00100%', '+300%']
    """
    size = abs(100.0 * change)
    if not 0.005 <= size < 999.5:  # also 0, inf and NaN
        return f"{signed_number(100.0 * change)}%"
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{'+' if change > 0.0 else MINUS}{size:.{decimals}f}%"


def count(value: int) -> str:
    """A whole number with commas between thousands."""
    return f"{value:,}"


def probability(value: float) -> str:
    """A p-value: p = 0.031, p = 2e-31, p < 1e-300."""
    if math.isnan(value):
        return "p unknown"
    if value < 1e-300:
        return "p < 1e-300"
    return f"p = {value:.2g}" if value >= 1e-3 else f"p = {value:.0e}".replace("e-0", "e-")


def level_of(alpha: float) -> str:
    """The confidence level of an interval, in percent: 95%."""
    return f"{100.0 * (1.0 - alpha):.6g}%"


def short_p(value: float) -> str:
    """A p-value for a table; empty if it is NaN."""
    return "" if math.isnan(value) else probability(value).removeprefix("p ").removeprefix("= ")


def visible(text: str) -> str:
    r"""Text from data on one line. Control characters, which act on terminals, are written out.

    Examples
    --------
    >>> print(visible("a name\nin \x1b[31mred"))
    a name\nin \x1b[31mred
    """
    return "".join(repr(c)[1:-1] if _steers(c) else c for c in text)


def _steers(character: str) -> bool:
    """Whether a terminal would act on a character instead of showing it."""
    return not character.isprintable() and not (character.isspace() and character > "\xa0")


def text_table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of equal length in columns: the first column left-aligned, the others right-aligned."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]
        ).rstrip()
        for first, *rest in rows
    )


def names_by_note(notes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """From (name, note) pairs, the names that share each note.

    Examples
    --------
    >>> names_by_note([("a", "few values"), ("b", "ties"), ("c", "few values")])
    {'few values': ['a', 'c'], 'ties': ['b']}
    """
    names: dict[str, list[str]] = {}
    for name, note in notes:
        names.setdefault(note, []).append(name)
    return names


PLURALS = {
    "it is ": "they are ",
    "it holds ": "they hold ",
    "it has ": "they have ",
    "it cannot ": "they cannot ",
    "all its values ": "all their values ",
}


def of_several(why: str) -> str:
    """A reason about one thing ("it holds dates"), said of several things.

    Examples
    --------
    >>> of_several("it is constant, so it is not tested")
    'they are constant, so they are not tested'
    """
    for one, several in PLURALS.items():
        why = why.replace(one, several)
    return why


def text_page(headline: str, rows: Iterable[Sequence[str]], notes: Iterable[str]) -> str:
    """An answer as text: a table, the notes, and the answer last, as on a terminal."""
    watch = "\n".join(_wrapped(f"Watch out: {visible(note)}.") for note in notes)
    blocks = [text_table(rows), watch, _wrapped(visible(headline))]
    return "\n\n".join(block for block in blocks if block)


TEXT_WIDTH = 80
"""Sentences of an answer as text are wrapped here."""


def _wrapped(text: str) -> str:
    """Text in lines that break between words only."""
    return textwrap.fill(text, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False)
