"""The gate: benchmarks of two builds, paired by name, judged against a margin, for CI.

A gate must not pass by accident. What failed or cannot be judged is inconclusive and says why;
what vanished, appeared or was left out is listed; no common benchmark is an error.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from dkmd.answers.comparison import FORMAT_VERSION, plain_margin
from dkmd.base.calls import Call, recorded
from dkmd.base.errors import BenchmarkFileError, NotANumberError, UnknownFormatError
from dkmd.base.wording import percent, plain_pair, short_p, signed_number, visible
from dkmd.binned.logarithms import as_change, as_factor
from dkmd.inference.margins import Margin, Region, opposed, parse_margin, region_of
from dkmd.inference.result import DkmdResult, ExactOutcome, LimitOutcome
from dkmd.inference.two_sample import check_options, run
from dkmd.sources.column_data import ColumnData, HeldColumn, unit_of
from dkmd.sources.files.benchmarks import (
    LARGEST_FILE,
    WHAT,
    BenchmarkFile,
    Benchmarks,
    Measurements,
    go_processors,
    looks_like_benchmarks,
    looks_like_text_of_benchmarks,
    parse_benchmarks,
    read_benchmarks,
    text_of,
)
from dkmd.sources.files.characters import whole_stream
from dkmd.sources.files.table import text_table
from dkmd.sources.files.text_file import STDIN
from dkmd.sources.kinds import NUMERIC, OTHER, TEXT
from dkmd.sources.loading import open_table
from dkmd.sources.number_words import MISSING, level_order
from dkmd.sources.table import Table

WORSE_WHEN = ("increase", "decrease")
PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "inconclusive"

FEW = 5
"""Fewer than this are not judged beside more than MANY_TIMES as many."""

MANY_TIMES = 2

ROUGH = 10
"""Fewer values than this give a rough interval."""

PLAIN = check_options(None, None, "exact", "two-sided", None, "propagate")
"""How a benchmark is tested: by the defaults."""

NOTHING_VARIED = "nothing varied: judged by the values themselves, so there is no p-value"


@dataclass(frozen=True)
class GateRow:
    """One benchmark: how it moved and what that means.

    ``shift`` and its interval are relative changes (0.02 is 2 %) where ``relative`` says so, else
    amounts in ``unit``; positive when current is larger. ``pvalue`` is that of "worse than the
    margin", corrected for the number of benchmarks; NaN where there is none, as for values that do
    not vary.
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
    averaged: int | None = None  # how many benchmarks the geometric mean covers; None for all
    left_out: Mapping[str, str] = field(default_factory=dict)  # what else there was, and why not

    def report(self, path: str | os.PathLike[str], *, command: str | None = None) -> None:
        """Write a page with a row for each benchmark: one HTML file that needs nothing else.

        ``command`` is what to type at a shell for the same, where that is known better.
        """
        from dkmd.render.report.page import write_page

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
            rows.append((self.mean_of(), "", "", mean, "", "", "", ""))
        return [head, *rows]

    @property
    def covered(self) -> int:
        """How many benchmarks the geometric mean is of."""
        return len(self.rows) if self.averaged is None else self.averaged

    def mean_of(self) -> str:
        """What the geometric mean is of, if not of all."""
        some = self.covered < len(self.rows)
        return "geometric mean" + (f" of {self.covered} of {len(self.rows)}" if some else "")

    def notes(self) -> list[str]:
        """What a table does not show: reasons, and what was not judged."""
        by_reason: dict[str, list[str]] = {}
        for row in self.rows:
            by_reason.setdefault(row.reason, []).append(row.name)
        told = [f"{', '.join(names)}: {why}" for why, names in by_reason.items() if why]
        return told + self.not_judged()

    def not_judged(self) -> list[str]:
        """Benchmarks that are on one side only, and what was left out."""
        notes = []
        if self.vanished:
            notes.append(f"not in current any more: {', '.join(self.vanished)}")
        if self.appeared:
            notes.append(f"new in current, not judged: {', '.join(self.appeared)}")
        renamed = _processors_differ(self.vanished, self.appeared)
        if renamed:
            notes.append(renamed)
        by_reason: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            by_reason.setdefault(why, []).append(name)
        notes += [f"not judged: {', '.join(names)} {why}" for why, names in by_reason.items()]
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
            "alpha": self.alpha,
            "geometric_mean": self.geometric_mean,
            "averaged": self.covered,
            "vanished": list(self.vanished),
            "appeared": list(self.appeared),
            "left_out": dict(self.left_out),
            "benchmarks": [asdict(row) for row in self.rows],
        }


