"""``gate``: is any benchmark of this build worse? All benchmarks are paired, judged and corrected.

A gate must not pass by accident. Benchmarks that vanished, appeared or were left out are listed.
Two files without a common benchmark are an error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dkmd.answers.gate.judge import Judged, Limit, judge
from dkmd.answers.gate.result import (
    NOT_WORSE,
    UNDECIDED,
    WORSE,
    Gate,
    GateRow,
    listed,
    processors_differ,
)
from dkmd.base.arrays import Array
from dkmd.base.calls import recorded
from dkmd.binned.logarithms import as_factor
from dkmd.inference.defaults import ALPHA, require_shares
from dkmd.inference.margins import Margin, parse_margin
from dkmd.sources.files.benchmarks import BenchmarkFile, Benchmarks

WORSE_WHEN = ("higher", "lower")


@recorded
def gate(
    reference: Benchmarks,
    current: Benchmarks,
    *,
    margin: Margin = "5%",
    worse: str | None = None,
    alpha: float = ALPHA,
) -> Gate:
    """Judge whether any benchmark of ``current`` is worse than the same one of ``reference``.

    Parameters
    ----------
    reference, current : mapping of names to Measurements
        As ``read_benchmarks`` gives them.
    margin : float or str
        The smallest change that matters: a number in the benchmark's unit, "2%", or "0.1sd".
    worse : {"higher", "lower"}, optional
        Which direction is bad: times increase, throughputs decrease.
    alpha : float
        A bound on two probabilities: that of a false alarm anywhere (Holm's correction), and that
        of passing a benchmark that is worse than the margin.

    Returns
    -------
    Gate
        A benchmark is "worse" when its change is shown to exceed the margin, "not worse" when its
        change is shown not to, and otherwise "inconclusive". Values of one process are a group. If
        no value varies on either side, the two values are compared with the margin directly.
    """
    if worse is not None and worse not in WORSE_WHEN:
        raise ValueError(f"worse must be 'higher' or 'lower', got {worse!r}")
    require_shares(alpha=alpha)
    before, after = _paired(reference, current)
    names = _judged_names(before, after)
    judged = [judge(name, before, after, Limit(margin, worse)) for name in names]
    _require_possible(margin, judged)
    corrected = _holm(np.array([j.worse for j in judged]))
    rows = [_decided(j, p, alpha) for j, p in zip(judged, corrected.tolist(), strict=True)]
    changes = _averaged(judged)
    left_out = {**before.left_out, **after.left_out}
    return Gate(
        rows=tuple(rows),
        vanished=tuple(name for name in before if name not in names),
        appeared=tuple(name for name in after if name not in names),
        margin=margin,
        worse=worse,
        geometric_mean=as_factor(math.fsum(changes) / len(changes)) if changes else math.nan,
        alpha=alpha,
        evidence={j.row.name: j.evidence for j in judged},
        averaged=len(changes),
        left_out={name: why for name, why in left_out.items() if name not in names},
    )


def _judged_names(before: BenchmarkFile, after: BenchmarkFile) -> list[str]:
    """The benchmarks to judge: those that both files name, and new ones that failed."""
    names = [
        *(name for name in before if name in after or name in after.left_out),
        *(name for name in after if name in before.left_out),
        # a benchmark that fails in its first run must not pass
        *(name for name in after if after[name].failure and name not in before),
    ]
    if not names:
        raise ValueError(_nothing_in_common(tuple(before), tuple(after)))
    return list(dict.fromkeys(names))


def _averaged(judged: Sequence[Judged]) -> list[float]:
    """The changes that the geometric mean covers: without by-products, all of one direction.

    The bytes of a benchmark do not weigh as much as its time, and a throughput that rises must not
    cancel a time that rises.
    """
    known = [j for j in judged if math.isfinite(j.log_change) and not j.evidence.reference.beside]
    directions = Counter(j.row.better for j in known)
    return [j.log_change for j in known if j.row.better == directions.most_common(1)[0][0]]


def _require_possible(margin: Margin, judged: Sequence[Judged]) -> None:
    """Reject a margin that no change could exceed: any build would pass."""
    amount, kind = parse_margin(margin)
    if kind == "%" and amount >= 100.0 and any(j.row.better == "higher" for j in judged):
        raise ValueError(
            f"margin {margin}: no positive value can decrease by 100% or more, so no benchmark "
            "could fail"
        )


def _paired(reference: Benchmarks, current: Benchmarks) -> tuple[BenchmarkFile, BenchmarkFile]:
    """Both sides as benchmark files, with names that can be matched."""
    before, after = (
        side if isinstance(side, BenchmarkFile) else BenchmarkFile(side)
        for side in (reference, current)
    )
    return before.named_as_in(after), after.named_as_in(before)


def _nothing_in_common(before: Sequence[str], after: Sequence[str]) -> str:
    """The error for files of different benchmarks, with some of their names."""
    told = (
        f"the two files have no benchmark in common: reference has {listed(before, 3)}; current "
        f"has {listed(after, 3)}"
    )
    return "; ".join(filter(None, (told, processors_differ(before, after))))


def _decided(judged: Judged, corrected: float, alpha: float) -> GateRow:
    """The row of a benchmark with its verdict and corrected p-value."""
    if math.isnan(judged.worse):
        return judged.row
    verdict = UNDECIDED
    if corrected < alpha:
        verdict = WORSE
    elif judged.fine < alpha:
        verdict = NOT_WORSE
    reason = judged.row.reason
    if verdict == UNDECIDED:
        noisy = "too noisy or too few values for this margin"
        reason = "; ".join(filter(None, (noisy, reason)))
    return replace(judged.row, verdict=verdict, reason=reason, pvalue=corrected)


def _holm(pvalues: Array) -> Array:
    """Holm's corrected p-values. NaN stays NaN and does not count as a test."""
    corrected = np.full(pvalues.size, math.nan)
    known = np.flatnonzero(~np.isnan(pvalues))
    order = known[np.argsort(pvalues[known])]
    scaled = pvalues[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected
