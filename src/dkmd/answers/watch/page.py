"""The page of a watch: the shift over time with its interval, and the alarms."""

from __future__ import annotations

import math
import os

from dkmd.answers.watch.arms import ArmsWatch
from dkmd.answers.watch.result import Watched
from dkmd.answers.watch.stream import StreamWatch
from dkmd.base.defaults import CONFIDENCE
from dkmd.base.whole_files import write_whole
from dkmd.base.wording import count, level_of
from dkmd.bins.summary import Summary
from dkmd.inference.test.one_test import compare_summaries
from dkmd.inference.test.options import check_options
from dkmd.render.figures.drawings import colour_of
from dkmd.render.figures.sequence import Mark, Point, Shown
from dkmd.render.report.watched import WatchPage, watch_html

FEWEST = 5
"""Values of a stretch that get an interval."""


def write_watch_page(answer: Watched, path: str | os.PathLike[str], command: str | None) -> None:
    """Write the page; the file is replaced in one step."""
    machine, question = answer.machine, answer.question
    if isinstance(machine, ArmsWatch):
        shown, caption = _looks(machine), _caption_of_looks(answer)
        title = f"{question.current} against {question.baseline}"
        kind = colour_of(machine.result.verdict)
    else:
        shown, caption = stretches_shown(machine), CAPTION_OF_STRETCHES
        title = f"{question.source} against {question.baseline}"
        kind = colour_of(machine.incidents.kept[-1].direction if machine.incidents.kept else "")
    rows = answer.table()
    left_out = ""
    if isinstance(machine, StreamWatch) and machine.incidents.count > len(rows) - 1 > 0:
        left_out = f"The latest of {count(machine.incidents.count)} incidents."
    write_whole(
        path,
        watch_html(
            WatchPage(
                title,
                answer.headline(),
                kind,
                answer.tally.facts(),
                answer.notes(),
                shown,
                caption,
                "Incidents",
                rows,
                left_out,
                command,
            )
        ),
    )


def _looks(machine: ArmsWatch) -> Shown | None:
    """The confidence sequence at all looks that were kept."""
    if machine.trace is None or math.isnan(machine.result.shift):
        return None
    per_cent = 100.0 if machine.result.relative else 1.0
    points = [
        Point(point.start, point.end, *(per_cent * number for number in point[2:]))
        for point in machine.trace.ended_by(machine.result)
    ]
    low, high = machine.monitor.region or (0.0, 0.0)
    marks = []
    if machine.decided_at is not None:
        marks = [Mark(machine.decided_at, machine.decided_at, "decided")]
    unit = "%" if machine.result.relative else machine.display.unit
    return Shown(points, marks, (per_cent * low, per_cent * high), unit, stretches=False)


def _caption_of_looks(answer: Watched) -> str:
    level = level_of(answer.question.alpha)
    return (
        f"The line is the shift after so many values. The band is its {level} confidence sequence: "
        "it holds the true shift at all times at once with this probability. Grey is the margin."
    )


CAPTION_OF_STRETCHES = (
    "A dot is the shift of one stretch of the stream against the reference. A bar is its 95% "
    "interval, which holds for that stretch alone. A dashed line marks the first alarm of an "
    "incident. The shaded part before it is the time since the estimated beginning."
)


def stretches_shown(machine: StreamWatch) -> Shown | None:
    """The shift of each stretch against the reference."""
    if machine.trace is None or not machine.values:
        return None
    points, start = [], 0
    reference = machine.detector.reference
    for stretch in machine.trace.stretches:
        end = start + stretch.size + stretch.nan
        points.append(_compared(stretch, reference, start, end))
        start = end
    marks = [Mark(each.first, each.began[0], str(each.number)) for each in machine.incidents.kept]
    return Shown(points, marks, (0.0, 0.0), machine.display.unit, stretches=True)


def _compared(stretch: Summary, reference: Summary, start: int, end: int) -> Point:
    """The shift of one stretch and its interval."""
    if stretch.size < FEWEST:
        return Point(start, end, math.nan, math.nan, math.nan)
    options = check_options(None, None, "exact", "two-sided", None, "propagate")
    result = compare_summaries(stretch, reference, options)
    low, high = result.shift_interval(CONFIDENCE)
    return Point(start, end, float(result.shift), float(low), float(high))