@dataclass(frozen=True)
class _Judged:
    """A benchmark before the correction for their number; decided already if nothing varies."""

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


def _processors_differ(before: Sequence[str], after: Sequence[str]) -> str:
    """A word on names that differ in what Go appends for GOMAXPROCS; empty if none do."""
    then = dict(go_processors(name) for name in before)
    now = dict(go_processors(name) for name in after)
    for bare, processors in then.items():
        if now.get(bare, processors) != processors:
            counts = [f"-{count}" if count else "none" for count in (processors, now[bare])]
            return (
                f"the names differ in the GOMAXPROCS that Go appends ({' and '.join(counts)}): run "
                "both with the same -cpu"
            )
    return ""


def load_benchmarks(
    path: str, column: str | None = None, by: str | None = None, groups: str | None = None
) -> Benchmarks:
    """Named measurements from a benchmark file or a table.

    In a table every numeric column is a benchmark, or ``column`` alone; with ``by`` every value of
    that column is one. ``groups`` tells which rows come from one process.
    """
    refusal: BenchmarkFileError | None = None
    found: BenchmarkFile | None = None
    table: Table | None = None
    if path == STDIN:
        found, table = _read_once(sys.stdin.buffer, "standard input")
    elif os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        with open(path, "rb") as file:
            found, table = _read_once(file, path)
    elif looks_like_benchmarks(path):
        try:
            found = read_benchmarks(path)
        except UnknownFormatError as error:
            refusal = error
    if found is not None:
        if column or by or groups:
            raise BenchmarkFileError(
                f"--column, --by and --groups are for tables, and {path} holds benchmarks"
            )
        return found
    try:
        table = table or open_table(path, path)
        kinds = table.kinds()
    except (ValueError, OSError):
        if refusal is not None:
            raise refusal from None
        raise
    return _of_table(table, kinds, column, by, groups, refusal)


def _read_once(file: BinaryIO, name: str) -> tuple[BenchmarkFile | None, Table | None]:
    """The benchmarks of a pipe or a device; if it holds none, the numbers in it as a table."""
    text = text_of(whole_stream(file, name, LARGEST_FILE, WHAT), name)
    if text.strip() and not looks_like_text_of_benchmarks(text):
        return None, text_table(text, name)
    return parse_benchmarks(text, name), None


def _of_table(
    table: Table,
    kinds: Mapping[str, str],
    column: str | None,
    by: str | None,
    groups: str | None,
    refusal: BenchmarkFileError | None,
) -> BenchmarkFile:
    """Columns, or levels of one, as benchmarks; what other columns hold is said."""
    found = BenchmarkFile()
    columns = [column] if column else []
    for other, kind in kinds.items() if not column else ():
        if other in (by, groups):
            continue
        words = _words_among_numbers(table, other) if kind == TEXT else None
        if kind in NUMERIC or words == []:
            columns.append(other)
        elif words:
            found[other] = Measurements(unit_of(other), failure=f"holds {words[0]!r} among numbers")
        else:
            found.left_out[other] = (
                f"holds {kind if kind != OTHER else 'other things'}, not numbers"
            )
    if not columns and (by or not found):
        why = "".join(f": {name} {measured.failure}" for name, measured in found.items())
        raise refusal or BenchmarkFileError(f"{table.name} has no column of numbers{why}")
    if by is None:
        every = table.read_columns(columns, groups)
        for name in columns:
            try:
                found[name] = _measured(table, name, every[name], kinds)
            except NotANumberError as error:
                if column:
                    raise
                found[name] = Measurements(unit_of(name), failure=f"cannot be read: {error}")
        return found
    if len(columns) > 1:
        raise BenchmarkFileError(
            f"{table.name} has several columns of numbers ({', '.join(columns)}): say which with "
            "--column"
        )
    levels = _levels(table, columns[0], by, groups)
    found.update({v: _measured(table, columns[0], data, kinds) for v, data in levels.items()})
    return found


def _words_among_numbers(table: Table, column: str) -> list[str] | None:
    """The words in a text column that is mostly numbers; None for any other."""
    levels = [v for v in table.levels(column) if v.strip().lower() not in MISSING]
    words = [v for v in levels if not _spells_number(v)]
    return words if 2 * len(words) < len(levels) or not levels else None


