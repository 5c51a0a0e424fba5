"""The page itself: overview, details, one style and one script, and a policy that allows no more.

Everything from data is escaped on its way in. The page asks for nothing: its policy names the
hashes of its own style and script and refuses the rest.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from dkmd import __version__
from dkmd.answers.comparison import Comparison, Comparisons
from dkmd.answers.gate import Gate
from dkmd.answers.page import Contents, Row, contents_of
from dkmd.base.whole_files import write_whole
from dkmd.base.wording import amount, count, level_of, percent, rounded, short_p, signed_number
from dkmd.render.figures import drawings
from dkmd.render.figures.colours import on_page, page_css
from dkmd.render.figures.svg import escape
from dkmd.render.report.detail import asked, detail, exact, full, name, narrow, sentence

PRINTED_OPEN = 40
"""Up to so many rows, a printed page has all details; beyond it, those that are open."""

NEVER_CLIPPED = 20
"""Names up to so many characters are seen whole in the overview; longer ones also on hover."""


def write_page(
    answer: Comparison | Comparisons | Gate,
    path: str | os.PathLike[str],
    command: str | None = None,
) -> None:
    """Write the page of an answer; the file is replaced in one step."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    write_whole(path, page(contents_of(answer), command))


def page(contents: Contents, command: str | None = None) -> str:
    """The whole document; ``command`` is the one that made it, if it is known."""
    several = len(contents.rows) > 1
    body = [
        '<p class="brand">dkmd report</p>',
        f"<h1>{sentence(contents.title, contents.rows)}</h1>",
        f'<p class="lead">{sentence(contents.headline, contents.rows)}</p>',
        _tools(contents) if several else "",
        _overview(contents, command),
        *(f'<p class="note">{text}</p>' for text in _notes(contents)),
        *(_absent(heading, names) for heading, names in contents.absent),
        _again(contents, command) if several else "",
        f"<footer>{_reading(contents)}</footer>",
    ]
    opened = ' class="all"' if len(contents.rows) <= PRINTED_OPEN else ""
    return (
        f"{_head(contents.title)}<body{opened}>\n<main>\n"
        f"{chr(10).join(part for part in body if part)}\n</main>\n</body>\n</html>\n"
    )


def _head(title: str) -> str:
    style, script = _style(), _asset("page.js")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} – dkmd</title>\n"
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n"
    )


