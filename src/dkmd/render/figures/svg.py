"""Small inline SVG: coordinates to a tenth of a pixel, paths of relative steps, escaped text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.wording import MINUS


@dataclass(frozen=True)
class Axis:
    """Maps data to pixels along one direction."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value; values beyond an end map to that end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def all(self, values: Array) -> Array:
        """The pixels of many values."""
        share = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.asarray(self.start + share * (self.end - self.start))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters other than tab and line ends, and lone surrogates."""


_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that cannot be seen and change the direction of the text around them."""


def clean(text: str) -> str:
    r"""Text without control characters and lone surrogates, which no page can hold.

    Characters that would turn the text around them are written out, as on a terminal.

    Examples
    --------
    >>> print(clean("\u202emoor"))
    \u202emoor
    """
    seen = _TURNING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return _UNFIT.sub("\ufffd", seen)


def escape(text: str) -> str:
    """Text from data for an element or for an attribute in quotes."""
    return html.escape(clean(text), quote=True).replace("\r", "&#13;")


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, without needless zeros."""
    text = f"{value:.1f}".removesuffix(".0")
    if text in ("-0", "0"):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def path(x: Array, y: Array) -> str:
    """A line through points as path data.

    Points within a fifth of a pixel of a straight line through others are left out.
    """
    tenths = (np.rint(10.0 * side).astype(np.int64).tolist() for side in (x, y))
    kept = _thinned(list(zip(*tenths, strict=True)))
    steps = (_glued(_tenths(c - a), _tenths(d - b)) for (a, b), (c, d) in pairwise(kept))
    return f"M{_tenths(kept[0][0])} {_tenths(kept[0][1])}l{_joined(steps)}"


@lru_cache(maxsize=10_000)
def _tenths(count: int) -> str:
    """So many tenths of a pixel. The steps of all lines on a page are few different numbers."""
    return number(count / 10)


TOLERANCE = 2
"""A thinned line may be off by this many tenths of a pixel."""


def _thinned(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners of a line: each piece extends as long as it passes near all points on it."""
    kept = [points[0]]
    low, high = -math.inf, math.inf
    for before, here in pairwise(points):
        across = here[0] - kept[-1][0]
        slope = (here[1] - kept[-1][1]) / across if across > 0 else math.nan
        if not low <= slope <= high:
            if before != kept[-1]:
                kept.append(before)
            across = here[0] - before[0]
            low, high = -math.inf, math.inf
        if across > 0:
            rise = here[1] - kept[-1][1]
            least, most = (rise - TOLERANCE) / across, (rise + TOLERANCE) / across
            low = least if least > low else low
            high = most if most < high else high
        else:  # a vertical piece ends where the line turns
            low, high = math.inf, -math.inf
    return [*kept, points[-1]]


def _glued(first: str, second: str) -> str:
    return first + second if second.startswith("-") else f"{first} {second}"


def _joined(steps: Iterable[str]) -> str:
    """Steps one after another; a minus sign needs no space before it."""
    text = ""
    for step in steps:
        text += step if not text or step.startswith("-") else f" {step}"
    return text


def line(x1: float, y1: float, x2: float, y2: float, paint: str) -> str:
    """One straight line."""
    if x1 == x2:
        return stroke(f"M{number(x1)} {number(y1)}V{number(y2)}", paint)
    return stroke(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", paint)


def words(x: float, y: float, text: str, paint: str, value: float = math.nan) -> str:
    """Text at a point; ``value`` shows on hover if it is finite."""
    hover = f"<title>{float(value)!r}</title>" if math.isfinite(value) else ""
    return f'<text x="{number(x)}" y="{number(y)}" {paint}>{escape(text)}{hover}</text>'


def stroke(data: str, paint: str) -> str:
    """A path."""
    return f'<path d="{data}" {paint}/>'


def drawing(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """An SVG element that scales with its box; ``label`` describes it to screen readers."""
    return (
        f'<svg viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" '
        f'height="{number(height)}" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two values, at most about ``most`` of them."""
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return []
    rough = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(m * magnitude for m in (1.0, 2.0, 5.0, 10.0) if m * magnitude >= rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return sorted(
        {k * step for k in range(first, last + 1)}
    )  # far from 0, rounding makes some of them equal


def tick_words(values: Sequence[float]) -> list[str]:
    """Labels with as many digits as it takes to tell neighbours apart."""
    if not values:
        return []
    step = values[1] - values[0] if len(values) > 1 else abs(values[0]) or 1.0
    largest = max(abs(v) for v in values)
    if (largest >= 1e7 and step >= 1e-3 * largest) or 0.0 < largest < 1e-4:
        texts = _with_exponents(values, step)
    else:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        texts = [f"{v:,.{decimals}f}" for v in values]
    texts = ["0" if v == 0.0 else t for t, v in zip(texts, values, strict=True)]
    return [t.replace("-", MINUS, 1) if t.startswith("-") else t for t in texts]


def _with_exponents(values: Sequence[float], step: float) -> list[str]:
    """2e-9 rather than 2.0e-09: only the digits that tell labels apart."""
    for digits in range(16):
        texts = [f"{v:.{digits}e}" for v in values]
        if all(abs(float(t) - v) < 0.01 * step for t, v in zip(texts, values, strict=True)):
            break
    return [t.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-") for t in texts]
