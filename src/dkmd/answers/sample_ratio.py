"""Are the arms of an experiment as large as planned? The check of the sample ratio.

Each unit joins one of two arms by chance, with known odds. Then the size of one arm, given the sum
of both, has a binomial law. Sizes that this law hardly gives mean that units were lost or counted
twice on one side, and then the arms may differ for that reason alone.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

UNLIKELY = 0.001
"""Below this p-value the arms are called unequal. The limit is strict: a false alarm stops work."""

EXACT = 1e5
"""With a larger variance the binomial law is taken as normal: the p-value is the same to 1%."""


class SampleRatio(NamedTuple):
    """The sizes of two arms, the ratio that was expected, and the p-value of the difference."""

    reference: int
    current: int
    expected: tuple[float, float]
    """The expected ratio, reference : current."""
    counted: str
    """What was counted: values, rows or groups."""
    pvalue: float

    @property
    def unequal(self) -> bool:
        """Whether the ratio is off beyond chance."""
        return self.pvalue < UNLIKELY

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, under the names of the JSON schema."""
        return self._asdict() | {"expected": list(self.expected), "unequal": self.unequal}


def parse_ratio(given: Any) -> tuple[float, float]:
    """An expected ratio, reference : current, from "1:1", "50:50" or a pair of numbers.

    Examples
    --------
    >>> parse_ratio("1:4"), parse_ratio((9, 1))
    ((1.0, 4.0), (9.0, 1.0))
    """
    parts = re.split(r"[:/]", given) if isinstance(given, str) else given
    try:
        reference, current = (float(part) for part in parts)
    except (TypeError, ValueError):
        reference = current = math.nan
    if not (0.0 < reference < math.inf and 0.0 < current < math.inf):
        raise ValueError(
            f"a ratio is two positive numbers, reference:current, such as 1:1, got {given!r}"
        )
    return reference, current


def check_ratio(
    reference: int, current: int, expected: tuple[float, float], counted: str = "values"
) -> SampleRatio:
    """Compare the sizes of two arms with the expected ratio, by the two-sided binomial test.

    Examples
    --------
    >>> check_ratio(5321, 4790, (1.0, 1.0)).unequal
    True
    """
    share = expected[0] / (expected[0] + expected[1])
    return SampleRatio(
        reference, current, expected, counted, _two_sided(reference, reference + current, share)
    )


def _two_sided(count: int, size: int, share: float) -> float:
    """Twice the smaller tail of a binomial count; 1 without any unit."""
    from scipy.special import betainc, ndtr

    if size == 0:
        return 1.0
    mean, variance = size * share, size * share * (1.0 - share)
    if variance > EXACT:
        off = max(0.0, abs(count - mean) - 0.5) / math.sqrt(variance)
        return min(1.0, 2.0 * float(ndtr(-off)))
    at_most = 1.0 if count == size else float(betainc(size - count, count + 1.0, 1.0 - share))
    at_least = 1.0 if count == 0 else float(betainc(count, size - count + 1.0, share))
    return min(1.0, 2.0 * min(at_most, at_least))
