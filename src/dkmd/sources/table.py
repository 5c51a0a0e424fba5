"""The protocol ``Table``: named columns, wherever they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from dkmd.sources.column_data import Data

Where = tuple[str, object] | None


class Table(Protocol):
    """Named columns, wherever they are kept. ``where`` is a column and one of its levels."""

    name: str

    def kinds(self) -> dict[str, str]:
        """What each column holds, as in ``columns``."""

    def levels(self, by: str) -> list[str]:
        """The values of a column, as text."""

    def read(
        self, column: str, groups: str | None = None, where: tuple[str, object] | None = None
    ) -> Data:
        """A column of numbers, with the groups in another one."""

    def read_levels(
        self, column: str, by: str, levels: Sequence[str], groups: str | None = None
    ) -> Mapping[str, Data]:
        """A column at several levels of another one."""

    def read_columns(self, columns: Sequence[str], groups: str | None = None) -> Mapping[str, Data]:
        """Several columns, each read when it is asked for or all at once."""

    def require_readable(self) -> None:
        """Raise an error if nothing can be read any more: a lost connection, a removed file."""


class OneByOne(Mapping[str, Data]):
    """Samples by name, each read when it is asked for."""

    def __init__(self, names: Sequence[str], read: Callable[[str], Data]) -> None:
        self._names = names
        self._read = read

    def __getitem__(self, name: str) -> Data:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
