"""Numbers as words: how amounts, shares and p-values are written, everywhere the same."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

MINUS = "−"


def amount(value: float, unit: str = "") -> str:
    """A signed number to three digits: +4.83 ms."""
    if math.isnan(value):
        return "–"
    shown = signed_number(value)
    return f"{shown} {unit}" if unit else shown


def signed_number(value: float) -> str:
    """With its sign, and a minus that is one."""
    if math.isinf(value):
        return "+inf" if value > 0.0 else f"{MINUS}inf"
    shown = rounded(abs(value))
    sign = "+" if value > 0.0 else (MINUS if value < 0.0 else "")
    return sign + shown


def signed(difference: float, old: float, new: float) -> str:
    """A difference of two numbers; nothing where one is infinite, 0 where it is but rounding.

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


def plain(value: float) -> str:
    """A number to four digits."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0.0 else f"{MINUS}inf"
    return (MINUS if value < 0.0 else "") + rounded(abs(value), 4)


def rounded(value: float, digits: int = 3) -> str:
    """Significant digits, without an exponent between 0.0001 and a million."""
    if value == 0.0:
        return "0"
    if not 1e-4 <= value < 1e6:
        return f"{value:.{digits - 1}e}".replace("e-0", "e-").replace("e+0", "e+")
    decimals = max(0, digits - 1 - math.floor(math.log10(value)))
    return f"{value:,.{decimals}f}"


def percent(value: float) -> str:
    """A signed percentage that is one already."""
    return f"{signed_number(value)} %"


def count(value: int) -> str:
    """Thousands apart."""
    return f"{value:,}"


def probability(value: float) -> str:
    """A p-value: p = 0.031, p = 2e-31, p < 1e-300."""
    if math.isnan(value):
        return "p unknown"
    if value < 1e-300:
        return "p < 1e-300"
    return f"p = {value:.2g}" if value >= 1e-3 else f"p = {value:.0e}".replace("e-0", "e-")


def level_of(alpha: float) -> str:
    """The confidence level of an interval, in percent: 95 %."""
    return f"{100.0 * (1.0 - alpha):.6g} %"


def short_p(value: float) -> str:
    """A p-value for a table: nothing where there is none."""
    return "" if math.isnan(value) else probability(value).removeprefix("p ").removeprefix("= ")


def text_table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of equal length in columns: the first to the left, the others to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]
        ).rstrip()
        for first, *rest in rows
    )


def text_page(headline: str, rows: Iterable[Sequence[str]], notes: Iterable[str]) -> str:
    """An answer as text: words, a table, what to watch out for."""
    blocks = [headline, text_table(rows), "\n".join(f"Watch out: {note}." for note in notes)]
    return "\n\n".join(block for block in blocks if block)


def html_page(
    headline: str, rows: Iterable[Sequence[str]], notes: Iterable[str], picture: str = ""
) -> str:
    """The same as HTML, for notebooks; ``picture`` is HTML already."""
    head, *body = ([html.escape(text) for text in row] for row in rows)
    lines = ["".join(f"<th>{text}</th>" for text in head)]
    lines += ["".join(f"<td>{text}</td>" for text in row) for row in body]
    table = "".join(f"<tr>{line}</tr>" for line in lines)
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    words = f"<p>{html.escape(headline)}</p>{picture}"
    return f"{words}<table>{table}</table>{items and f'<ul>{items}</ul>'}"
