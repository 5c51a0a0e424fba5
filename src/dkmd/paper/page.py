"""The report of the paper as one HTML page that needs nothing else: style and figures are inside.

The page shares base template and palette with the report of answers. The colours of figures become
CSS variables, so figures follow a dark page.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from dkmd.paper.report import PaperTable, Report
from dkmd.paper.style import COLOURS
from dkmd.render.figures.colours import DARK, ESTIMATORS_DARK, ESTIMATORS_LIGHT, LIGHT, palette_css
from dkmd.render.figures.svg import escape
from dkmd.render.report.html import environment, ours, rendered

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def page(report: Report, drawn: dict[str, str]) -> str:
    """The whole document; ``drawn`` has the SVG of each figure by its name."""
    figures = {
        figure.name: ours(inlined(drawn[figure.name], figure.name, figure.alt))
        for figure in report.figures
    }
    return rendered(_templates(), "paper.html", report=report, figures=figures, style=_style())


@cache
def _templates() -> Environment:
    """The templates, and the functions that they use as filters."""
    templates = environment("dkmd.paper")
    templates.filters["prose"] = prose
    templates.filters["cells"] = cells
    return templates


@cache
def _style() -> Markup:
    palette = palette_css(LIGHT | ESTIMATORS_LIGHT, DARK | ESTIMATORS_DARK)
    own = files("dkmd.paper").joinpath("page.css").read_text(encoding="utf-8")
    return ours(f"{palette}\n{own}")


class Phrase(NamedTuple):
    """A piece of a paragraph: words, or code in backticks."""

    text: str
    is_code: bool


def prose(text: str) -> list[Phrase]:
    """A paragraph as words and code in turn."""
    return [Phrase(part, i % 2 == 1) for i, part in enumerate(re.split(r"`([^`]*)`", text))]


class TableCell(NamedTuple):
    """A cell of a table: "number" keeps to one line, "words" may wrap."""

    text: str
    kind: str


def cells(table: PaperTable) -> list[list[TableCell]]:
    """The rows of a table."""
    return [
        [
            TableCell(shown, "words" if isinstance(value, str) else "number")
            for value, shown in zip(values, texts, strict=True)
        ]
        for values, texts in zip(table.rows, table.texts(), strict=True)
    ]


def inlined(svg: str, name: str, alt: str) -> str:
    """An SVG document as an element of the page, with unique ids, CSS variables and a label."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    element = re.sub(r'\bid="', f'id="{name}-', element)
    element = re.sub(r'href="#', f'href="#{name}-', element)
    element = element.replace("url(#", f"url(#{name}-")
    for variable, colour in COLOURS.items():
        element = element.replace(colour, f"var(--{variable})")
    described = f'<svg role="img" aria-label="{escape(alt)}"'
    return element.replace("<svg", described, 1)
