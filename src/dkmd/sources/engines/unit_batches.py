"""Questions about units of several columns that share queries.

While a batch announces, a question that is not answered yet is noted and stops its column
(``Announced``). One query then answers all that were noted, and the columns are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from dkmd.base.errors import EngineError
from dkmd.inference.unit_streams import Announced
from dkmd.sources.engines.aggregate import SAMPLE
from dkmd.sources.engines.backends import Engine, IbisEngine
from dkmd.sources.engines.fetched import Columns, by_sample

PER_QUERY = 32
"""Questions that share one query. Longer queries are slow."""


class Question(NamedTuple):
    """Something to ask an engine."""

    key: Hashable
    kind: str
    """Questions of one kind have answers with the same columns."""
    ask: Callable[[Any], Any]
    """Makes the query; its answer has the column SAMPLE with this literal."""
    nothing: Columns
    """The answer without a row."""


class UnitBatch:
    """Questions to one engine, and their answers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._found: dict[Hashable, Columns | EngineError] = {}
        self._noted: dict[Hashable, Question] = {}
        self._answered: list[Question] = []
        """Keeps what questions are about, so that keys may have the id of another side."""
        self.announcing = False
        self._leader: UnitBatch | None = None

    def join(self, leader: object) -> bool:
        """Leave all questions to another batch, if its queries can read the same tables."""
        if not isinstance(leader, UnitBatch):
            return False
        ours, theirs = self._engine, leader._engine
        if not (isinstance(ours, IbisEngine) and isinstance(theirs, IbisEngine)):
            return False
        if ours.backend is theirs.backend:
            self._leader = leader
        return self._leader is leader

    def answer(self, question: Question) -> Columns:
        """The answer; while the batch announces, an error if it is not known yet."""
        if self._leader is not None:
            return self._leader.answer(question)
        if question.key not in self._found:
            if self.announcing:
                self._noted[question.key] = question
                raise Announced
            self._ask([question])
        found = self._found[question.key]
        if isinstance(found, EngineError):
            raise found
        return found

    def ask_noted(self) -> bool:
        """Ask all that was noted, by as few queries as possible; whether there was anything."""
        noted, self._noted = list(self._noted.values()), {}
        for kind in dict.fromkeys(each.kind for each in noted):
            alike = [each for each in noted if each.kind == kind]
            for start in range(0, len(alike), PER_QUERY):
                self._ask(alike[start : start + PER_QUERY])
        return bool(noted)

    def _ask(self, questions: list[Question]) -> None:
        """One query for several questions. If it fails, each question is asked alone."""
        import ibis

        try:
            parts = [each.ask(ibis.literal(f"q{i}")) for i, each in enumerate(questions)]
            query = ibis.union(*parts) if len(parts) > 1 else parts[0]
            rows = by_sample(self._engine.run(query))
        except EngineError as error:
            if len(questions) == 1:
                self._found[questions[0].key] = error
                return
            for each in questions:
                self._ask([each])
            return
        for i, each in enumerate(questions):
            self._answered.append(each)
            found = dict(rows.get(f"q{i}", each.nothing))
            found.pop(SAMPLE, None)
            self._found[each.key] = found
