"""A report as Markdown, for docs/: the same sections as the page, with figures as files."""

from __future__ import annotations

import textwrap

from dkmd.paper.report import PaperTable, Report, Section

MARK = "<!-- written by `dkmd reproduce --markdown`; do not edit -->"
"""The first line: a file that starts with it may be overwritten."""


def markdown(report: Report, figure_folder: str) -> str:
    """The whole document; figures are linked as ``figure_folder``/name.svg."""
    facts = [f"- {name}: {value}" for name, value in report.facts.items()]
    parts = [MARK, f"# {report.title}", *map(_wrapped, report.introduction), "\n".join(facts)]
    if report.claims is not None:
        parts += ["## What holds", _table(report.claims)]
    for section in report.sections:
        parts += _section(section, figure_folder)
    broken = [check for check in report.checks if not check.holds]
    parts += [
        "## Checks",
        _wrapped(
            f"{len(report.checks) - len(broken)} of {len(report.checks)} checks hold. They compare "
            "every cell of Tables 1 and 3, and the row k = 0 of Table 2, with the paper, and the "
            "exact estimator with the population value in every cell. They also bound the spread "
            "of the exact estimator under contamination, and test the theorems."
        ),
        *(f"- DOES NOT HOLD: {c.what}, {c.value:.5f} (limit {c.limit:.5f})" for c in broken),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, figure_folder: str) -> list[str]:
    parts = [f"## {section.title}", *map(_wrapped, section.paragraphs)]
    parts += [f"![{figure.alt}]({figure_folder}/{figure.name}.svg)" for figure in section.figures]
    for table in section.tables:
        parts += [f"**{table.title}.** {table.note}".strip(), _table(table)]
    return parts


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def _table(table: PaperTable) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    heading = line([column.name for column in table.columns])
    rule = "|" + "---|" * table.width
    return "\n".join([heading, rule, *(line(row) for row in table.texts())])
