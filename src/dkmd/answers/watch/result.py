"""The answer of a watch at its end: a sentence, notes, JSON and a page."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dkmd.answers.comparison import FORMAT_VERSION
from dkmd.answers.watch.arms import ArmsWatch
from dkmd.answers.watch.question import Question
from dkmd.answers.watch.stream import StreamWatch
from dkmd.answers.watch.tally import Tally
from dkmd.base.wording import count, rounded


@dataclass(frozen=True)
class Watched:
    """What a watch found.

    Attributes
    ----------
    question : Question
        What was asked.
    machine : StreamWatch or ArmsWatch
        What the values were fed to.
    tally : Tally
        What the lines held.
    """

    question: Question
    machine: StreamWatch | ArmsWatch
    tally: Tally
    input_notes: tuple[str, ...] = ()

    def headline(self) -> str:
        """The answer in one or two sentences."""
        if isinstance(self.machine, ArmsWatch):
            return self.machine.sentence()
        return self._of_stream(self.machine)

    def _of_stream(self, machine: StreamWatch) -> str:
        values = f"{count(self.tally.values)} {'value' if self.tally.values == 1 else 'values'}"
        expected = rounded(self.tally.values / self.question.arl, 2)
        false = f"At most {expected} false alarms are expected."
        if not machine.incidents.count:
            return f"No alarm in {values}. {false}"
        last = machine.incidents.kept[-1]
        alarms, incidents = machine.incidents.alarms, machine.incidents.count
        often = f"{count(alarms)} {'alarm' if alarms == 1 else 'alarms'}"
        if alarms > 1:
            often += f" in {count(incidents)} {'incident' if incidents == 1 else 'incidents'}"
        low, high = (machine.display.end(end) for end in last.interval)
        return (
            f"{often} in {values}. The last change: {last.direction.upper()} by "
            f"{machine.display.amount(last.shift)} ({low} to {high}) since about value "
            f"{count(last.began[0])}. {false}"
        )

    @property
    def told(self) -> bool:
        """Whether something was told before the summary."""
        if isinstance(self.machine, ArmsWatch):
            return self.machine.decided_at is not None
        return self.machine.alarmed

    @property
    def outcome(self) -> int | None:
        """The exit code of a question that is decided: 0 fine, 1 moved (or worse); else None."""
        machine = self.machine
        if isinstance(machine, StreamWatch):
            return 1 if machine.alarmed else None
        verdict, worse = machine.result.verdict, self.question.worse
        if not machine.decided:
            return None
        if worse is None:
            return int(verdict in ("higher", "lower"))
        return int(verdict == worse)

    def notes(self) -> list[str]:
        """What to watch out for."""
        found = [*self.input_notes, *self.tally.notes(), *self.machine.notes]
        if isinstance(self.machine, ArmsWatch) and self.machine.other:
            found.append(f"{count(self.machine.other)} values of other arms were skipped")
        return found

    def table(self) -> list[tuple[str, ...]]:
        """The incidents of a stream; a heading and a row for each."""
        if isinstance(self.machine, ArmsWatch):
            return []
        display = self.machine.display
        head = ("incident", "direction", "shift", "interval", "began", "noticed", "line", "alarms")
        rows = [
            (
                count(each.number),
                each.direction,
                display.amount(each.shift),
                f"{display.end(each.interval[0])} to {display.end(each.interval[1])}",
                count(each.began[0]),
                count(each.first),
                count(each.line),
                count(each.alarms),
            )
            for each in self.machine.incidents.kept
        ]
        return [head, *rows] if rows else []

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded."""
        question = self.question
        head: dict[str, Any] = {
            "format": "dkmd-watch",
            "version": FORMAT_VERSION,
            "kind": question.kind,
            "source": question.source,
            "reference": question.baseline,
            "current": question.current,
            "margin": question.margin,
            "lines": self.tally.lines,
            "values": self.tally.values,
            "missing": self.tally.missing,
            "malformed": self.tally.bad,
            "malformed_lines": self.tally.named,
            "headline": self.headline(),
            "notes": self.notes(),
        }
        if isinstance(self.machine, ArmsWatch):
            return head | {
                "alpha": question.alpha,
                "other_arms": self.machine.other,
                "not_worse": self.machine.not_worse if question.worse else None,
                "result": self.machine.result.to_dict(),
            }
        incidents = self.machine.incidents
        return head | {
            "arl": question.arl,
            "alarms": incidents.alarms,
            "incidents": incidents.count,
            "last_incidents": [each.to_dict() for each in incidents.kept],
        }

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        command: str | None = None,
        advance: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        """Write the page: HTML that needs no network."""
        from dkmd.answers.watch.page import write_watch_page

        write_watch_page(self, path, command)
        advance(1, 1)
