"""The page of an answer: ``Comparison``, ``Comparisons``, ``Drift`` and ``Gate`` as a ``Page``.

The answers differ in their words and in the meaning of their p-values. Here they become alike, so
that ``dkmd.render.report`` draws one kind of page.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dkmd.answers.comparison import (
    CategoryComparison,
    ColumnAnswer,
    Comparison,
    Comparisons,
    Drift,
    Segmented,
    TogetherComparison,
)
from dkmd.answers.comparison.arms import unequal_arms
from dkmd.answers.comparison.design_words import design_rows, effective_rows
from dkmd.answers.comparison.kind_words import part_rows
from dkmd.answers.comparison.words import tags_of
from dkmd.answers.findings import SHIFT
from dkmd.answers.gate import Gate
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import CompareOptions
from dkmd.answers.page_categories import category_row
from dkmd.answers.page_details import Compared, more_numbers, not_compared, reproduce, reproduce_row
from dkmd.answers.page_gate import gate_page
from dkmd.answers.page_rows import (
    Advance,
    Verdict,
    announced,
    hollow_means,
    is_percent,
    leaning,
    page_row,
)
from dkmd.answers.page_segments import SEGMENT_LEGEND, page_splits
from dkmd.base.whole_files import write_whole
from dkmd.base.wording import level_of
from dkmd.inference.test.result import ExactOutcome
from dkmd.render.figures.drawings import colour_of
from dkmd.render.report.model import (
    NOT_MEASURED,
    Absent,
    Chip,
    Interval,
    Measured,
    Page,
    PageRow,
    Reproduce,
    Shown,
)
from dkmd.sources.column_data import HeldColumn, labelled_column

Answer = ColumnAnswer | Comparisons | Segmented | Gate | TogetherComparison


def write_page(
    answer: Answer,
    path: str | os.PathLike[str],
    command: str | None = None,
    advance: Advance | None = None,
) -> None:
    """Write the page of an answer; the file is replaced in one step."""
    from dkmd.render.report.page import page_html

    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    page = replace(page_of(answer, command, advance), made=_today())
    write_whole(path, page_html(page))


def _today() -> str:
    """The date in words. SOURCE_DATE_EPOCH sets it, for pages that must not change."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now()
    return f"{now.day} {now:%B %Y}"


def page_of(answer: Answer, command: str | None = None, advance: Advance | None = None) -> Page:
    """The page of an answer; ``command`` is the command that gave it, if that is known."""
    if isinstance(answer, Gate):
        return gate_page(answer, command, advance)
    if isinstance(answer, Segmented):
        total = replace(answer.total, call=answer.call, warnings=tuple(answer.notes()))
        page = _comparison_page(total, command)
        return replace(
            page, headline=answer.headline(), splits=page_splits(answer),
            legend=(*page.legend, *SEGMENT_LEGEND),
        )  # fmt: skip
    if isinstance(answer, Comparison | CategoryComparison):
        return _comparison_page(answer, command)
    if isinstance(answer, TogetherComparison):
        return _together_page(answer, command, advance)
    return _comparisons_page(answer, command, advance)


def _comparison_page(answer: ColumnAnswer, command: str | None) -> Page:
    in_percent = is_percent(answer.margin)
    again = reproduce(answer.call, command)
    row = _comparison_row(answer.name, answer, answer.pvalue, in_percent, again)
    return Page(
        title=answer.name,
        headline=answer.headline(),
        row_is="comparison",
        p_is="p",
        level=level_of(answer.alpha),
        in_percent=in_percent,
        rows=(row,),
        legend=(
            *hollow_means((row,), DIRECTION_ONLY),
            "p: how often a difference this clear would appear if nothing had moved.",
            *_correction(answer),
        ),
        again=again,
    )


def _correction(answer: ColumnAnswer) -> list[str]:
    """How the findings of one comparison are corrected, if there are any."""
    method, tests = answer.correction
    if not tests:
        return []
    number = f"{tests} test{'s' if tests > 1 else ''}"
    return [f"What else changed is corrected for {number} ({method})."]


def _comparisons_page(answers: Comparisons, command: str | None, advance: Advance | None) -> Page:
    adjusted = answers.adjusted_pvalues
    some = next(iter(answers.values()))
    in_percent = any(is_percent(each.margin) for each in answers.values())
    found = (
        _comparison_row(
            name, c, adjusted[name], in_percent, reproduce_row(c.call, answers.call, command)
        )
        for name, c in answers.items()
    )
    rows = tuple(announced(found, len(answers), advance))
    before, after = some.reference.label, some.current.label
    of_columns = answers.row_words == Drift.ROWS
    title = f"{some.name} against {before}"
    if of_columns:
        title = f"{'Drift' if isinstance(answers, Drift) else 'Columns'}: {before} → {after}"
    skipped = not_compared(answers)
    return Page(
        title=title,
        headline=" ".join(
            [*unequal_arms(answers.values()), f"{answers.tally()}.", *answers.others()]
        ),
        row_is="column" if of_columns else "level",
        p_is="adjusted p",
        level=level_of(some.alpha),
        in_percent=in_percent,
        rows=rows,
        legend=(
            *hollow_means(rows, DIRECTION_ONLY),
            "p-values are adjusted for their number (Benjamini–Hochberg, false-discovery rate "
            f"{answers.alpha:g}), and verdicts use the adjusted p-values.",
        ),
        again=reproduce(answers.call, command),
        absent=(Absent("Not compared", skipped),) if skipped else (),
    )


