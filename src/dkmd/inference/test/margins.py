"""From an interval to a decision: compare the interval of the shift with a margin."""

from __future__ import annotations

import math
from typing import NamedTuple

from dkmd.base.defaults import CONFIDENCE
from dkmd.base.errors import ColumnError
from dkmd.inference.test.result import DkmdResult, ExactOutcome
from dkmd.inference.test.riemann_test import NO_SHIFT, RiemannOutcome

Margin = float | str


class Region(NamedTuple):
    """The shifts within the margin, and the result whose shift is compared with them."""

    low: float
    high: float
    result: DkmdResult


def verdict(
    result: DkmdResult, margin: Margin = 0.0, *, confidence_level: float = CONFIDENCE
) -> str:
    """Compare the interval of the shift with ±margin.

    Parameters
    ----------
    result : DkmdResult
        One comparison by the exact estimator.
    margin : float or str
        The smallest shift that matters. It is a number in data units, "0.1sd" (times the robust
        scale of y, the reference) or "3%". A percentage needs positive data and is a change by a
        factor, computed on logarithms. With "100%" or more any decrease is within the margin.
    confidence_level : float
        The level of the interval.

    Returns
    -------
    str
        "higher" (x is larger by more than the margin), "lower", "equivalent" (the interval
        lies within the margin) or "inconclusive". A percentage never gives "higher" or
        "lower" if the logarithms moved one way and the values the other way.

    Examples
    --------
    >>> import numpy as np
    >>> from dkmd import dkmd_2samp
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(103, 10, 2000), rng.normal(100, 10, 2000)
    >>> result = dkmd_2samp(x, y)
    >>> verdict(result), verdict(result, 5), verdict(result, "3%"), verdict(result, "0.1sd")
    ('higher', 'equivalent', 'inconclusive', 'higher')
    """
    region = region_of(result, margin)
    low, high = region.result.shift_interval(confidence_level)
    word = against_margin(low, high, region.low, region.high)
    if word in ("higher", "lower") and opposed(result, region.result, confidence_level):
        return "inconclusive"
    return word


def against_margin(low: float, high: float, region_low: float, region_high: float) -> str:
    """Where the interval from low to high lies relative to a region of changes that do not matter.

    Examples
    --------
    >>> against_margin(1.0, 2.0, -0.5, 0.5), against_margin(-0.1, 0.2, -0.5, 0.5)
    ('higher', 'equivalent')
    """
    if math.isnan(low) or math.isnan(high):
        return "inconclusive"
    if low > region_high:
        return "higher"
    if high < region_low:
        return "lower"
    if region_low < region_high and region_low <= low and high <= region_high:
        return "equivalent"
    return "inconclusive"


def opposed(result: DkmdResult, on_logs: DkmdResult, confidence_level: float) -> bool:
    """Whether values and logarithms moved in opposite directions, at least one of them clearly.

    This happens if the shapes differ: more small values and more very large values.
    """
    if not result.shift * on_logs.shift < 0.0:
        return False
    ends = (each.shift_interval(confidence_level) for each in (result, on_logs))
    return any(low > 0.0 or high < 0.0 for low, high in ends)


def beyond_margin(result: DkmdResult, margin: Margin | None) -> float:
    """The p-value of the null that the shift lies within ±margin: twice the smaller tail.

    Without a margin it is the p-value of the test. It is NaN if the test has no p-value.
    """
    if margin is None or parse_margin(margin)[0] == 0.0:
        return float(result.pvalue)
    region = region_of(result, margin)
    outcome = region.result.outcome()
    if not isinstance(outcome, ExactOutcome):
        return math.nan
    above = outcome.pvalue_beyond(region.high, "greater")
    below = 1.0 if math.isinf(region.low) else outcome.pvalue_beyond(region.low, "less")
    return min(1.0, 2.0 * min(above, below))


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
    if math.isinf(region.low):  # any decrease is within the margin: one test remains
        return outcome.pvalue_beyond(region.high, "less")
    return outcome.equivalence(region.low, region.high)


def region_of(result: DkmdResult, margin: Margin) -> Region:
    """The margin as a region of shifts. For a percentage they are shifts of the logarithms."""
    if isinstance(result.outcome(), RiemannOutcome):
        raise ValueError(NO_SHIFT)
    amount, kind = parse_margin(margin)
    if kind == "pp":
        raise ColumnError(POINTS_OF_SHARES)
    outcome = result.outcome()
    if kind == "%":
        share = amount / 100.0
        # positive data cannot fall by 100%, but they can double
        low = math.log1p(-share) if share < 1.0 else -math.inf
        return Region(low, math.log1p(share), result.on_logs())
    if kind == "sd":
        if isinstance(outcome, ExactOutcome):
            amount *= outcome.reference_scale
        else:
            amount = math.nan
    return Region(-amount, amount, result)


POINTS_OF_SHARES = (
    "a margin in percentage points is for shares: of yes/no data, or of data with a common "
    "value. Give a number in data units, '3%' or '0.1sd'"
)


def parse_margin(margin: Margin) -> tuple[float, str]:
    """A margin as an amount and its unit: "" (data units), "%", "sd" or "pp" (points)."""
    amount, kind = parse_amount(margin)
    if not (amount >= 0.0 and math.isfinite(amount)):
        raise ValueError(
            "margin must be a number in data units, '0.1sd', '3%', or '1pp', and not negative; got "
            f"{margin!r}"
        )
    return amount, kind


def parse_amount(given: Margin) -> tuple[float, str]:
    """A number and its unit: "", "%", "sd" or "pp". The number is NaN if it cannot be read.

    Examples
    --------
    >>> parse_amount("-3%"), parse_amount("0.1 sd"), parse_amount("1pp"), parse_amount(2)
    ((-3.0, '%'), (0.1, 'sd'), (1.0, 'pp'), (2.0, ''))
    """
    text = given.strip() if isinstance(given, str) else given
    kind = ""
    if isinstance(text, str):
        kind = next((ending for ending in ("%", "sd", "pp") if text.endswith(ending)), "")
        text = text.removesuffix(kind)
    try:
        return float(text), kind
    except (TypeError, ValueError):
        return math.nan, kind
