"""The page of a history: each benchmark over time, changed ones first."""

from __future__ import annotations

import os
from pathlib import Path

from dkmd.answers.history import BenchmarkHistory, HistoryAnswer
from dkmd.base.whole_files import write_whole
from dkmd.base.wording import signed_number
from dkmd.render.report.timelines import Drawn, timelines_html


def write_history_page(
    answer: HistoryAnswer, path: str | os.PathLike[str], command: str | None = None
) -> None:
    """Write the page; the file is replaced in one step."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    rows = [_drawn(answer, each) for each in answer.ordered()]
    page = timelines_html("Benchmarks over time", answer.headline(), answer.notes(), rows, command)
    write_whole(path, page)


def _drawn(answer: HistoryAnswer, each: BenchmarkHistory) -> Drawn:
    """One benchmark with the facts of its row."""
    head, facts = answer.table()[0][1:], answer.row(each)[1:]
    told = [f"{what}: {fact}" for what, fact in zip(head, facts, strict=True) if fact]
    told += [
        f"{signed_number(100.0 * change.change)}% at {change.label} {change.date[:10]}".rstrip()
        for change in each.changes
    ]
    last = each.changes[-1].change if each.changes else 0.0
    kind = "up" if last > 0.0 else "down" if last < 0.0 else "flat"
    ends = tuple((each.dates[i][:10] or each.labels[i]) for i in (0, -1))
    return Drawn(each.name, kind, told, each.levels, each.firsts, (ends[0], ends[1]))
