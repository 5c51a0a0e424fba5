"""A watch under way: read lines, feed what is watched, tell what happens, write checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dkmd.answers.watch.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from dkmd.answers.watch.events import Event
from dkmd.answers.watch.question import Question
from dkmd.answers.watch.tally import NAMED, Tally
from dkmd.base.errors import DkmdError, StateFileError
from dkmd.sources.streams.lines import LineReader, open_lines
from dkmd.sources.streams.records import BadLine, RecordReader, Records

EVERY = 2.0
"""Seconds between checkpoints."""


class Machine(Protocol):
    """What values are fed to."""

    @property
    def decided(self) -> bool:
        """Whether there is an answer, or an alarm in this run."""

    def feed(self, records: Records) -> list[Event]:
        """Take values."""

    def finish(self) -> list[Event]:
        """The input has ended."""

    def status(self) -> str:
        """The state in a few words."""

    def document(self) -> dict[str, Any]:
        """For a checkpoint."""

    def restore(self, document: dict[str, Any]) -> None:
        """From a checkpoint."""


class TooManyBadError(DkmdError):
    """There are more malformed lines than were allowed."""


class Watching:
    """Lines, what they are fed to, and the checkpoint."""

    def __init__(
        self, question: Question, machine: Machine, lines: LineReader, reader: RecordReader,
        tally: Tally, state: Path | None, max_bad: int, ends_early: bool,
    ) -> None:  # fmt: skip
        self.question, self.machine = question, machine
        self.lines, self.reader, self.tally = lines, reader, tally
        self.state, self.max_bad, self.ends_early = state, max_bad, ends_early
        self.resumed = tally.lines > 0
        self._bad = 0  # in this run
        self._saved_at = time.monotonic()
        self._changed = False

    def run(
        self,
        tell: Callable[[Event], None],
        name_bad: Callable[[BadLine], None],
        stop: Callable[[], bool],
    ) -> None:
        """Watch until the input ends, or ``stop`` says so; or until a decision or an alarm.

        The last lines that were read are always counted, so that the checkpoint fits its place.
        After an error of the data there is no new checkpoint, because lines may be half counted.
        """
        try:
            while not (self.lines.ended or stop() or (self.ends_early and self.machine.decided)):
                self._step(tell, name_bad)
            for found in self.machine.finish():
                tell(found)
            self.save()
        finally:
            self.lines.close()

    def _step(self, tell: Callable[[Event], None], name_bad: Callable[[BadLine], None]) -> None:
        """One piece of the input."""
        lines = self.lines.read()
        if lines.texts:
            records = self.reader.read(lines)
            events = self.machine.feed(records)
            self._count(len(lines.texts), records)
            for found in events:
                tell(found)
            for bad in records.bad:
                name_bad(bad)
            self._changed = True
            if events:
                self.save()
            if self._bad > self.max_bad:
                self.save()
                raise TooManyBadError(
                    f"{self._bad:,} malformed lines are more than --max-bad {self.max_bad:,}; the "
                    f"last is {records.bad[-1]}"
                )
        if time.monotonic() - self._saved_at >= EVERY:
            self.save()

    def _count(self, lines: int, records: Records) -> None:
        missing = int(np.count_nonzero(np.isnan(records.values)))
        tally = self.tally
        tally.lines += lines
        tally.values += records.values.size - missing
        tally.missing += missing
        tally.bad += len(records.bad)
        tally.named += map(str, records.bad[: max(0, NAMED - len(tally.named))])
        self._bad += len(records.bad)

    def save(self) -> None:
        """Write the checkpoint, if there is something new."""
        self._saved_at = time.monotonic()
        if self.state is None or not self._changed:
            return
        place, reader = self.lines.place(), self.reader.state()
        found = Checkpoint(place, reader, self.tally, self.machine.document())
        write_checkpoint(self.state, self.question, found)
        self._changed = False


def open_watch(
    question: Question,
    machine: Machine,
    reader: RecordReader,
    *,
    follow: bool,
    state: Path | None,
    max_bad: int,
    ends_early: bool,
) -> Watching:
    """A watch that goes on from its checkpoint, if there is one.

    ``ends_early`` makes it end with a decision or an alarm.
    """
    found = None if state is None else read_checkpoint(state, question)
    tally = Tally()
    if found is not None:
        try:
            machine.restore(found.machine)
            reader.restore(found.reader)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StateFileError(f"{state} is damaged: {error}. Delete it to start anew") from None
        tally = found.tally
    place = None if found is None else found.place
    lines = open_lines(question.source, follow, place, state is not None, ends_early)
    return Watching(question, machine, lines, reader, tally, state, max_bad, ends_early)
