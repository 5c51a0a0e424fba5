"""The parts of a report, for HTML and Markdown alike: sections of words, tables and figures.

Numbers stay numbers here, so a CSV file has all their digits; ``text`` formats them for reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dkmd.paper.checks import Check
from dkmd.paper.trials import MeanSd

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Value = str | int | float | MeanSd | None


@dataclass(frozen=True)
class Heading:
    """A heading, and the format of its numbers (as in an f-string)."""

    name: str
    format: str = ".4f"


@dataclass(frozen=True)
class PaperTable:
    """Rows of values under columns."""

    name: str
    """The name of its CSV file."""
    title: str
    columns: Sequence[Heading]
    rows: Sequence[Sequence[Value]]
    note: str = ""

    def texts(self) -> list[list[str]]:
        """The rows as formatted text."""
        return [
            [text(value, column.format) for value, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]

    def records(self) -> list[list[Value]]:
        """Heading and rows for a CSV file; a mean ± sd takes two columns."""
        wide = [any(isinstance(row[i], MeanSd) for row in self.rows) for i in range(self.width)]
        heading: list[Value] = []
        for column, is_wide in zip(self.columns, wide, strict=True):
            heading += [f"{column.name}, mean", f"{column.name}, sd"] if is_wide else [column.name]
        records = [heading]
        for row in self.rows:
            record: list[Value] = []
            for value, is_wide in zip(row, wide, strict=True):
                record += _pair(value) if is_wide else [value]
            records.append(record)
        return records

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)


def _pair(value: Value) -> list[Value]:
    return [value.mean, value.sd] if isinstance(value, MeanSd) else [value, None]


def text(value: Value, format_: str = ".4f") -> str:
    """A value as text, with a true minus sign: −0.7583 ± 0.0420.

    Examples
    --------
    >>> text(MeanSd(-0.75832, 0.042, 500)), text(None), text(3)
    ('−0.7583 ± 0.0420', '–', '3')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, MeanSd):
        return f"{text(value.mean, format_)} ± {text(value.sd, format_)}"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    shown = f"{value:{format_}}"
    if float(shown.strip("%").replace(",", "")) == 0.0:
        shown = shown.lstrip("-")  # no −0.0000
    return shown.replace("-", "−")


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn on demand, and a sentence for readers who cannot see it."""

    name: str
    title: str
    alt: str
    draw: Callable[[], Canvas]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, what this run shows, and a short verdict."""

    claim: str
    shown: str
    verdict: str


@dataclass(frozen=True)
class Section:
    """One experiment in words, tables and figures."""

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[PaperTable] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    checks: Sequence[Check] = ()


@dataclass(frozen=True)
class Report:
    """A whole run."""

    title: str
    introduction: Sequence[str]
    sections: Sequence[Section]
    facts: dict[str, str] = field(default_factory=dict)
    """Version, seed, command and machine of the run."""

    @property
    def checks(self) -> list[Check]:
        """The checks of all sections."""
        return [check for section in self.sections for check in section.checks]

    @property
    def claims(self) -> PaperTable | None:
        """The claims of all sections as one table."""
        rows = [(c.claim, c.shown, c.verdict) for s in self.sections for c in s.claims]
        columns = [Heading("the paper says"), Heading("this run shows"), Heading("verdict")]
        return PaperTable("claims", "What holds", columns, rows) if rows else None

    @property
    def checked(self) -> PaperTable:
        """The checks of all sections as one table."""
        columns = [
            Heading("check"),
            Heading("value", ".5f"),
            Heading("limit", ".5f"),
            Heading("holds"),
        ]
        rows: list[Sequence[Value]] = [
            (check.what, check.value, check.limit, "yes" if check.holds else "NO")
            for check in self.checks
        ]
        return PaperTable("checks", "Checks", columns, rows)

    @property
    def tables(self) -> list[PaperTable]:
        """Every table that becomes a CSV file."""
        claims = [] if self.claims is None else [self.claims]
        return [*claims, *(t for s in self.sections for t in s.tables), self.checked]

    @property
    def figures(self) -> list[Figure]:
        """The figures of all sections."""
        return [figure for section in self.sections for figure in section.figures]