def _spells_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _levels(table: Table, column: str, by: str, groups: str | None) -> Mapping[str, ColumnData]:
    """A column at every level of another, in one pass where both can be held."""
    try:
        whole = table.read(column, by)
        processes = table.read(column, groups) if groups else None
    except ValueError:  # a row without a level belongs to none
        return table.read_levels(column, by, table.levels(by), groups)
    if not (isinstance(whole, HeldColumn) and isinstance(processes, HeldColumn | None)):
        return table.read_levels(column, by, table.levels(by), groups)
    assert whole.groups is not None
    names, codes = np.unique(np.asarray(whole.groups).astype(str), return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=names.size))[:-1]
    labels = None if processes is None else processes.groups
    rows = dict(zip(names.tolist(), np.split(order, ends), strict=True))
    return {
        level: HeldColumn(
            whole.values[rows[level]], None if labels is None else labels[rows[level]]
        )
        for level in sorted(rows, key=level_order)
    }


def _measured(
    table: Table, column: str, data: ColumnData, kinds: Mapping[str, str]
) -> Measurements:
    """One column, or one level of it, as measurements."""
    if not isinstance(data, HeldColumn):
        raise BenchmarkFileError(f"{table.name} is too large for a gate: use dkmd compare")
    labels = np.arange(data.values.size)
    if data.groups is not None:
        _, labels = np.unique(np.asarray(data.groups).astype(str), return_inverse=True)
    unit = unit_of(column, kinds.get(column, ""))
    return Measurements(unit, data.values.tolist(), labels.tolist())


def _judge(
    name: str, before: BenchmarkFile, after: BenchmarkFile, margin: Margin, worse: str
) -> _Judged:
    """Compare one benchmark; whatever stands in the way becomes its reason."""
    reference, current = (side.get(name) or Measurements("") for side in (before, after))
    current = current.in_unit(reference.unit)
    evidence = Evidence(reference, current)
    y, x = (_clean(m) for m in (reference, current))
    sizes = (len(y.values), len(x.values))
    reason = (
        _failed(reference, current)
        or _left_out(name, before, after)
        or _obstacle(y, x, reference, current)
    )
    if reason:
        return _undecided(name, sizes, reason, evidence)
    try:
        if _constant(y) and _constant(x):
            return _judge_constants(name, y, x, margin, worse, evidence)
        return _judge_samples(name, y, x, margin, worse, evidence)
    except ValueError as error:
        return _undecided(name, sizes, str(error), evidence)


def _judge_samples(
    name: str, y: Measurements, x: Measurements, margin: Margin, worse: str, evidence: Evidence
) -> _Judged:
    """By the test of a shift beyond the margin."""
    sizes = (len(y.values), len(x.values))
    groups = (x.groups, y.groups) if x.repeated or y.repeated else None
    result = run(x.values, y.values, PLAIN, groups)
    region = region_of(result, margin)
    outcome, judged = result.outcome(), region.result.outcome()
    told = "; ".join(dict.fromkeys([*result.notes, *region.result.notes]))
    if not isinstance(judged, ExactOutcome | LimitOutcome):
        return _undecided(name, sizes, told or "nothing varies", evidence)
    relative = region.result is not result
    if relative and opposed(result, region.result, 0.95):
        return _undecided(name, sizes, OPPOSED, evidence)
    interval = judged.shift_interval(0.95)
    centers = (math.nan, math.nan)
    if isinstance(outcome, ExactOutcome):
        at_x, at_y = outcome.pair.centers()
        centers = at_y + outcome.pair.origin, at_x + outcome.pair.origin
    units = (len(set(y.groups)), len(set(x.groups)))
    too_few = _too_few(units, groups is not None)
    row = GateRow(
        name=name,
        unit=y.unit,
        verdict=UNDECIDED if too_few else "",
        reason=too_few or told or _few(units),
        sizes=sizes,
        centers=centers,
        shift=as_change(judged.shift) if relative else judged.shift,
        interval=(as_change(interval[0]), as_change(interval[1])) if relative else interval,
        relative=relative,
        pvalue=math.nan,
    )
    positive = min(*x.values, *y.values) > 0.0
    log_change = judged.shift if relative else math.nan
    if not relative and positive and isinstance(outcome, ExactOutcome):
        log_change = float(result.on_logs().shift)
    alone, fine = _pvalues(region, worse) if not too_few else (math.nan, math.nan)
    return _Judged(row, alone, fine, log_change, evidence._replace(result=result, pvalue=alone))


OPPOSED = (
    "values and their logarithms moved in opposite directions, which a percentage cannot tell: "
    "give the margin in data units or in sd"
)


