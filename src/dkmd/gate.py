"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

A gate must not pass by accident. What cannot be judged is inconclusive and says why; benchmarks
that vanished or appeared are listed; no common benchmark is an error.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from dkmd.calls import Call, recorded
from dkmd.compare import open_table
from dkmd.comparison import FORMAT_VERSION, plain_margin
from dkmd.margins import Margin, parse_margin, region_of
from dkmd.result import DkmdResult, ExactOutcome
from dkmd.sources.benchmarks import (
    BenchmarkFileError,
    Benchmarks,
    Measurements,
    looks_like_benchmarks,
    read_benchmarks,
)
from dkmd.sources.columns import NUMERIC
from dkmd.sources.samples import Held, Table, unit_of
from dkmd.two_sample import dkmd_2samp
from dkmd.wording import percent, plain_pair, short_p, signed_number

WORSE_WHEN = ("increase", "decrease")
PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "inconclusive"


@dataclass(frozen=True)
class GateRow:
    """One benchmark: how it moved and what that means.

    ``shift`` and its interval are relative changes (0.02 is 2 %) where ``relative`` says so, else
    amounts in ``unit``; positive when current is larger. ``pvalue`` is that of "worse than the
    margin", corrected for the number of benchmarks.
    """

    name: str
    unit: str
    verdict: str  # "worse", "not worse" or "inconclusive"
    reason: str
    sizes: tuple[int, int]
    centers: tuple[float, float]
    shift: float
    interval: tuple[float, float]
    relative: bool
    pvalue: float


class Evidence(NamedTuple):
    """What a row was judged by: the measurements as they were read, and the test of them."""

    reference: Measurements
    current: Measurements
    result: DkmdResult | None = None  # with x = current; None where there is none
    pvalue: float = math.nan  # of "worse than the margin", for this benchmark alone


@dataclass(frozen=True)
class Gate:
    """All benchmarks of two builds."""

    rows: tuple[GateRow, ...]
    vanished: tuple[str, ...]
    appeared: tuple[str, ...]
    margin: Margin
    worse: str
    geometric_mean: float  # of the factors by which benchmarks changed; NaN if none could be told
    alpha: float = 0.05
    evidence: Mapping[str, Evidence] = field(default_factory=dict, repr=False, compare=False)
    call: Call | None = field(default=None, repr=False, compare=False)

    def report(self, path: str | os.PathLike[str], *, command: str | None = None) -> None:
        """Write a page with a row for each benchmark: one HTML file that needs nothing else.

        ``command`` is what to type at a shell for the same, where that is known better.
        """
        from dkmd.report.page import write_page

        write_page(self, path, command)

    def with_call(self, call: Call) -> Self:
        """The same gate, knowing how it was asked for."""
        return replace(self, call=call)

    @property
    def outcome(self) -> str:
        """What CI should do: "failed" if anything is worse, "inconclusive" if anything is so."""
        verdicts = {row.verdict for row in self.rows}
        if WORSE in verdicts:
            return FAILED
        return INCONCLUSIVE if UNDECIDED in verdicts else PASSED

    def headline(self) -> str:
        """The answer in one line."""
        margin, total = plain_margin(self.margin, ""), len(self.rows)
        named = {v: [r.name for r in self.rows if r.verdict == v] for v in (WORSE, UNDECIDED)}
        if self.outcome == FAILED:
            return (
                f"FAILED: {len(named[WORSE])} of {total} benchmarks worse by more than {margin}: "
                f"{_listed(named[WORSE])}."
            )
        if self.outcome == INCONCLUSIVE:
            return (
                f"INCONCLUSIVE: {len(named[UNDECIDED])} of {total} benchmarks cannot be told from "
                f"a margin of {margin}: {_listed(named[UNDECIDED])}."
            )
        return f"PASSED: none of {total} benchmarks is worse by more than {margin}."

    def table(self) -> list[tuple[str, ...]]:
        """A row per benchmark under a head, and the geometric mean of all that have a factor."""
        head = ("", "reference", "current", "change", "95 % interval", "p (worse)", "n", "verdict")
        rows = [_table_row(row) for row in self.rows]
        if not math.isnan(self.geometric_mean):
            mean = percent(100.0 * (self.geometric_mean - 1.0))
            rows.append(("geometric mean", "", "", mean, "", "", "", ""))
        return [head, *rows]

    def notes(self) -> list[str]:
        """What a table does not show: reasons, and benchmarks that are on one side only."""
        notes = [f"{row.name}: {row.reason}" for row in self.rows if row.reason]
        if self.vanished:
            notes.append(f"not in current any more: {', '.join(self.vanished)}")
        if self.appeared:
            notes.append(f"new in current, not judged: {', '.join(self.appeared)}")
        return notes

    def markdown(self) -> str:
        """The same for a pull request."""
        head, *rows = ([_cell(text) for text in row] for row in self.table())
        lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 2) + "|---|"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        notes = "".join(f"\n- {_cell(note)}" for note in self.notes())
        return f"**{_cell(self.headline())}**\n\n" + "\n".join(lines) + f"\n{notes}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything, unrounded."""
        return {
            "format": "dkmd-gate",
            "version": FORMAT_VERSION,
            "outcome": self.outcome,
            "margin": self.margin,
            "worse": self.worse,
            "geometric_mean": self.geometric_mean,
            "vanished": list(self.vanished),
            "appeared": list(self.appeared),
            "benchmarks": [asdict(row) for row in self.rows],
        }


