"""A question that will be decided: two arms, or a stream against a reference (``Monitor``)."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from dkmd.answers.watch.events import Event, event
from dkmd.answers.watch.question import ARMS, Question
from dkmd.answers.watch.trace import LookTrace
from dkmd.base.arrays import Array
from dkmd.base.displays import Display
from dkmd.base.quiet import warnings_noted
from dkmd.base.wording import count, percent
from dkmd.sequential.monitor import Monitor
from dkmd.sequential.result import MonitorResult
from dkmd.sources.streams.records import Records

FEWEST, SHARE = 20, 0.02
"""A look needs this many new values, or this share of all values, whichever is more."""


class ArmsWatch:
    """A monitor and its looks. x is the current arm or the stream, y the reference."""

    def __init__(self, question: Question, monitor: Monitor, unit: str, traced: bool) -> None:
        self.question = question
        self.monitor = monitor
        self.display = Display(unit)
        self.trace = LookTrace() if traced else None
        self.other = 0
        self.notes: list[str] = []
        self.decided_at: int | None = None  # values at the decision
        self._looked_at = 0

    def feed(self, records: Records) -> list[Event]:
        """Take values, and look now and then; the decision, once."""
        found: list[Event] = []
        start = 0
        while start < records.values.size:
            step = max(FEWEST, round(SHARE * self._taken()))
            stop = start + int(min(step, self.monitor.until_choice))
            self._take(records.values[start:stop], records.arms[start:stop])
            start = stop
            if self._taken() - self._looked_at >= max(FEWEST, SHARE * self._looked_at):
                found += self._look()
        return found

    def _taken(self) -> int:
        """Values so far, without those of a fixed reference."""
        sizes = self.monitor.sizes
        return sum(sizes) if self.question.kind == ARMS else sizes[0]

    def _take(self, values: Array, arms: list[str]) -> None:
        with warnings_noted() as told:
            self._update(values, arms)
        arms_of = {"x": self.question.current, "y": self.question.baseline}
        for text in told if not self.notes else ():
            named = re.sub(r"(?<=values of )([xy])\b", lambda arm: arms_of[arm.group()], text)
            self.notes.append(named)

    def _update(self, values: Array, arms: list[str]) -> None:
        if self.question.kind != ARMS:
            self.monitor.update(x=values)
            return
        named = np.array(arms, dtype=object)
        current, reference = (
            named == self.question.current,
            named == self.question.baseline,
        )
        self.other += int(np.count_nonzero(~(current | reference)))
        self.monitor.update(x=values[current], y=values[reference])

    def _look(self) -> list[Event]:
        """A look; the decision if it is the first time."""
        self._looked_at = self._taken()
        result = self.monitor.result
        if self.trace is not None:
            self.trace.add(result)
        if self.decided_at is not None or not self.decided:
            return []
        self.decided_at = result.n_x + result.n_y
        return [event("decision", self.sentence(), **result.to_dict())]

    def finish(self) -> list[Event]:
        """A last look."""
        return self._look()

    @property
    def result(self) -> MonitorResult:
        """The answer now."""
        return self.monitor.result

    @property
    def decided(self) -> bool:
        """Whether the question is answered; with ``worse``, "not worse" is an answer too."""
        return self.monitor.result.decided or self.not_worse

    @property
    def not_worse(self) -> bool:
        """Whether the interval rules out a change for the worse that matters."""
        if self.question.worse is None or self.monitor.region is None:
            return False
        low, high = self.monitor.result.interval
        margin_low, margin_high = self.monitor.region
        return high <= margin_high if self.question.worse == "higher" else low >= margin_low

    def amount(self) -> str:
        """The shift and its interval in words."""
        result = self.result
        low, high = result.interval
        if result.relative:
            ends = f"{percent(low).removesuffix('%')} to {percent(high)}"
            return f"{percent(result.shift)} ({ends})"
        shown = self.display
        return f"{shown.amount(result.shift)} ({shown.end(low)} to {shown.end(high)})"

    def sentence(self) -> str:
        """The answer now, in one sentence."""
        result, question = self.result, self.question
        first, second = question.baseline, question.current
        sizes = f"n = {count(result.n_y)} and {count(result.n_x)}"
        if math.isnan(result.shift):
            return f"INCONCLUSIVE: {result.reason[:1].lower()}{result.reason[1:]}"
        if result.verdict in ("higher", "lower"):
            verdict = f"{second} is {result.verdict.upper()} than {first}"
        elif result.verdict == "equivalent":
            verdict = f"{second} and {first} are EQUIVALENT within {question.margin_in_words}"
        elif self.not_worse:
            verdict = f"{second} is not worse than {first}"
            verdict += f" by more than {question.margin_in_words}" if question.margin else ""
        else:
            verdict = f"INCONCLUSIVE: {second} against {first}"
        return f"{verdict}: {self.amount()}. {sizes}."

    def status(self) -> str:
        """The state in a few words."""
        result = self.result
        sizes = f"{count(result.n_y)} and {count(result.n_x)}"
        if math.isnan(result.shift):
            return f"{sizes}: too early"
        return f"{sizes}: {self.amount()}, {result.verdict}"

    def document(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "monitor": self.monitor.document(),
            "other": self.other,
            "decided_at": self.decided_at,
            "notes": self.notes,
            "trace": None if self.trace is None else self.trace.document(),
        }

    def restore(self, document: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.monitor = Monitor.of_document(document["monitor"])
        self.other = int(document["other"])
        self.notes = list(map(str, document.get("notes", [])))
        self._looked_at = self._taken()
        decided_at = document["decided_at"]
        self.decided_at = None if decided_at is None else int(decided_at)
        if self.trace is not None and document["trace"] is not None:
            self.trace.restore(document["trace"])
