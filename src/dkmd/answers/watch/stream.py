"""A stream without end against a reference: alarms (``Detector``)."""

from __future__ import annotations

from typing import Any

from dkmd.answers.watch.events import Event, event
from dkmd.answers.watch.incidents import Incident, Incidents, is_told
from dkmd.answers.watch.question import Question
from dkmd.answers.watch.trace import StretchTrace
from dkmd.base.displays import Display
from dkmd.base.quiet import warnings_noted
from dkmd.base.wording import count
from dkmd.sequential.detector import Detector
from dkmd.sources.streams.records import Records


class StreamWatch:
    """A detector, its incidents, and the stream so far in stretches."""

    def __init__(self, question: Question, detector: Detector, unit: str, traced: bool) -> None:
        self.question = question
        self.detector = detector
        self.display = Display(unit)
        self.incidents = Incidents(question.arl)
        self.trace = StretchTrace(detector.reference.grid) if traced else None
        self.values = 0
        self.notes: list[str] = []
        self.alarmed = False  # in this run

    def feed(self, records: Records) -> list[Event]:
        """Take values; the alarms that they raise."""
        before = self.values
        self.values += records.values.size
        with warnings_noted() as told:
            found = self.detector.update_many(records.values)
        self.notes += [text.rstrip(".") for text in told]
        if self.trace is not None:
            self.trace.add(records.values)
        return [self._told(alarm, int(records.lines[alarm.at - before])) for alarm in found]

    def _told(self, alarm: Any, line: int) -> Event:
        self.alarmed = True
        incident = self.incidents.add(alarm, line)
        text = ""
        if is_told(incident.alarms):
            text = self.in_words(incident, alarm.at + 1, line)
        began = {name: position + 1 for name, position in alarm.began._asdict().items()}
        return event(
            "alarm", text, alarm=self.incidents.alarms, incident=incident.number,
            alarms_of_incident=incident.alarms,
            **alarm.to_dict() | {"at": alarm.at + 1, "began": began}, line=line,
        )  # fmt: skip

    def in_words(self, incident: Incident, at: int, line: int) -> str:
        """An alarm in one line."""
        shown = self.display
        if incident.alarms > 1:
            return (
                f"still {incident.direction.upper()}: alarm {count(incident.alarms)} of incident "
                f"{incident.number}, at value {count(at)} (line {count(line)})"
            )
        low, high = incident.interval
        began, earliest, latest = incident.began
        return (
            f"{incident.direction.upper()} by {shown.amount(incident.shift)} "
            f"({shown.end(low)} to {shown.end(high)}) since about value {count(began)} "
            f"({count(earliest)} to {count(latest)}); noticed at value {count(at)} "
            f"(line {count(line)})"
        )

    @property
    def decided(self) -> bool:
        """Whether this run had an alarm."""
        return self.alarmed

    def finish(self) -> list[Event]:
        """Nothing is left to tell at the end."""
        return []

    def status(self) -> str:
        """The state in a few words."""
        if not self.incidents.count:
            return "no alarm"
        last = self.incidents.kept[-1]
        ago = self.values - last.last
        return f"{count(self.incidents.alarms)} alarms, the last {count(ago)} values ago"

    def document(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "detector": self.detector.document(),
            "values": self.values,
            "notes": self.notes,
            "incidents": self.incidents.document(),
            "trace": None if self.trace is None else self.trace.document(),
        }

    def restore(self, document: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.detector = Detector.of_document(document["detector"])
        self.values = int(document["values"])
        self.notes = list(map(str, document["notes"]))
        self.incidents.restore(document["incidents"])
        if self.trace is not None and document["trace"] is not None:
            self.trace.restore(document["trace"])
