"""The answer of the gate: a row for each benchmark, and the outcome for CI.

``words`` says it in sentences, and ``listing`` sorts and cuts its rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, Self

from dkmd.answers.comparison import FORMAT_VERSION
from dkmd.answers.comparison.documents import Paged
from dkmd.base.calls import Call
from dkmd.base.defaults import ALPHA
from dkmd.inference.test.margins import Margin
from dkmd.inference.test.result import DkmdResult
from dkmd.sources.files.benchmarks import Measurements

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"

WORSE, BETTER, SAME, NOT_WORSE, UNDECIDED = "worse", "better", "same", "not worse", "inconclusive"
NOT_JUDGED = "not judged"
"""Verdicts on a benchmark that both sides have. What is not judged has no known direction."""

MISSING, NEW = "missing", "new"
"""Verdicts on a benchmark that only reference or only current has."""

VERDICTS = (WORSE, UNDECIDED, BETTER, NOT_WORSE, SAME, NOT_JUDGED, MISSING, NEW)
"""All verdicts, in the order in which benchmarks are listed."""


@dataclass(frozen=True)
class GateRow:
    """One benchmark: how it moved and what that means.

    ``shift`` and its interval are positive when current is larger. They are relative changes (0.02
    is 2%) if ``relative`` is true, else amounts in ``unit``. The interval is the one that decided:
    each end is a one-sided bound whose confidence is in ``levels``. ``pvalue`` is that of "worse
    than the margin", corrected for the number of benchmarks. It is NaN where no test was made, as
    for values that do not vary.
    """

    name: str
    unit: str
    verdict: str  # "worse", "better", "same", "not worse", "inconclusive" or "not judged"
    reason: str
    sizes: tuple[int, int]
    centers: tuple[float, float]
    shift: float
    interval: tuple[float, float]
    relative: bool
    pvalue: float
    better: str = "lower"  # which values are better: "lower", "higher" or "unknown"
    margin: Margin | None = None  # as it was given; None: the margin of the gate
    cause: str = ""  # why it is inconclusive (or not better), in two or three words
    levels: tuple[float, float] = (math.nan, math.nan)
    runs: tuple[int, int] = (1, 1)  # how many runs of reference and current
    between: float = math.nan  # standard deviation between runs, as a share; NaN if not known

    @property
    def harm(self) -> float:
        """How much worse current is, as a share of reference where that is known."""
        change = -self.shift if self.better == "higher" else self.shift
        if self.relative or math.isnan(change):
            return change
        size = abs(self.centers[0])
        return change / size if size > 0.0 else math.copysign(math.inf, change) if change else 0.0


class Evidence(NamedTuple):
    """What a row was judged by: the measurements as they were read, and their test."""

    reference: Measurements
    current: Measurements
    result: DkmdResult | None = None  # with x = current; None where no test was made
    pvalue: float = math.nan  # of "worse than the margin", for this benchmark alone


@dataclass(frozen=True)
class Gate(Paged):
    """The verdicts on all benchmarks of two builds."""

    rows: tuple[GateRow, ...]
    missing: tuple[str, ...]  # benchmarks that only reference has
    new: tuple[str, ...]  # benchmarks that only current has
    margin: Margin
    worse: str | None  # the direction that was given; None: each benchmark has its own
    geometric_mean: float  # of the factors by which benchmarks changed; NaN if no factor is known
    alpha: float = ALPHA
    evidence: Mapping[str, Evidence] = field(default_factory=dict, repr=False, compare=False)
    call: Call | None = field(default=None, repr=False, compare=False)
    averaged: int | None = None  # how many benchmarks the geometric mean covers; None for all
    left_out: Mapping[str, str] = field(default_factory=dict)  # other columns, and why not judged
    missing_fails: bool = False  # whether a missing benchmark fails the gate
    runs: tuple[int, int] = (1, 1)  # how many runs of reference and current
    history: int = 0  # how many runs the history holds
    about_runs: str = ""  # what the intervals know about changes from run to run
    run_notes: tuple[str, ...] = ()  # warnings about runs

    def _repr_html_(self) -> str:
        from dkmd.answers.gate.notebook import gate_html

        return gate_html(self)

    def with_call(self, call: Call) -> Self:
        """The same gate with a record of how it was asked for."""
        return replace(self, call=call)

    @property
    def judged(self) -> list[GateRow]:
        """The rows that have a verdict; others are only shown."""
        return [row for row in self.rows if row.verdict != NOT_JUDGED]

    @property
    def outcome(self) -> str:
        """The word for CI: "failed" if any benchmark is worse, else "inconclusive" or "passed"."""
        verdicts = {row.verdict for row in self.rows}
        if WORSE in verdicts or (self.missing and self.missing_fails):
            return FAILED
        return INCONCLUSIVE if UNDECIDED in verdicts else PASSED

    @property
    def not_measured(self) -> list[str]:
        """The benchmarks whose values could not be read, or that failed in the current runs."""
        return [
            name
            for name, (reference, current, *_) in self.evidence.items()
            if reference.unread or current.unread or current.failure
        ]

    def named(self, verdict: str) -> list[str]:
        """The names of the benchmarks with a verdict."""
        if verdict in (MISSING, NEW):
            return list(self.missing if verdict == MISSING else self.new)
        return [row.name for row in self.rows if row.verdict == verdict]

    def headline(self) -> str:
        """The outcome in one sentence, with some names."""
        from dkmd.answers.gate.words import headline

        return headline(self)

    def closing_line(self, width: int | None = None, names: bool = False) -> str:
        """The outcome in one line: counts, the geometric mean, and ``names`` if there is room."""
        from dkmd.answers.gate.words import closing_line

        return closing_line(self, width, names)

    def table(self) -> list[tuple[str, ...]]:
        """A heading, and a row for each benchmark, the worst first."""
        from dkmd.answers.gate.listing import whole_table

        return whole_table(self)

    @property
    def mean_change(self) -> float:
        """The geometric mean as a relative change: 0.02 is 2%."""
        return self.geometric_mean - 1.0

    @property
    def covered(self) -> int:
        """How many benchmarks the geometric mean covers."""
        return len(self.judged) if self.averaged is None else self.averaged

    def mean_of(self) -> str:
        """The words "geometric mean", and of how many benchmarks if not of all."""
        total = len(self.judged)
        return "geometric mean" + (f" of {self.covered} of {total}" if self.covered < total else "")

    def notes(self, most: int | None = None, *, one_sided: bool = True) -> list[str]:
        """Reasons, and what was not judged. ``most`` limits the names in a note.

        ``one_sided`` includes benchmarks that are in one file only.
        """
        from dkmd.answers.gate.words import notes

        return notes(self, most, one_sided)

    def not_judged(self, most: int | None = None) -> list[str]:
        """Benchmarks that are in one file only or have no direction, and columns left out."""
        from dkmd.answers.gate.words import not_judged, only_shown

        return only_shown(self, most) + not_judged(self, most)

    def remarks(self) -> list[str]:
        """How to read the table, where that is not plain: which direction is better."""
        from dkmd.answers.gate.words import remarks

        return remarks(self)

    def markdown(self, *, every: bool = False, only: Collection[str] = ()) -> str:
        """The outcome, the rows that matter and the notes as Markdown for a pull request.

        Other rows are folded. ``every`` shows all rows, and ``only`` those with some verdicts.
        """
        from dkmd.answers.gate.markdown import markdown

        return markdown(self, every, only)

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
            "missing": list(self.missing),
            "missing_fails": self.missing_fails,
            "new": list(self.new),
            "left_out": dict(self.left_out),
            "runs": list(self.runs),
            "history": self.history,
            "benchmarks": [
                asdict(row) | {"margin": self.margin if row.margin is None else row.margin}
                for row in self.rows
            ],
        }
