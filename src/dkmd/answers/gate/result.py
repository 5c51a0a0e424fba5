"""What the gate answers: a row per benchmark, the outcome for CI, and both in words."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

from dkmd.answers.comparison import FORMAT_VERSION, plain_margin
from dkmd.base.calls import Call
from dkmd.base.wording import percent, plain_pair, short_p, signed_number, visible
from dkmd.inference.margins import Margin
from dkmd.inference.result import DkmdResult
from dkmd.sources.files.benchmarks import (
    Measurements,
    go_processors,
)

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
WORSE, NOT_WORSE, UNDECIDED = "worse", "not worse", "inconclusive"


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
