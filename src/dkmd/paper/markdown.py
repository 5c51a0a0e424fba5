"""A report as Markdown, for docs/: the same sections as the page, figures as files beside it."""

from __future__ import annotations

from dkmd.paper.report import Report, Section, Table

MARK = "<!-- written by `dkmd reproduce --markdown`; do not edit -->"
"""The first line: a file that starts with it may be overwritten."""


def markdown(report: Report, figure_folder: str) -> str:
    """The whole document; figures are linked as ``figure_folder``/name.svg."""
    facts = [f"- {name}: {value}" for name, value in report.facts.items()]
    parts = [MARK, f"# {report.title}", *report.introduction, "\n".join(facts)]
    if report.claims is not None:
        parts += ["## What holds", _table(report.claims)]
    for section in report.sections:
        parts += _section(section, figure_folder)
    broken = [check for check in report.checks if not check.holds]
    parts += [
        "## Checks",
        f"{len(report.checks) - len(broken)} of {len(report.checks)} checks hold: every cell of "
        "Tables 1 and 3 and the row k = 0 of Table 2 against the paper, the exact estimator "
        "against the population value in every cell and under contamination, and the theorems.",
        *(f"- DOES NOT HOLD: {c.what}, {c.value:.5f} (limit {c.limit:.5f})" for c in broken),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section, figure_folder: str) -> list[str]:
    parts = [f"## {section.title}", *section.paragraphs]
    parts += [f"![{figure.alt}]({figure_folder}/{figure.name}.svg)" for figure in section.figures]
    for table in section.tables:
        parts += [f"**{table.title}.** {table.note}".strip(), _table(table)]
    return parts


def _table(table: Table) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    heading = line([column.name for column in table.columns])
    rule = "|" + "---|" * table.width
    return "\n".join([heading, rule, *(line(row) for row in table.texts())])