@dataclass(frozen=True)
class _Judged:
    """A benchmark before the correction for their number."""

    row: GateRow
    worse: float  # p-value of "worse than the margin"
    fine: float  # p-value of "not worse than the margin"
    log_change: float
    evidence: Evidence


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
        is shown not to, and else "inconclusive". Values of one process are taken as a group.
    """
    if worse not in WORSE_WHEN:
        raise ValueError(f"worse must be 'increase' or 'decrease', got {worse!r}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha!r}")
    parse_margin(margin)
    common = [name for name in reference if name in current]
    if not common:
        raise ValueError("the two files have no benchmark in common")
    judged = [_judge(name, reference[name], current[name], margin, worse) for name in common]
    corrected = _holm(np.array([j.worse for j in judged]))
    rows = [_decided(j, p, alpha) for j, p in zip(judged, corrected.tolist(), strict=True)]
    changes = [j.log_change for j in judged if math.isfinite(j.log_change)]
    return Gate(
        rows=tuple(rows),
        vanished=_missing(reference, current),
        appeared=_missing(current, reference),
        margin=margin,
        worse=worse,
        geometric_mean=math.exp(math.fsum(changes) / len(changes)) if changes else math.nan,
        alpha=alpha,
        evidence={j.row.name: j.evidence for j in judged},
    )


def load_benchmarks(
    path: str, column: str | None = None, by: str | None = None, groups: str | None = None
) -> Benchmarks:
    """Named measurements from a benchmark file or a table.

    In a table every numeric column is a benchmark, or ``column`` alone; with ``by`` every value of
    that column is one. ``groups`` tells which rows come from one process.
    """
    refusal: BenchmarkFileError | None = None
    if looks_like_benchmarks(path):
        try:
            return read_benchmarks(path)
        except BenchmarkFileError as error:
            refusal = error
    try:
        table = open_table(path, path)
        kinds = table.kinds()
    except (ValueError, OSError):
        if refusal is not None:
            raise refusal from None
        raise
    aside = {by, groups}
    columns = (
        [column] if column else [c for c, k in kinds.items() if k in NUMERIC and c not in aside]
    )
    if not columns:
        raise refusal or BenchmarkFileError(f"{path} has no column of numbers")
    if by is None:
        return {c: _measured(table, c, groups, None, kinds) for c in columns}
    if len(columns) > 1:
        raise BenchmarkFileError(
            f"{path} has several columns of numbers ({', '.join(columns)}): say which with --column"
        )
    levels = table.levels(by)
    return {v: _measured(table, columns[0], groups, (by, v), kinds) for v in levels}


def _measured(
    table: Table,
    column: str,
    groups: str | None,
    where: tuple[str, object] | None,
    kinds: Mapping[str, str],
) -> Measurements:
    """One column, or one level of it, as measurements."""
    data = table.read(column, groups, where)
    if not isinstance(data, Held):
        raise BenchmarkFileError(f"{table.name} is too large for a gate: use dkmd compare")
    labels = np.arange(data.values.size)
    if data.groups is not None:
        _, labels = np.unique(np.asarray(data.groups).astype(str), return_inverse=True)
    unit = unit_of(column, kinds.get(column, ""))
    return Measurements(unit, data.values.tolist(), labels.tolist())


def _judge(
    name: str, reference: Measurements, current: Measurements, margin: Margin, worse: str
) -> _Judged:
    """Compare one benchmark; whatever stands in the way becomes its reason."""
    y, x = (_clean(m) for m in (reference, current))
    sizes = (len(y.values), len(x.values))
    reason = _obstacle(y, x, reference, current)
    evidence = Evidence(reference, current)
    if reason:
        return _undecided(name, sizes, reason, evidence)
    groups = (x.groups, y.groups) if x.repeated or y.repeated else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = dkmd_2samp(x.values, y.values, groups=groups)
            region = region_of(result, margin)
        except ValueError as error:
            return _undecided(name, sizes, str(error), evidence)
    outcome, judged = result.outcome(), region.result.outcome()
    if not isinstance(outcome, ExactOutcome) or not isinstance(judged, ExactOutcome):
        return _undecided(name, sizes, _told(caught) or "nothing varies", evidence)
    relative = region.result is not result
    limit, sign = (region.high, 1.0) if worse == "increase" else (region.low, -1.0)
    beyond, within = ("greater", "less") if sign > 0.0 else ("less", "greater")
    interval = judged.shift_interval(0.95)
    centers = tuple(c + outcome.pair.origin for c in outcome.pair.centers())
    row = GateRow(
        name=name,
        unit=reference.unit,
        verdict="",
        reason=_told(caught),
        sizes=sizes,
        centers=(centers[1], centers[0]),
        shift=_change(judged.shift, relative),
        interval=(_change(interval[0], relative), _change(interval[1], relative)),
        relative=relative,
        pvalue=math.nan,
    )
    positive = min(*x.values, *y.values) > 0.0
    log_change = judged.shift if relative else math.nan
    if not relative and positive:
        log_change = float(result.on_logs().shift)
    alone = judged.pvalue_beyond(limit, beyond)
    return _Judged(
        row,
        alone,
        judged.pvalue_beyond(limit, within),
        log_change,
        evidence._replace(result=result, pvalue=alone),
    )


def _clean(measured: Measurements) -> Measurements:
    """Without NaN."""
    kept = [
        (v, g) for v, g in zip(measured.values, measured.groups, strict=True) if not math.isnan(v)
    ]
    return Measurements(measured.unit, [v for v, _ in kept], [g for _, g in kept])


def _obstacle(
    y: Measurements, x: Measurements, reference: Measurements, current: Measurements
) -> str:
    """Why two sets of measurements cannot be compared; empty if they can."""
    if reference.unit != current.unit:
        return f"the units differ: {reference.unit} and {current.unit}"
    for side, measured, given in (("reference", y, reference), ("current", x, current)):
        if not measured.values:
            return f"{side} has no values" + (" but NaN" if given.values else "")
        if len(measured.values) < 2:
            return f"{side} has one value: at least two are needed"
        if measured.repeated and len(set(measured.groups)) < 2:
            return f"all values of {side} come from one process: at least two are needed"
    return ""


def _told(caught: list[warnings.WarningMessage]) -> str:
    return "; ".join(dict.fromkeys(str(w.message) for w in caught))


def _undecided(name: str, sizes: tuple[int, int], reason: str, evidence: Evidence) -> _Judged:
    nothing, unit = (math.nan, math.nan), evidence.reference.unit
    row = GateRow(name, unit, UNDECIDED, reason, sizes, nothing, math.nan, nothing, False, math.nan)
    return _Judged(row, math.nan, math.nan, math.nan, evidence)


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
    if verdict == UNDECIDED and not reason:
        reason = "too noisy or too few values for this margin"
    row = judged.row
    return GateRow(
        row.name, row.unit, verdict, reason, row.sizes, row.centers, row.shift, row.interval,
        row.relative, corrected,
    )  # fmt: skip


def _holm(pvalues: np.ndarray) -> np.ndarray:
    """Holm's corrected p-values; NaN stays and does not count."""
    corrected = np.full(pvalues.size, math.nan)
    known = np.flatnonzero(~np.isnan(pvalues))
    order = known[np.argsort(pvalues[known])]
    scaled = pvalues[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected


def _missing(these: Mapping[str, object], those: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(name for name in these if name not in those)


def _table_row(row: GateRow) -> tuple[str, ...]:
    unit = row.unit and f" {row.unit}"
    before, after = ("" if c == "–" else f"{c}{unit}" for c in plain_pair(*row.centers))
    change = interval = ""
    if not math.isnan(row.shift):
        scaled = [100.0 * v if row.relative else v for v in (row.shift, *row.interval)]
        sign = " %" if row.relative else unit
        change = f"{signed_number(scaled[0])}{sign}"
        interval = f"{signed_number(scaled[1])} to {signed_number(scaled[2])}{sign}"
    sizes = f"{row.sizes[0]:,}+{row.sizes[1]:,}"
    return (row.name, before, after, change, interval, short_p(row.pvalue), sizes, row.verdict)


def _listed(names: list[str], most: int = 5) -> str:
    """Names with commas, cut where there are many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _cell(text: str) -> str:
    """Text from data that cannot break out of a Markdown table, nor become markup."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())


def _change(log_factor: float, relative: bool) -> float:
    """A change of logarithms as a relative change, within what a double can hold."""
    return math.expm1(min(log_factor, 700.0)) if relative else log_factor