def _pvalues(region: Region, worse: str) -> tuple[float, float]:
    """P-values of "worse than the margin" and of "not worse"."""
    limit, beyond, within = (
        (region.high, "greater", "less") if worse == "increase" else (region.low, "less", "greater")
    )
    judged = region.result.outcome()
    return judged.pvalue_beyond(limit, beyond), judged.pvalue_beyond(limit, within)


def _too_few(units: tuple[int, int], grouped: bool) -> str:
    """Why so few values beside so many cannot be judged; empty if they can."""
    few, many = min(units), max(units)
    if few >= FEW or many <= MANY_TIMES * few:
        return ""
    what = "processes" if grouped else "values"
    return (
        f"too few {what}: {few} beside {many} give false alarms; take {FEW} or more, or as many on "
        "both sides"
    )


def _few(units: tuple[int, int]) -> str:
    """A word of caution on what the verdict does not rest on."""
    few = f"only {units[0]} and {units[1]} values: the interval is rough"
    return few if min(units) < ROUGH else ""


def _constant(measured: Measurements) -> bool:
    """Whether a side has but one value, a finite one."""
    return len(set(measured.values)) == 1 and math.isfinite(measured.values[0])


def _judge_constants(
    name: str, y: Measurements, x: Measurements, margin: Margin, worse: str, evidence: Evidence
) -> _Judged:
    """By the margin alone: a count of instructions that never varies leaves nothing to test."""
    old, new = y.values[0], x.values[0]
    size, kind = parse_margin(margin)
    positive = old > 0.0 and new > 0.0
    relative = kind == "%" and (positive or old == new)
    change = new - old
    if kind == "%" and not relative:
        raise ValueError("percentages need positive data; there are values of 0 or below")
    if relative:
        change, size = (new - old) / old if change else 0.0, size / 100.0
    harm = change if worse == "increase" else -change
    if kind == "sd" and harm > 0.0:
        raise ValueError(
            "nothing varied: there is no scale that a margin in sd could be counted in"
        )
    row = GateRow(
        name=name,
        unit=y.unit,
        verdict=WORSE if harm > size else NOT_WORSE,
        reason=NOTHING_VARIED,
        sizes=(len(y.values), len(x.values)),
        centers=(old, new),
        shift=change,
        interval=(math.nan, math.nan),
        relative=relative,
        pvalue=math.nan,
    )
    log_change = math.log(new) - math.log(old) if positive else math.nan
    result = run(x.values, y.values, PLAIN)
    return _Judged(row, math.nan, math.nan, log_change, evidence._replace(result=result))


def _failed(reference: Measurements, current: Measurements) -> str:
    """What went wrong while a benchmark ran; empty if nothing did."""
    for side, measured in (("current", current), ("reference", reference)):
        if measured.failure:
            return f"in {side} it {measured.failure}"
    return ""


def _left_out(name: str, before: BenchmarkFile, after: BenchmarkFile) -> str:
    """Why a side has no measurements of what the other one has; empty if it has."""
    for side, file in (("reference", before), ("current", after)):
        if name not in file and name in file.left_out:
            return f"in {side} it {file.left_out[name]}"
    return ""


def _clean(measured: Measurements) -> Measurements:
    """Without NaN."""
    kept = [
        (v, g) for v, g in zip(measured.values, measured.groups, strict=True) if not math.isnan(v)
    ]
    return replace(measured, values=[v for v, _ in kept], groups=[g for _, g in kept])


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


def _table_row(row: GateRow) -> tuple[str, ...]:
    unit = row.unit and f" {row.unit}"
    before, after = ("" if c == "–" else f"{c}{unit}" for c in plain_pair(*row.centers))
    change = interval = ""
    if not math.isnan(row.shift):
        scaled = [100.0 * v if row.relative else v for v in (row.shift, *row.interval)]
        sign = " %" if row.relative else unit
        change = f"{signed_number(scaled[0])}{sign}"
        if not math.isnan(row.interval[0]):
            interval = f"{signed_number(scaled[1])} to {signed_number(scaled[2])}{sign}"
    sizes = f"{row.sizes[0]:,}+{row.sizes[1]:,}"
    return (row.name, before, after, change, interval, short_p(row.pvalue), sizes, row.verdict)


def _listed(names: Sequence[str], most: int = 5) -> str:
    """Names with commas, cut where there are many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _cell(text: str) -> str:
    """Text from data that breaks no Markdown table, is no markup and steers no terminal."""
    text = visible(" ".join(text.split()))
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return text
