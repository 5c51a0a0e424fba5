"""From an interval to a decision: a margin, and where the shift's interval lies against it."""

from __future__ import annotations

import math
from typing import NamedTuple

from dkmd.result import DkmdResult, ExactOutcome

Margin = float | str


class Region(NamedTuple):
    """The shifts that do not matter, and the result whose shift they are measured against."""

    low: float
    high: float
    result: DkmdResult


def verdict(result: DkmdResult, margin: Margin = 0.0, *, confidence_level: float = 0.95) -> str:
    """What the shift's interval says against ±margin.

    Parameters
    ----------
    result : DkmdResult
        One comparison by the exact estimator.
    margin : float or str
        Shifts that do not matter: a number in data units, "0.1sd" (of the robust scale of the
        pooled data) or "3%" (positive data; worked out on logarithms, as a change by a factor).
    confidence_level : float
        Of the interval.

    Returns
    -------
    str
        "increase" (x is larger by more than the margin), "decrease", "equivalent" (the interval
        lies within the margin) or "inconclusive".

    Examples
    --------
    >>> import numpy as np
    >>> from dkmd import dkmd_2samp
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(103, 10, 2000), rng.normal(100, 10, 2000)
    >>> result = dkmd_2samp(x, y)
    >>> verdict(result), verdict(result, 5), verdict(result, "3%"), verdict(result, "0.1sd")
    ('increase', 'equivalent', 'inconclusive', 'increase')
    """
    region = region_of(result, margin)
    low, high = region.result.shift_interval(confidence_level)
    if math.isnan(low) or math.isnan(high):
        return "inconclusive"
    if low > region.high:
        return "increase"
    if high < region.low:
        return "decrease"
    if region.low < region.high and region.low <= low and high <= region.high:
        return "equivalent"
    return "inconclusive"


def equivalence(result: DkmdResult, margin: Margin) -> float:
    """The p-value of the null that |shift| is at least the margin: two one-sided tests.

    A small value is evidence that the samples are equivalent up to ``margin`` (as in ``verdict``).

    Examples
    --------
    >>> import numpy as np
    >>> from dkmd import dkmd_2samp
    >>> rng = np.random.default_rng(2)
    >>> result = dkmd_2samp(rng.normal(size=500), rng.normal(size=500))
    >>> equivalence(result, 0.3) < 0.01 < equivalence(result, 0.05)
    True
    """
    region = region_of(result, margin)
    if not region.low < region.high:
        raise ValueError(f"margin must be positive, got {margin!r}")
    outcome = region.result.outcome()
    if not isinstance(outcome, ExactOutcome):
        return math.nan
    return outcome.equivalence(region.low, region.high)


def region_of(result: DkmdResult, margin: Margin) -> Region:
    """The margin as a region of shifts; for a percentage, of the result on logarithms."""
    if isinstance(margin, str):
        text = margin.strip()
        if text.endswith("%"):
            share = _amount(text[:-1], margin) / 100.0
            if share >= 1.0:
                raise ValueError(f"a margin in percent must be below 100%, got {margin!r}")
            return Region(math.log1p(-share), math.log1p(share), result.on_logs())
        if text.endswith("sd"):
            outcome = result.outcome()
            scale = outcome.robust_scale if isinstance(outcome, ExactOutcome) else math.nan
            width = _amount(text[:-2], margin) * scale
            return Region(-width, width, result)
        return region_of(result, _amount(text, margin))
    width = _amount(margin, margin)
    return Region(-width, width, result)


def _amount(value: object, margin: Margin) -> float:
    try:
        amount = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        amount = math.nan
    if not (amount >= 0.0 and math.isfinite(amount)):
        raise ValueError(
            "margin must be a number in data units, '0.1sd' or '3%', and not negative; "
            f"got {margin!r}"
        )
    return amount
