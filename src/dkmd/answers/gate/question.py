"""``gate``: is any benchmark of this build worse? All benchmarks are paired, judged and corrected.

A gate must not pass by accident. Benchmarks that vanished, appeared or were left out are listed.
Two files without a common benchmark are an error.
"""

from __future__ import annotations

import math
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
from dkmd.answers.gate.runs import Side, in_one, known_runs
from dkmd.base.arrays import Array
from dkmd.base.calls import recorded
from dkmd.binned.logarithms import as_factor
from dkmd.inference.defaults import ALPHA, require_shares
from dkmd.inference.margins import Margin, parse_margin
from dkmd.sources.files.benchmarks import BenchmarkFile, Benchmarks
from dkmd.sources.files.history_file import History

WORSE_WHEN = ("higher", "lower")


@recorded
def gate(
    reference: Side,
    current: Side,
    *,
    margin: Margin = "5%",
    worse: str = "higher",
    alpha: float = ALPHA,
    history: History = (),
) -> Gate:
    """Judge whether any benchmark of ``current`` is worse than the same one of ``reference``.

    Parameters
    ----------
    reference, current : mapping of names to Measurements, or a list of them
        As ``read_benchmarks`` gives them. A list holds several runs of one build. Changes from run
        to run are then part of the answer.
    margin : float or str
        The smallest change that matters: a number in the benchmark's unit, "2%", or "0.1sd".
    worse : {"higher", "lower"}
        Which direction is bad: times increase, throughputs decrease.
    alpha : float
        A bound on two probabilities: that of a false alarm anywhere (Holm's correction), and that
        of passing a benchmark that is worse than the margin.
    history : tuple of StoredRun
        Past runs, oldest first, as ``read_histories`` gives them. They show how much a benchmark
        changes from one run to the next.

    Returns
    -------
    Gate
        A benchmark is "worse" when its change is shown to exceed the margin, "not worse" when its
        change is shown not to, and otherwise "inconclusive". Values of one process are a group. If
        no value varies on either side, the two values are compared with the margin directly.
    """
    if worse not in WORSE_WHEN:
        raise ValueError(f"worse must be 'higher' or 'lower', got {worse!r}")
    require_shares(alpha=alpha)
    _require_possible(margin, worse)
    (one, of_one, twice), (other, of_other, twice_too) = in_one(reference), in_one(current)
    before, after = _paired(one, other)
    names = _judged_names(before, after)
    runs = known_runs(before, after, names, (of_one, of_other), history)
    limit = Limit(margin, worse)
    judged = [judge(name, before, after, limit, runs.known.get(name)) for name in names]
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
        runs=runs.sides,
        history=runs.history,
        about_runs=runs.about,
        run_notes=(*twice, *twice_too, *runs.notes),
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


def _require_possible(margin: Margin, worse: str) -> None:
    """Reject a margin that no change could exceed: any build would pass."""
    amount, kind = parse_margin(margin)
    if kind == "%" and amount >= 100.0 and worse == "lower":
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
