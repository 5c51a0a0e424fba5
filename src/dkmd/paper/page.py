"""A report as one HTML page that needs nothing else: styles and figures are inside.

Everything is escaped on its way in. Figures follow the page into the dark: the colours of style.py
become CSS variables.
"""

from __future__ import annotations

import re
from html import escape

from dkmd.paper import style
from dkmd.paper.report import Report, Section, Table

_LIGHT = {
    "ink": style.INK,
    "muted": style.MUTED,
    "grid": style.GRID,
    "paper": style.PAPER,
    "exact": style.EXACT,
    "riemann": style.RIEMANN,
    "printed": style.PRINTED,
    "other": style.OTHER,
}
_DARK = {
    "ink": "#e6e9ef",
    "muted": "#98a2b3",
    "grid": "#2b3340",
    "paper": "#141a23",
    "exact": "#6ea8fe",
    "riemann": "#ff9f45",
    "printed": "#e6e9ef",
    "other": "#3fc1b0",
}

_CSS = """
:root { color-scheme: light dark; %(light)s }
@media (prefers-color-scheme: dark) { :root { %(dark)s } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
main { max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem }
p, ul { max-width: 46rem }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem }
h2 { font-size: 1.35rem; margin: 3.5rem 0 .75rem; padding-top: 1rem;
  border-top: 1px solid var(--grid) }
h3 { font-size: 1rem; margin: 2rem 0 .5rem }
nav { display: flex; flex-wrap: wrap; gap: .35rem 1.1rem; margin: 1.5rem 0; font-size: .9rem }
a { color: var(--exact) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; font-size: .9rem }
dt { color: var(--muted) } dd { margin: 0 }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, monospace }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--grid) }
th { font-weight: 600; color: var(--muted); vertical-align: bottom }
td.number { white-space: nowrap }
figure { margin: 1.5rem 0 } figure svg { width: 100%%; height: auto; max-width: 68rem }
figcaption, .note { color: var(--muted); font-size: .9rem }
.verdict { font-weight: 600; white-space: nowrap }
summary { cursor: pointer; font-weight: 600 }
@media print { main { padding: 0 } h2 { break-after: avoid } figure { break-inside: avoid } }
"""


def page(report: Report, drawn: dict[str, str]) -> str:
    """The whole document; ``drawn`` has the SVG of each figure by its name."""
    body = [
        f"<h1>{escape(report.title)}</h1>",
        *(f"<p>{_prose(paragraph)}</p>" for paragraph in report.introduction),
        _facts(report),
        _navigation(report),
    ]
    if report.claims is not None:
        body += ["<h2>What holds</h2>", _table(report.claims, verdicts=True)]
    for number, section in enumerate(report.sections):
        body += _section(section, number, drawn)
    body += _checks(report)
    css = _CSS % {"light": _variables(_LIGHT), "dark": _variables(_DARK)}
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{css}</style>\n</head>\n"
        f"<body>\n<main>\n{chr(10).join(body)}\n</main>\n</body>\n</html>\n"
    )


def _variables(palette: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def _prose(text: str) -> str:
    """Escaped; `code` in backticks becomes code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _facts(report: Report) -> str:
    facts = (f"<dt>{escape(k)}</dt><dd>{_prose(v)}</dd>" for k, v in report.facts.items())
    return f"<dl>{''.join(facts)}</dl>"


def _navigation(report: Report) -> str:
    links = (
        f'<a href="#section-{number}">{escape(section.title.partition(":")[0])}</a>'
        for number, section in enumerate(report.sections)
    )
    return f"<nav>{''.join(links)}</nav>"


def _section(section: Section, number: int, drawn: dict[str, str]) -> list[str]:
    parts = [f'<h2 id="section-{number}">{escape(section.title)}</h2>']
    parts += [f"<p>{_prose(paragraph)}</p>" for paragraph in section.paragraphs]
    for figure in section.figures:
        image = inlined(drawn[figure.name], figure.name, figure.alt)
        caption = f"<figcaption>{escape(figure.title)}</figcaption>"
        parts.append(f"<figure>{image}{caption}</figure>")
    for table in section.tables:
        parts += [f"<h3>{escape(table.title)}</h3>", _table(table)]
    return parts


def _checks(report: Report) -> list[str]:
    holding = sum(check.holds for check in report.checks)
    return [
        '<h2 id="checks">Checks</h2>',
        f"<details><summary>{holding} of {len(report.checks)} hold</summary>",
        _table(report.checked),
        "</details>",
    ]


def _table(table: Table, verdicts: bool = False) -> str:
    """Numbers keep to one line, words may wrap."""
    heading = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in table.columns)
    lines = []
    for values, words in zip(table.rows, table.texts(), strict=True):
        cells = []
        for i, (value, shown) in enumerate(zip(values, words, strict=True)):
            last = verdicts and i == table.width - 1
            kind = "verdict" if last else "words" if isinstance(value, str) else "number"
            cells.append(f'<td class="{kind}">{escape(shown)}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    note = f'<p class="note">{_prose(table.note)}</p>' if table.note else ""
    return (
        f'<div class="scroll"><table><thead><tr>{heading}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>{note}"
    )


def inlined(svg: str, name: str, alt: str) -> str:
    """An SVG document as an element of the page: own ids, colours as variables, words for it."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    element = re.sub(r'\bid="', f'id="{name}-', element)
    element = re.sub(r'href="#', f'href="#{name}-', element)
    element = element.replace("url(#", f"url(#{name}-")
    for variable, colour in _LIGHT.items():
        element = element.replace(colour, f"var(--{variable})")
    described = f'<svg role="img" aria-label="{escape(alt, quote=True)}"'
    return element.replace("<svg", described, 1)
