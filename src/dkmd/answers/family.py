"""The tests of one comparison are one family: what counts beside the test that decides.

The deciding test (the shift, a share, or two parts) is made at alpha. The others (mean, spread,
missing values, …) share what is left by Holm's correction. This is the only place that corrects
the tests of one comparison. Of several comparisons, ``comparison.several`` corrects all tests.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from dkmd.answers.findings import REST, SHARE, Finding
from dkmd.base.holm import holm_adjusted

LEFT = 0.4
"""The others share this part of alpha while the deciding test is not clear.

At alpha = 5% all tests together then have at most 5% + 2% = 7% false alarms. If a tenth of 100
normal values moves by 6, the mean is told in 53% of comparisons (``benchmarks/findings.py``). With
half of this part of alpha it would be 42%, and with twice of it 65%, with up to 9% false alarms.
"""

HOLM, BENJAMINI_HOCHBERG = "Holm", "Benjamini-Hochberg"


class Correction(NamedTuple):
    """How the p-values of findings are corrected, and for how many tests."""

    method: str
    tests: int


NOT_CORRECTED = Correction(HOLM, 0)
"""Before the findings of an answer are put together."""


def corrected(
    deciding: float, findings: tuple[Finding, ...], decide: Collection[str] = ()
) -> tuple[tuple[Finding, ...], Correction]:
    """Findings with p-values that are corrected for each other, and how that was done.

    ``deciding`` is the p-value of the deciding test, and ``decide`` names the findings that it is
    made of. They keep their own p-values.
    """
    others = {each.what: each.pvalue for each in findings if each.what not in decide}
    tests = _tests(others)
    adjusted = _beside(deciding, tests, others)
    told = tuple(
        each.adjusted(adjusted[each.what]) if each.what in others else each for each in findings
    )
    return told, Correction(HOLM, len(tests))


def _tests(others: Mapping[str, float]) -> dict[str, float]:
    """The p-value of each test. Share and rest are corrected for each other, so they are one."""
    known = {what: p for what, p in others.items() if not math.isnan(p)}
    parts = [known.pop(what) for what in (SHARE, REST) if what in known]
    return {SHARE: min(parts), **known} if parts else known


def _beside(
    deciding: float, tests: Mapping[str, float], others: Mapping[str, float]
) -> dict[str, float]:
    """Corrected p-values of everything beside the deciding test; NaN stays NaN.

    p is below alpha if Holm's p is below ``LEFT``·alpha, or if Holm's p and that of the deciding
    test are both below alpha. So if nothing changed, something seems to have changed with a
    probability of at most alpha + ``LEFT``·alpha, however the tests depend on each other.
    """
    by_holm = dict(zip(tests, holm_adjusted(np.array(list(tests.values()))).tolist(), strict=True))
    found = dict.fromkeys(others, math.nan)
    for what, p in others.items():
        if math.isnan(p):
            continue
        test = SHARE if what == REST else what
        own = by_holm[test]
        if p > tests[test]:  # the less clear one of two parts
            own = max(own, min(1.0, len(tests) * p))
        found[what] = own if math.isnan(deciding) else min(1.0, own / LEFT, max(own, deciding))
    return found