def policy(style: str, script: str) -> str:
    """What a browser may do for this page: use its own style and script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return page_css() + "\n" + _asset("page.css")


@cache
def _asset(file: str) -> str:
    return files("dkmd.render.report").joinpath(file).read_text(encoding="utf-8")


def _tools(contents: Contents) -> str:
    """A field and a button per verdict that occurs; they need the script, and hide without it."""
    tally = Counter(row.word for row in contents.rows)
    looks = {word: _look([row for row in contents.rows if row.word == word]) for word in tally}
    chips = [
        f'<button type="button" aria-pressed="true" data-w="">all {count(len(contents.rows))}'
        "</button>"
    ]
    for word, number in tally.most_common():
        mark, kind = looks[word]
        chips.append(
            f'<button type="button" aria-pressed="false" class="{kind}" data-w="{escape(word)}">'
            f"{mark and f'<i aria-hidden=true>{mark}</i>'}{escape(word)} {count(number)}</button>"
        )
    return (
        '<div class="tools" role="search"><label class="vh" for="find">Filter by name</label>'
        f'<input id="find" type="search" placeholder="Filter {contents.what}s" autocomplete="off">'
        f'<div class="chips" role="group" aria-label="Verdict">{"".join(chips)}</div>'
        '<span class="shown" role="status"></span></div>'
    )


def _look(rows: list[Row]) -> tuple[str, str]:
    """The mark and the colour that rows share; none where they differ."""
    marks, kinds = {row.mark for row in rows}, {row.kind for row in rows}
    return marks.pop() if len(marks) == 1 else "", kinds.pop() if len(kinds) == 1 else "flat"


def _overview(contents: Contents, command: str | None) -> str:
    """The table: a heading, then a body per row with its detail in it."""
    extent = contents.extent
    several = len(contents.rows) > 1
    heads = _heads(contents, extent, several)
    columns = "".join(f'<col class="c{i + 1}">' for i in range(len(heads)))
    bodies = "\n".join(
        _body(number, row, contents, extent, command) for number, row in enumerate(contents.rows)
    )
    return (
        f'<table class="overview{"" if several else " single"}"><colgroup>{columns}</colgroup>'
        f"<thead><tr>{''.join(heads)}</tr></thead>\n{bodies}\n</table>"
    )


def _heads(contents: Contents, extent: float, several: bool) -> list[str]:
    """The headings; ``data-sort`` is the order in which the script sorts by one first."""
    interval, measure = _interval_head(contents)
    axis = drawings.interval_scale(extent, contents.in_percent, on_page)
    up, down = "ascending", "descending"
    sortable = (
        (escape(contents.what), "", up, ""),
        ("verdict", "", down, ""),
        ("shift", "n", down, ""),
        (f"{escape(interval)}<i>, {measure}</i>", "", down, axis),
        ("percent", "n", down, ""),
        (escape(contents.p_is), "n", up, ""),
        ("values", "n", down, ""),
        ("missing", "n", down, ""),
    )
    heads = []
    for words, kind, first, below in sortable:
        marked = f' class="{kind}"' if kind else ""
        sorts = f' data-sort="{first}"' if several else ""
        heads.append(f'<th scope="col"{marked}{sorts}><span>{words}</span>{below}</th>')
    return [*heads, '<th scope="col"><span>distributions</span></th>']


def _interval_head(contents: Contents) -> tuple[str, str]:
    """What the interval bars are, and what they are measured in."""
    level = level_of(1.0 - contents.rows[0].confidence)
    return f"{level} interval", "in percent" if contents.in_percent else "in robust scales"


def _body(number: int, row: Row, contents: Contents, extent: float, command: str | None) -> str:
    """One line of the overview and its detail, as one body of the table: they sort together."""
    target = f"d{number}"
    opened = " open" if len(contents.rows) == 1 else ""
    whole = f' title="{escape(row.name)}"' if len(row.name) > NEVER_CLIPPED else ""
    return (
        f'<tbody class="{row.kind}" data-w="{escape(row.word)}"><tr class="row">'
        f'<th scope="row"><h2><a href="#{target}" aria-controls="{target}">'
        f'<span class="clip"{whole}>{narrow(row.name)}</span></a></h2></th>'
        f"{''.join(_cells(row, contents, extent))}</tr>"
        f'<tr class="panel"><td colspan="9"><details{opened}><summary>Details of '
        f'{name(row.name)}</summary><div class="detail" id="{target}">'
        f"{detail(row, contents, command)}</div></details></td></tr></tbody>"
    )


def _cells(row: Row, contents: Contents, extent: float) -> Iterator[str]:
    """The line of a row after its name; ``data-v`` is what it sorts by."""
    measured = contents.measured(row)
    band = row.band(contents.in_percent)
    label = _bar_words(row, contents)
    bar = drawings.interval_bar(*measured, band, extent, on_page, label)
    spark = drawings.sparkline(row.curves, on_page) if row.curves is not None else ""
    sides = (row.reference, row.current)
    yield (
        f'<td class="verdict" data-h="verdict" data-v="{row.rank}"><i aria-hidden="true">'
        f"{row.mark}</i>{escape(row.word)}</td>"
    )
    yield _number_cell("shift", amount(row.shift.middle, row.unit), row.shift.middle)
    size = _sortable(abs(measured.middle))
    head = escape(", ".join(_interval_head(contents)))
    yield f'<td class="bar" data-h="{head}" data-v="{size}" title="{escape(label)}">{bar}</td>'
    yield _number_cell("percent", _percent(row.percent.middle), row.percent.middle)
    yield _number_cell(contents.p_is, short_p(row.pvalue) or "–", row.pvalue)
    yield (
        f'<td class="n two" data-h="values" data-v="{sum(side.size for side in sides)}">'
        f"{_pair(*(count(side.size) for side in sides))}</td>"
    )
    yield _missing_cell(row)
    yield f'<td data-h="distributions">{spark}</td>'


def _number_cell(head: str, text: str, value: float) -> str:
    return (
        f'<td class="n" data-h="{escape(head)}" data-v="{_sortable(value)}"{full(text, value)}>'
        f"{escape(text)}</td>"
    )


def _missing_cell(row: Row) -> str:
    before, after = row.reference.nan_share, row.current.nan_share
    shares = [0.0 if math.isnan(s) else s for s in (before, after)]
    if not any(shares):
        shown = '<span class="quiet">none</span>'
    else:
        shown = _pair(*(exact(f"{rounded(100.0 * s)} %", 100.0 * s) for s in shares))
    return f'<td class="n two" data-h="missing" data-v="{max(shares):.6g}">{shown}</td>'


def _pair(before: str, after: str) -> str:
    """Two numbers that may stand on two lines, each in one piece."""
    return f'<span class="one">{before} →</span> <span class="one">{after}</span>'


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else percent(value)


def _sortable(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}".replace("inf", "Infinity")


def _bar_words(row: Row, contents: Contents) -> str:
    """An interval bar in words."""
    measured = contents.measured(row)
    if math.isnan(measured.middle):
        return "No shift could be worked out"
    low, high = (signed_number(end) for end in measured.interval)
    unit = "percent" if contents.in_percent else "scales"
    return f"{signed_number(measured.middle)} {unit}, {low} to {high}"


def _notes(contents: Contents) -> list[str]:
    notes = []
    if contents.closing:
        notes.append(escape(contents.closing))
    if len(contents.rows) > PRINTED_OPEN:
        notes.append("Printed, this page has the details that are open.")
    return notes


def _absent(heading: str, names: Mapping[str, str]) -> str:
    """What has no row, and why."""
    items = "".join(
        f"<li>{name(who)}{f': {escape(why)}' if why else ''}</li>" for who, why in names.items()
    )
    return f'<h2>{escape(heading)}</h2><ul class="absent">{items}</ul>'


def _again(contents: Contents, command: str | None) -> str:
    told = asked(contents.call, command)
    return f'<section class="again"><h2>Reproduce</h2>{told}</section>' if told else ""


def _reading(contents: Contents) -> str:
    """How to read the page, in a few lines."""
    measure = (
        "percent"
        if contents.in_percent
        else "robust scales (1.4826 × the median distance from the median, of both samples)"
    )
    band = ", the shaded band the margin" if any(r.margin for r in contents.rows) else ""
    hollow = "△ and ▽ mark a clear direction whose amount is not clear. "
    lines = [
        "Positive means that current is larger. The shift is that of the M-centre, a middle to "
        "which far values count no more than large ones. The bar is its interval in "
        f"{measure}; the line is zero{band}.",
        (hollow if any(r.mark in "△▽" for r in contents.rows) else "") + contents.p_means,
        "Rounded numbers show all their digits on hover.",
        f"Made by dkmd {__version__}; this file needs no network and sends nothing.",
    ]
    return " ".join(f"<span>{escape(line)}</span>" for line in lines)
