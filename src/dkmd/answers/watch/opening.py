"""From the options of a watch to its question and to what values are fed to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dkmd.answers.watch.arms import ArmsWatch
from dkmd.answers.watch.question import ARMS, REFERENCE, STREAM, Question
from dkmd.answers.watch.stream import StreamWatch
from dkmd.answers.watch.watching import Watching, open_watch
from dkmd.base.arrays import Array
from dkmd.bins.summary import Summary
from dkmd.bins.summary_file import content_of
from dkmd.sequential.detector import Detector
from dkmd.sequential.monitor import Monitor
from dkmd.sources.column_data import HeldColumn, unit_of
from dkmd.sources.files.conventions import reading_text
from dkmd.sources.loading import Opened, is_generic, load, summarized
from dkmd.sources.number_words import require_decimal
from dkmd.sources.streams.lines import STDIN
from dkmd.sources.streams.records import RecordReader


@dataclass(frozen=True)
class Input:
    """Where lines come from, how they are read, and where the state is kept."""

    written_as: str | None = None
    follow: bool = False
    state: Path | None = None
    max_bad: int = 100
    traced: bool = False  # keep what a page shows
    ends_early: bool = False  # with a decision or an alarm
    decimal: str | None = None  # the decimal sign, if users gave it


def watch_stream(
    reference: str, source: str, decide: bool, question: Question, given: Input
) -> Watching:
    """A stream against a reference: alarms, or a decision if ``decide``."""
    if reference == STDIN:
        raise ValueError("the reference must be a file: standard input is the stream")
    with reading_text(given.decimal):
        opened = Opened(reference, "reference")
        column = question.field if question.field in opened.kinds else None
        loaded = load(reference, "reference", column)
    values: Array | Summary
    if isinstance(loaded.data, HeldColumn) and not loaded.data.offset:
        values = loaded.data.values
        values = values[~np.isnan(values)]
    else:
        values = summarized(loaded)
    question = replace(
        question,
        kind=REFERENCE if decide else STREAM,
        source=source,
        baseline=loaded.label,
        current="standard input" if source == STDIN else Path(source).name,
        digest=_digest(values),
    )
    machine: StreamWatch | ArmsWatch
    if decide:
        machine = ArmsWatch(question, _monitor(question, values), loaded.unit, given.traced)
    else:
        margin = 0.0 if question.margin is None else question.margin
        detector = Detector(values, question.arl, margin, question.block)
        machine = StreamWatch(question, detector, loaded.unit, given.traced)
    likely = None if is_generic(loaded.name) else loaded.name
    # a note says that commas are decimal: in the stream as in the reference
    decimal = given.decimal or ("," if loaded.note else None)
    reader = RecordReader(given.written_as, question.field, likely=likely, decimal=decimal)
    watching = _opened(question, machine, reader, given)
    watching.lines.notes += filter(None, [loaded.note])
    return watching


def watch_arms(
    source: str, by: str, arms: tuple[str, str], question: Question, given: Input
) -> Watching:
    """Two arms of one stream: (reference, current)."""
    question = replace(question, kind=ARMS, source=source, by=by, baseline=arms[0], current=arms[1])
    unit = unit_of(question.field or "")
    machine = ArmsWatch(question, _monitor(question, None), unit, given.traced)
    require_decimal(given.decimal)
    reader = RecordReader(given.written_as, question.field, by, decimal=given.decimal)
    return _opened(question, machine, reader, given)


def _opened(
    question: Question, machine: StreamWatch | ArmsWatch, reader: RecordReader, given: Input
) -> Watching:
    return open_watch(
        question, machine, reader,
        follow=given.follow, state=given.state, max_bad=given.max_bad,
        ends_early=given.ends_early,
    )  # fmt: skip


def _monitor(question: Question, reference: Array | Summary | None) -> Monitor:
    margin = question.margin
    relative = isinstance(margin, str) and margin.strip().endswith("%")
    return Monitor(
        question.alpha, question.expected_n, margin, reference=reference, relative=relative
    )


def _digest(reference: Array | Summary) -> str:
    """A digest of the values, so that a checkpoint notices another reference."""
    content: Any
    if isinstance(reference, Summary):
        content = json.dumps(content_of(reference), sort_keys=True).encode()
    else:
        content = reference.tobytes()
    return hashlib.sha256(content).hexdigest()[:20]