TOGETHER_MARKS = {"higher": "▲", "lower": "▼"}


def _together_page(
    answer: TogetherComparison, command: str | None, advance: Advance | None
) -> Page:
    """The columns that moved most, with their intervals."""
    again = reproduce(answer.call, command)
    rows = tuple(announced(_together_rows(answer, again), len(answer.samples), advance))
    before, after = answer.reference.label, answer.current.label
    verdicts = Counter(column.verdict(answer.alpha) for column in answer.columns)
    shown, total = len(answer.samples), len(answer.names)
    return Page(
        title=f"Together: {before} → {after}",
        headline=answer.headline(),
        row_is="column",
        p_is="p of any column",
        level=level_of(answer.alpha),
        in_percent=False,
        rows=rows,
        legend=(
            "Columns with the largest |t| come first. Their intervals hold at once, and their "
            "p-values count all columns.",
            "An opened row compares its column alone, so its shift differs a little from the one "
            "of all columns together.",
        ),
        again=again,
        warnings=answer.warnings,
        closing=f"{shown:,} of {total:,} columns are shown." if shown < total else "",
        figures=tuple(
            Chip(word, number, TOGETHER_MARKS.get(word, ""), colour_of(word))
            for word in ("higher", "lower", "inconclusive")
            if (number := verdicts[word])
        ),
    )


def _together_rows(answer: TogetherComparison, again: Reproduce) -> Iterator[PageRow]:
    """A row for each column that is shown."""
    for column in (answer.columns[j] for j in answer.ranked[: len(answer.samples)]):
        before, after = (
            labelled_column(HeldColumn(values), column.name, side.label, "")
            for values, side in zip(
                answer.samples[column.name], (answer.reference, answer.current), strict=True
            )
        )
        alone = compare_samples(before, after, CompareOptions.of(alpha=answer.alpha, kind="amount"))
        row = _comparison_row(column.name, alone, column.pvalue, False, again)
        verdict = column.verdict(answer.alpha)
        low, high = column.interval
        yield replace(
            row,
            kind=colour_of(verdict),
            mark=TOGETHER_MARKS.get(verdict, "–"),
            word=verdict,
            rank=RANKS[verdict],
            headline=f"{column.name} moved by {alone.display.amount(column.shift)}.",
            shift=Measured(column.shift, (low, high)),
            bar=Measured(column.in_scales, tuple(column.interval_in_scales)),
            interval_ends=(
                Shown(alone.display.end(low), low),
                Shown(alone.display.end(high), high),
            ),
        )


DIRECTION_ONLY = "△ and ▽: the direction is clear, the size relative to the margin is not."


def _comparison_row(
    name: str, c: ColumnAnswer, adjusted: float, in_percent: bool, again: Reproduce
) -> PageRow:
    if isinstance(c, CategoryComparison):
        return category_row(name, c, adjusted, again)
    outcome = c.result.outcome()
    known = isinstance(outcome, ExactOutcome) or c.deciding != (SHIFT,)
    relative = NOT_MEASURED
    if c.relative_shift is not None and c.relative_shift_interval is not None:
        low, high = (100.0 * end for end in c.relative_shift_interval)
        relative = Measured(100.0 * c.relative_shift, (low, high))
    more, percentiles = more_numbers(c)
    compared = Compared(
        unit=c.unit,
        shift=Measured(c.shift, (c.shift_interval.low, c.shift_interval.high)),
        scale=c.scale,
        margin=c.margin,
        confidence=1.0 - c.alpha,
        raw_pvalue=c.pvalue,
        two_sided=c.pvalue,
        reference=c.reference,
        current=c.current,
        # a ratio of sums belongs to all rows: no distribution of single values shows it
        outcome=outcome if isinstance(outcome, ExactOutcome) and not c.per else None,
        values=c.values,
        beside=more,
        percentiles=percentiles,
        display=c.display,
        own=c.own,
        yes=c.yes,
        gap=math.nan if c.parts is None or c.parts.yes is None else c.parts.yes - c.parts.common,
        more=(*effective_rows(c), *part_rows(c)),
        designed=tuple(design_rows(c)),
        kind=c.kind,
    )
    clear_direction = c.is_clear and c.verdict == "inconclusive"
    verdict = Verdict(
        kind=colour_of(c.verdict),
        mark=_mark(c, compared.shift.interval),
        word=c.verdict if known else "no answer",
        rank=RANKS[c.verdict] + clear_direction if known else 0,
        headline=c.headline(),
        pvalue=adjusted,
        warnings=c.warnings,
        tags=tags_of(c),
        shift_text=c.display.amount(c.shift) if c.dates else "",
    )
    return page_row(name, compared, relative, verdict, in_percent, again)


RANKS = {"mixed": 6, "higher": 5, "lower": 4, "inconclusive": 2, "equivalent": 1}


def _mark(c: Comparison, interval: Interval) -> str:
    """An arrow: full where the verdict is clear, hollow where only the direction is."""
    if c.verdict in ("higher", "lower"):
        return "▲" if c.verdict == "higher" else "▼"
    if c.verdict in ("equivalent", "mixed"):
        return "≈" if c.verdict == "equivalent" else "⇅"
    return leaning(interval, "–") if c.is_clear else "–"
