"""DuckDB as the engine of files that are too large to hold; one query reads all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dkmd.base.errors import EngineError
from dkmd.sources.engines.backends import RelationEngine
from dkmd.sources.engines.fetched import Columns
from dkmd.sources.files.duckdb_connection import connection, relation, renew_connection


class FilesEngine(RelationEngine):
    """Several files as one table.

    Parameters
    ----------
    whole : sequence of str
        SQL of the columns and rows of each file.
    part : sequence of str
        SQL of some rows from all over the files, if reading them is quicker than drawing a sample;
        else empty.
    name : str
        The name that errors show.
    """

    def __init__(self, whole: Sequence[str], part: Sequence[str], name: str) -> None:
        super().__init__(None)
        self._selections = whole, part
        self._name = name
        self._connect()

    def _connect(self) -> None:
        self._home = connection()
        whole, part = self._selections
        self._relation = relation(whole)
        self._part = relation(part) if part else None

    def _fetch(self, sql: str, relation: Any = None) -> Columns:
        """The result of a query; reconnects if an error with another file closed the database."""
        if self._home is not connection():
            self._connect()
        try:
            return super()._fetch(sql, None if relation is None else self._part)
        except EngineError as error:
            renew_connection()
            raise EngineError(f"{self._name}: {error}") from None
