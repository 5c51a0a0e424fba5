"""The page as one HTML document: templates, one style, one script, and a security policy.

The page loads nothing. Its policy allows only its own style and script, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from dkmd.base.wording import count
from dkmd.render.figures import drawings, forest
from dkmd.render.figures import share_bars as share_bars_drawing
from dkmd.render.figures.colours import on_page, palette_css, roles_css
from dkmd.render.figures.curves import Curves
from dkmd.render.report import words
from dkmd.render.report.html import environment, ours, rendered
from dkmd.render.report.model import NO_BAND, Page, PageRow, PageSegment, PageSplit

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PRINTED_OPEN = 5
"""A page of up to this many rows is printed with all details, a longer page with the open ones."""


def page_html(page: Page) -> str:
    """The whole document."""
    style, script = page_style(), _asset("page.js")
    return rendered(
        _templates(),
        "report.html",
        page=page,
        print_all=len(page.rows) <= PRINTED_OPEN,
        policy=policy(style, script),
        style=ours(style),
        script=ours(script),
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
def page_style() -> str:
    """The style of every page of answers."""
    return palette_css() + roles_css() + "\n" + _asset("page.css")


@cache
def _asset(file: str) -> str:
    return files("dkmd.render.report").joinpath(file).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    """The templates, and the functions that they use as filters."""
    templates = environment()
    for function in (
        *(words.parts, words.breakable, words.chips, words.interval_head, words.bar_words),
        *(words.shift_shown, words.percent_shown, words.p_shown, words.share_shown),
        *(words.plain_shown, words.sortable),
        *(words.outside, words.reading, words.tally, words.sort_keys, words.interval_shown),
        *(heads, forest_scale, forest_bar, sparkline, density, cdf, quantile_shifts, differences),
        *(share_bars, share_spark, segment_scale, segment_bar),
    ):
        templates.filters[function.__name__] = function
    templates.filters["thousands"] = count
    templates.tests["long_named"] = words.long_named
    return templates


class Head(NamedTuple):
    """The heading of a column of the overview."""

    words: str
    key: str = ""  # what a click sorts by; empty if the column does not sort
    kind: str = ""  # its class: "n" for numbers
    unit: str = ""
    axis: Markup | str = ""


def heads(page: Page) -> list[Head]:
    """The headings of the overview."""
    interval, unit = words.interval_head(page)
    return [
        Head(page.row_is, "name"),
        Head("verdict", "verdict"),
        Head(interval, "size", "spine", unit, forest_scale(page)),
        Head("shift", "shift", "n"),
        Head("percent", "percent", "n"),
        Head("distributions"),
    ]


def forest_scale(page: Page) -> Markup:
    """The labels of the axis that all rows share."""
    return ours(forest.forest_scale(page.axis, page.in_percent, on_page))


def forest_bar(row: PageRow, page: Page, label: str) -> Markup:
    """The shift of a row and its interval on the axis of the overview."""
    return ours(forest.forest_bar(*row.bar, row.band, page.axis, on_page, label))


def segment_scale(split: PageSplit) -> Markup:
    """The labels of the axis that all segments share."""
    return ours(forest.forest_scale(split.axis, False, on_page))


def segment_bar(row: PageSegment, split: PageSplit) -> Markup:
    """The shift of a segment and its interval."""
    label = f"{row.shift.text}, {row.interval}" if row.interval else row.word
    return ours(forest.forest_bar(*row.bar, NO_BAND, split.axis, on_page, label))


def sparkline(curves: Curves) -> Markup:
    """Both distributions as a small picture."""
    return ours(drawings.sparkline(curves, on_page))


def share_spark(row: PageRow) -> Markup:
    """The shares of the levels of categories as a small picture."""
    return ours(share_bars_drawing.share_spark(row.shares, on_page))


def share_bars(row: PageRow) -> Markup:
    """The shares of the levels of categories as bars."""
    return ours(share_bars_drawing.share_bars(row.shares, on_page))


def density(curves: Curves, unit: str) -> Markup:
    """Both densities and the shift between them."""
    return ours(drawings.density(curves, on_page, unit))


def cdf(curves: Curves) -> Markup:
    """The share of values up to each value."""
    return ours(drawings.cdf(curves, on_page))


def quantile_shifts(row: PageRow) -> Markup:
    """How far each quantile moved."""
    return ours(drawings.quantile_shifts(row.quantiles, *row.shift, on_page))


def differences(curves: Curves) -> Markup:
    """Where the samples differ."""
    return ours(drawings.differences(curves, on_page))
