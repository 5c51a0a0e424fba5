"""The answer of the gate: a row for each benchmark, the outcome for CI, and both in words."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

from dkmd.answers.comparison import FORMAT_VERSION, plain_margin
from dkmd.base.calls import Call
from dkmd.base.wording import (
    level_of,
    names_by_note,
    percent,
    plain_pair,
    short_p,
    signed_number,
    visible,
)
from dkmd.inference.defaults import ALPHA, CONFIDENCE
from dkmd.inference.margins import Margin
from dkmd.inference.result import DkmdResult
from dkmd.sources.files.benchmarks import Measurements, go_processors

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "inconclusive"


@dataclass(frozen=True)
class GateRow:
    """One benchmark: how it moved and what that means.

    ``shift`` and its interval are positive when current is larger. They are relative changes (0.02
    is 2%) if ``relative`` is true, else amounts in ``unit``. ``pvalue`` is that of "worse than the
    margin", corrected for the number of benchmarks. It is NaN where no test was made, as for values
    that do not vary.
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
    runs: tuple[int, int] = (1, 1)  # how many runs of reference and current
    between: float = math.nan  # standard deviation between runs, as a share; NaN if not known


class Evidence(NamedTuple):
    """What a row was judged by: the measurements as they were read, and their test."""

    reference: Measurements
    current: Measurements
    result: DkmdResult | None = None  # with x = current; None where no test was made
    pvalue: float = math.nan  # of "worse than the margin", for this benchmark alone


@dataclass(frozen=True)
class Gate:
    """The verdicts on all benchmarks of two builds."""

    rows: tuple[GateRow, ...]
    vanished: tuple[str, ...]
    appeared: tuple[str, ...]
    margin: Margin
    worse: str
    geometric_mean: float  # of the factors by which benchmarks changed; NaN if no factor is known
    alpha: float = ALPHA
    evidence: Mapping[str, Evidence] = field(default_factory=dict, repr=False, compare=False)
    call: Call | None = field(default=None, repr=False, compare=False)
    averaged: int | None = None  # how many benchmarks the geometric mean covers; None for all
    left_out: Mapping[str, str] = field(default_factory=dict)  # other columns, and why not judged
    runs: tuple[int, int] = (1, 1)  # how many runs of reference and current
    history: int = 0  # how many runs the history holds
    about_runs: str = ""  # what the intervals know about changes from run to run
    run_notes: tuple[str, ...] = ()  # warnings about runs

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        command: str | None = None,
        advance: Callable[[int, int], None] | None = None,
    ) -> None:
        """Write a page with a row for each benchmark: one self-contained HTML file.

        ``command`` is the shell command that the page shows; by default it follows from the call.
        ``advance`` is called with the number of rows that are done and their total.
        """
        from dkmd.answers.page import write_page

        write_page(self, path, command, advance)

    def with_call(self, call: Call) -> Self:
        """The same gate with a record of how it was asked for."""
        return replace(self, call=call)

    @property
    def outcome(self) -> str:
        """The word for CI: "failed" if any benchmark is worse, else "inconclusive" or "passed"."""
        verdicts = {row.verdict for row in self.rows}
        if WORSE in verdicts:
            return FAILED
        return INCONCLUSIVE if UNDECIDED in verdicts else PASSED

    def headline(self) -> str:
        """The outcome in one sentence."""
        margin, total = plain_margin(self.margin, ""), len(self.rows)
        named = {v: [r.name for r in self.rows if r.verdict == v] for v in (WORSE, UNDECIDED)}
        if self.outcome == FAILED:
            return (
                f"FAILED: {len(named[WORSE])} of {total} benchmarks worse by more than {margin}: "
                f"{listed(named[WORSE])}."
            )
        if self.outcome == INCONCLUSIVE:
            return (
                f"INCONCLUSIVE: {len(named[UNDECIDED])} of {total} benchmarks may or may not be "
                f"worse by more than {margin}: {listed(named[UNDECIDED])}."
            )
        return f"PASSED: none of {total} benchmarks is worse by more than {margin}."

    def table(self) -> list[tuple[str, ...]]:
        """A heading, a row for each benchmark, and the geometric mean of their changes."""
        interval = f"{level_of(1.0 - CONFIDENCE)} interval"
        head = ("", "reference", "current", "change", interval, "p (worse)", "n", "verdict")
        rows = [_table_row(row) for row in self.rows]
        if not math.isnan(self.mean_change):
            mean = percent(self.mean_change)
            rows.append((self.mean_of(), "", "", mean, "", "", "", ""))
        return [head, *rows]

    @property
    def mean_change(self) -> float:
        """The geometric mean as a relative change: 0.02 is 2%."""
        return self.geometric_mean - 1.0

    @property
    def covered(self) -> int:
        """How many benchmarks the geometric mean covers."""
        return len(self.rows) if self.averaged is None else self.averaged

    def mean_of(self) -> str:
        """The words "geometric mean", and of how many benchmarks if not of all."""
        some = self.covered < len(self.rows)
        return "geometric mean" + (f" of {self.covered} of {len(self.rows)}" if some else "")

    def notes(self) -> list[str]:
        """Reasons, and benchmarks that were not judged: the table shows neither."""
        reasons = names_by_note((row.name, row.reason) for row in self.rows)
        told = [f"{', '.join(names)}: {why}" for why, names in reasons.items() if why]
        return told + self.not_judged() + list(self.run_notes)

    def not_judged(self) -> list[str]:
        """Benchmarks that are in one file only, and columns that were left out."""
        notes = []
        if self.vanished:
            notes.append(f"missing from current: {', '.join(self.vanished)}")
        if self.appeared:
            notes.append(f"new in current, not judged: {', '.join(self.appeared)}")
        renamed = processors_differ(self.vanished, self.appeared)
        if renamed:
            notes.append(renamed)
        reasons = names_by_note(self.left_out.items())
        return notes + [f"not judged: {', '.join(names)} {why}" for why, names in reasons.items()]

    def markdown(self) -> str:
        """The headline, the table and the notes as Markdown for a pull request."""
        head, *rows = ([_cell(text) for text in row] for row in self.table())
        lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 2) + "|---|"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        notes = "".join(f"\n- {_cell(note)}" for note in self.notes())
        return f"**{_cell(self.headline())}**\n\n" + "\n".join(lines) + f"\n{notes}\n"

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""
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
            "runs": list(self.runs),
            "history": self.history,
            "benchmarks": [asdict(row) for row in self.rows],
        }


def processors_differ(before: Sequence[str], after: Sequence[str]) -> str:
    """A note if names differ only in the number that Go appends for GOMAXPROCS; else empty."""
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


def _table_row(row: GateRow) -> tuple[str, ...]:
    unit = row.unit and f" {row.unit}"
    before, after = ("" if c == "–" else f"{c}{unit}" for c in plain_pair(*row.centers))
    change = interval = ""
    if not math.isnan(row.shift):
        scaled = [100.0 * v if row.relative else v for v in (row.shift, *row.interval)]
        sign = "%" if row.relative else unit
        change = f"{signed_number(scaled[0])}{sign}"
        if not math.isnan(row.interval[0]):
            interval = f"{signed_number(scaled[1])} to {signed_number(scaled[2])}{sign}"
    sizes = f"{row.sizes[0]:,}+{row.sizes[1]:,}"
    return (row.name, before, after, change, interval, short_p(row.pvalue), sizes, row.verdict)


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names with commas; the first few if there are many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table: without markup and control characters."""
    text = visible(" ".join(text.split()))
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return text
