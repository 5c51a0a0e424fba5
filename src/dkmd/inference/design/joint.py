"""Several scores at once: one F test that all their means are equal (Rao and Scott).

The statistic is Q = Σ(x̄ − ȳ)² over the scores. If nothing differs, E Q is the trace of V, the gram
of the moves. Q/tr V follows about an F law. Its first degrees of freedom d = (tr V)²/tr V² count
how many directions vary. The second ones are d times those of the variance of one score.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dkmd.base.arrays import Array
from dkmd.inference.design.shared import shared_units
from dkmd.inference.design.stored import UnitTable
from dkmd.inference.design.units import Part, freedom_of, independent_units, pooled
from dkmd.inference.test.pair import NO_VARIANCE


def joint_pvalue(x: UnitTable, y: UnitTable, directions: int, weigh: str | None = None) -> float:
    """The p-value of the null that no score differs. All columns of the tables are scores.

    Scores should have comparable sizes, and at most ``directions`` of them can vary. With
    ``weigh``, equal labels in x and y are one unit. The p-value is at least that of one variance
    for the units of both sides: few units on one side can look too much alike by chance.
    """
    found = independent_units(x, y) if weigh is None else shared_units(x, y, weigh, x.columns)
    one, two, parts = found.one, found.two, found.parts
    apart = float(((one.mean - two.mean) ** 2).sum())
    if not apart > NO_VARIANCE:
        return 1.0
    gram, df = pooled(one, two)
    alone = float(np.trace(one.gram + two.gram))
    # pairing gains as much with one variance as with two
    gained = sum(float(np.trace(part)) for part, _ in parts) / alone if alone > 0.0 else 1.0
    together = [(gained * gram, df)]
    tails = (_tail(apart, each, directions) for each in (parts, together))
    return min(1.0, max(*tails, 2.0 * found.floor))


def _tail(apart: float, parts: Sequence[Part], directions: int) -> float:
    """The tail of the F law at Q, from the grams of the moves of independent kinds of units."""
    from scipy.special import fdtrc

    traces = [(float(np.trace(gram)), df) for gram, df in parts]
    expected = sum(trace for trace, _ in traces)
    if not expected > 0.0:
        return 0.0
    vary = expected**2 / max(_squared_trace(parts), expected**2 / directions)
    vary = max(vary, 1.0)
    return float(fdtrc(vary, vary * freedom_of(traces), apart / expected))


def _squared_trace(parts: Sequence[Part]) -> float:
    """tr V² of the true V. That of an estimate is too large: few units vary in few directions.

    The estimate of a part with k degrees of freedom adds (tr V)²/k on average, as if it had a
    Wishart law (Bai and Saranadasa 1996).
    """
    gram: Array = np.sum([part for part, _ in parts], axis=0)
    total = float((gram**2).sum())
    for part, k in parts:
        squared = float((part**2).sum())
        if k > 1.0:
            left = max(0.0, squared - float(np.trace(part)) ** 2 / k)
            total += k * k / ((k + 2.0) * (k - 1.0)) * left - squared
    return total
