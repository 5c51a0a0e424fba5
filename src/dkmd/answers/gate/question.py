"""``gate``: is any benchmark of this build worse? All benchmarks are paired, judged and corrected.

A gate must not pass by accident: what vanished, appeared or was left out is listed, and no common
benchmark is an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dkmd.answers.gate.judge import _judge, _Judged
from dkmd.answers.gate.result import (
    NOT_WORSE,
    UNDECIDED,
    WORSE,
    Gate,
    GateRow,
    _listed,
    _processors_differ,
)
from dkmd.base.calls import recorded
from dkmd.binned.logarithms import as_factor
from dkmd.inference.margins import Margin, parse_margin
from dkmd.sources.files.benchmarks import (
    BenchmarkFile,
    Benchmarks,
)

WORSE_WHEN = ("increase", "decrease")


@recorded
def gate(
    reference: Benchmarks,
    current: Benchmarks,
    *,
    margin: Margin = "5%",
    worse: str = "increase",
    alpha: float = 0.05,
) -> Gate:
    """Judge whether any benchmark of ``current`` is worse than that of ``reference``.

    Parameters
    ----------
    reference, current : mapping of names to Measurements
        As ``read_benchmarks`` gives them.
    margin : float or str
        The change that does not matter: a number in the benchmark's unit, "2%", or "0.1sd".
    worse : {"increase", "decrease"}
        Which direction is bad: times increase, throughputs decrease.
    alpha : float
        The probability of a false alarm over all benchmarks (Holm's correction), and that of
        letting a benchmark pass that is worse than the margin.

    Returns
    -------
    Gate
        A benchmark is "worse" when the change is shown to exceed the margin, "not worse" when it
        is shown not to, and else "inconclusive". Values of one process are taken as a group. Values
        that do not vary on either side are held against the margin as they are.
    """
    if worse not in WORSE_WHEN:
        raise ValueError(f"worse must be 'increase' or 'decrease', got {worse!r}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    _require_possible(margin, worse)
    before, after = _paired(reference, current)
    names = [
        *(name for name in before if name in after or name in after.left_out),
        *(name for name in after if name in before.left_out),
        # what fails before there is anything to compare it with must not pass either
        *(name for name in after if after[name].failure and name not in before),
    ]
    names = list(dict.fromkeys(names))
    if not names:
        raise ValueError(_nothing_in_common(tuple(before), tuple(after)))
    judged = [_judge(name, before, after, margin, worse) for name in names]
    corrected = _holm(np.array([j.worse for j in judged]))
    rows = [_decided(j, p, alpha) for j, p in zip(judged, corrected.tolist(), strict=True)]
    changes = [j.log_change for j in judged if math.isfinite(j.log_change)]
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


def _require_possible(margin: Margin, worse: str) -> None:
    """A margin that could never be exceeded would let anything pass."""
    amount, kind = parse_margin(margin)
    if kind == "%" and amount >= 100.0 and worse == "decrease":
        raise ValueError(
            f"margin {margin}: nothing positive decreases by 100 % or more, so nothing could fail"
        )


def _paired(reference: Benchmarks, current: Benchmarks) -> tuple[BenchmarkFile, BenchmarkFile]:
    """Both sides with what was left out, and with names that can be matched."""
    before, after = (
        side if isinstance(side, BenchmarkFile) else BenchmarkFile(side)
        for side in (reference, current)
    )
    return before.named_as_in(after), after.named_as_in(before)


def _nothing_in_common(before: Sequence[str], after: Sequence[str]) -> str:
    """The error for files of different benchmarks, with some of their names."""
    return "; ".join(
        filter(
            None,
            (
                "the two files have no benchmark in common: reference has "
                f"{_listed(before, 3)}; current has {_listed(after, 3)}",
                _processors_differ(before, after),
            ),
        )
    )


def _decided(judged: _Judged, corrected: float, alpha: float) -> GateRow:
    """The row with its verdict and corrected p-value."""
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


def _holm(pvalues: np.ndarray) -> np.ndarray:
    """Holm's corrected p-values; NaN stays and does not count."""
    corrected = np.full(pvalues.size, math.nan)
    known = np.flatnonzero(~np.isnan(pvalues))
    order = known[np.argsort(pvalues[known])]
    scaled = pvalues[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected
