"""The detail of one row: figures, numbers, what others say, settings, and how to ask again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from unicodedata import bidirectional

from dkmd.answers.comparison import QUANTILES, SampleFacts
from dkmd.answers.page import Contents, Row
from dkmd.answers.reasons import reasons
from dkmd.base.calls import Call
from dkmd.base.wording import amount, count, level_of, plain, plain_pair, short_p, signed
from dkmd.inference.opinions import Opinions
from dkmd.render.figures import drawings
from dkmd.render.figures.colours import on_page
from dkmd.render.figures.curves import Curves
from dkmd.render.figures.svg import escape


def detail(row: Row, contents: Contents, command: str | None) -> str:
    """All of it as HTML; ``command`` is the one that made the page."""
    warnings = "".join(f"<li>{escape(w)}.</li>" for w in row.warnings)
    several = len(contents.rows) > 1
    parts = [
        f'<p class="said">{sentence(row.headline, [row])}</p>' if several else "",
        f'<ul class="watch">{warnings}</ul>' if warnings else "",
        f'<div class="grid"><div class="figures">{"".join(_figures(row))}</div>',
        f'<div class="tables">{_block("Numbers", _numbers(row))}',
        f"{_block('What others say', _others(row))}</div>",
        _block("Settings", _settings(row), "settings"),
        _block("Reproduce", asked(row.call, _own(row, contents, command)), "again"),
        "</div>",
    ]
    return "".join(parts)


def _own(row: Row, contents: Contents, command: str | None) -> str | None:
    """The command of one row: a narrower one where there is one, else that of the page."""
    narrower = row.call if row.call != contents.call else None
    return (None if narrower is None else narrower.command()) or command


def full(text: str, value: float) -> str:
    """All digits of a rounded number as an attribute, shown on hover; none where it has no more."""
    digits = repr(float(value))
    if not math.isfinite(value) or digits in (text, f"{text}.0"):
        return ""
    return f' title="{digits}"'


def exact(text: str, value: float) -> str:
    """A rounded number that shows all its digits on hover."""
    return f"<span{full(text, value)}>{escape(text)}</span>"


def _cell(text: str, value: float = math.nan) -> str:
    """The rest of a <td: attributes and content."""
    return f"{full(text, value)}>{escape(text)}"


def name(text: str) -> str:
    """A name from data, kept apart from the words around it whichever way it is written."""
    return f"<bdi>{escape(text)}</bdi>"


def narrow(text: str) -> str:
    """A name for a small space: it may break where its words end."""
    return f"<bdi>{re.sub(r'(?<=[_./-])(?=.)', '<wbr>', escape(text))}</bdi>"


def sentence(text: str, rows: Iterable[Row]) -> str:
    """Words around names from data: one that is written from right to left turns nothing else."""
    names = {n for row in rows for n in (row.name, row.reference.label, row.current.label)}
    turning = sorted((n for n in names if _turns(n)), key=len, reverse=True)
    if not turning:
        return _unbroken(escape(text))
    parts = re.split(f"({'|'.join(map(re.escape, turning))})", text)
    return "".join(name(part) if part in turning else _unbroken(escape(part)) for part in parts)


def _unbroken(text: str) -> str:
    """Escaped text in which no line ends within a number such as 2e-7."""
    return re.sub(r"\b[\d.]+e[-+]\d+", r'<span class="one">\g<0></span>', text)


def _turns(text: str) -> bool:
    """Whether some character is written, or makes others be written, from right to left."""
    return any(bidirectional(c) in ("R", "AL", "RLE", "RLO", "RLI", "LRO", "FSI") for c in text)


def legend(row: Row) -> str:
    """Which colour is which sample."""
    return (
        f'<p class="legend"><span class="ref">{name(row.reference.label)}</span> '
        f'<span class="now">{name(row.current.label)}</span></p>'
    )


def _block(title: str, content: str, kind: str = "") -> str:
    if not content:
        return ""
    marked = f' class="{kind}"' if kind else ""
    return f"<section{marked}><h3>{title}</h3>{content}</section>"


def _figures(row: Row) -> Iterator[str]:
    curves = row.curves
    if curves is None:
        yield '<p class="empty">There is nothing to draw: the samples could not be compared.</p>'
        return
    yield legend(row)
    bars = "Share of each value" if curves.discrete else "Density"
    yield _figure(bars, drawings.density(curves, on_page, row.unit), _outside(row, curves))
    yield _figure(
        "Share of values up to here", drawings.cdf(curves, on_page), "Dotted: the M-centres."
    )
    moved = {q: (row.reference.quantiles[q], row.current.quantiles[q]) for q in QUANTILES}
    yield _figure(
        "How far each quantile moved",
        drawings.quantile_shifts(moved, row.shift.middle, row.shift.interval, on_page),
        "Shaded: the interval of the shift.",
    )
    yield _figure(
        "Where they differ",
        drawings.differences(curves, on_page),
        "Difference of the mean embeddings, kernel width "
        f"{exact(plain(curves.kernel), curves.kernel)}. The statistic weighs the samples by ψ, "
        "below.",
    )


def _figure(title: str, drawn: str, note: str) -> str:
    return f"<figure><h3>{title}</h3>{drawn}<figcaption>{note}</figcaption></figure>"


def _outside(row: Row, curves: Curves) -> str:
    """What the window leaves out, in words."""
    sides = (curves.reference, curves.current)
    beyond = [s.below + s.above for s in sides]
    parts = []
    if any(beyond):
        parts.append(f"Outside the window: {count(beyond[0])} and {count(beyond[1])} values.")
    for sign, attribute in (("+inf", "plus_inf"), ("−inf", "minus_inf")):
        infinite = [getattr(s, attribute) for s in sides]
        if any(infinite):
            parts.append(f"At {sign}: {count(infinite[0])} and {count(infinite[1])}.")
    atoms = curves.current.atoms.at
    if atoms.size <= TOLD or not curves.discrete:
        shares = [side.atoms.share.tolist() for side in sides]
        parts += [
            f"At {plain(curves.origin + at)}: {old:.1%} and {new:.1%}."
            for at, old, new in list(zip(atoms.tolist(), *shares, strict=True))[:TOLD]
        ]
    return escape(" ".join(parts))


TOLD = 4
"""Values whose shares are told in words."""


def _numbers(row: Row) -> str:
    before, after = row.reference, row.current
    lines = [("values", *_counts(before.size, after.size), ">")]
    if row.outcome is not None:
        shift = _cell(amount(row.shift.middle, row.unit), row.shift.middle)
        lines.append(("centre", *_pair(before.center, after.center), shift))
    for q in QUANTILES if before.size and after.size else ():
        old, new = before.quantiles[q], after.quantiles[q]
        moved = _cell(signed(new - old, old, new), new - old)
        lines.append((f"{q:.0%}", *_pair(old, new), moved))
    lines += _missing(before, after)
    head = ("", narrow(before.label), narrow(after.label), "difference")
    return _table(head, lines) + _interval(row)


def _interval(row: Row) -> str:
    """The ends of the shift's interval in data units, which nothing else has to the last digit."""
    low, high = row.shift.interval
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = f"{exact(amount(low), low)} to {exact(amount(high, row.unit), high)}"
    return f"<p>{level_of(1.0 - row.confidence)} interval of the shift: {ends}.</p>"


def _missing(before: SampleFacts, after: SampleFacts) -> Iterator[tuple[str, str, str, str]]:
    for what, attribute in (("NaN, left out", "nan"), ("−inf", "minus_inf"), ("+inf", "plus_inf")):
        old, new = getattr(before, attribute), getattr(after, attribute)
        if old or new:
            yield what, *_counts(old, new), ">"


def _counts(old: int, new: int) -> tuple[str, str]:
    return _cell(count(old)), _cell(count(new))


def _pair(old: float, new: float) -> tuple[str, str]:
    shown = plain_pair(old, new)
    return _cell(shown[0], old), _cell(shown[1], new)


def _others(row: Row) -> str:
    said = row.opinions()
    if said is None:
        return (
            "<p>Other statistics need the single values, and only their summary is held here.</p>"
            if row.outcome is not None
            else ""
        )
    lines = [
        (
            escape(o.name),
            _cell(plain(o.value), o.value),
            _cell(short_p(o.pvalue), o.pvalue),
            _cell(o.direction.removeprefix("current is ")),
        )
        for o in said.rows
    ]
    return _table(("", "value", "p", "current is"), lines) + _why(row, said)


def _why(row: Row, said: Opinions) -> str:
    assert row.outcome is not None
    sides = (row.reference, row.current)
    infinite = any(s.plus_inf or s.minus_inf for s in sides)
    grouped = row.outcome.pair.clusters is not None
    told = reasons(said, 1.0 - row.confidence, grouped, infinite)
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in told)


def _settings(row: Row) -> str:
    terms = (
        f"<dt>{escape(what)}<dd{_cell(text, math.nan if value is None else value)}"
        for what, text, value in row.settings()
    )
    return f"<dl>{''.join(terms)}</dl>"


def asked(call: Call | None, command: str | None) -> str:
    """The command and the Python call that give the same again, as far as they are known."""
    line = command or (None if call is None else call.command())
    parts = []
    if line:
        parts.append(f"<p>At a shell</p>{_code(line)}")
    if call is not None:
        parts.append(f"<p>In Python</p>{_code(call.python())}")
        unnamed = call.in_memory()
        if unnamed:
            names = ", ".join(f"<code>{escape(n)}</code>" for n in unnamed)
            parts.append(f"<p>{names}: what was given from memory.</p>")
    return "".join(parts)


def _code(text: str) -> str:
    """Lines to copy; the box scrolls, so it can be reached by keyboard."""
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Cells are HTML already, ``Cell`` or words; the first of each line is its heading.

    End tags that HTML does not ask for are left out: tables are most of a page.
    """
    top = "".join(f"<th>{cell}" if cell else "<td>" for cell in head)
    body = "".join(
        f"<tr><th scope=row>{first}{''.join(f'<td{cell}' for cell in rest)}"
        for first, *rest in lines
    )
    return f"<table><thead><tr>{top}<tbody>{body}</table>"
