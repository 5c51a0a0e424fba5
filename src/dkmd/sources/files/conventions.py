"""How the text files of one question write numbers, dates and yes: settled once for all of them.

Every table of files that is opened within ``reading_text`` joins the same ``Conventions``. They
look at the first values of all files before the first column is read. A column that can be read in
two ways is in doubt: whoever asks for it gets an error that says why.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from dkmd.sources.files.source import Source
from dkmd.sources.files.spelling import Decimals, Spelling, parts_of_dates, words_there
from dkmd.sources.kinds import DATE, NOTHING, NUMBER, TEXT
from dkmd.sources.number_words import YES_NO, require_decimal

if TYPE_CHECKING:
    from dkmd.sources.files.duckdb_file import DuckFile

_present: ContextVar[Conventions | None] = ContextVar("conventions", default=None)


@contextmanager
def reading_text(
    decimal: str | None = None, sources: Iterable[object] = ()
) -> Iterator[Conventions]:
    """The conventions of all text files that are opened within; ``decimal`` is the users' word.

    Tables that are opened one after the other, each read before the next, are ``sources``.
    """
    require_decimal(decimal)
    outer = _present.get()
    if outer is not None and decimal in (None, outer.decimal):
        yield outer
        return
    found = Conventions(decimal)
    for source in sources:
        if isinstance(source, str | os.PathLike):
            found.expect(os.fspath(source))
    token = _present.set(found)
    try:
        yield found
    finally:
        _present.reset(token)


def conventions() -> Conventions:
    """The present conventions; new ones outside of ``reading_text``."""
    return _present.get() or Conventions()


class Column(NamedTuple):
    """One column of one file."""

    file: DuckFile
    in_sql: str
    spelled: Spelling

    @property
    def separates_commas(self) -> bool:
        """Whether commas separate the fields of the file, so that a bare one is no decimal."""
        return self.file.raw.separator == ","

    @property
    def commas(self) -> int:
        """Cells with a comma that can only be a decimal comma: 0,5 and 1234,5."""
        return 0 if self.separates_commas else self.spelled.with_comma - self.spelled.commas_grouped

    @property
    def points(self) -> int:
        """Cells with a point that can only be a decimal point."""
        return self.spelled.with_point - self.spelled.points_grouped


class Conventions:
    """How some text files are written.

    Parameters
    ----------
    decimal : {",", "."}, optional
        The decimal sign, if users gave it. The other sign may then stand between thousands.
    """

    def __init__(self, decimal: str | None = None) -> None:
        self.decimal = decimal
        self._files: dict[str, weakref.ref[DuckFile]] = {}
        self._expected: list[DuckFile] = []
        self._found: dict[str, Source] = {}

    @property
    def given(self) -> Decimals | None:
        """The decimals that users gave."""
        return None if self.decimal is None else Decimals(self.decimal, grouped=True)

    def join(self, file: DuckFile) -> None:
        """Have a say in what is settled from now on."""
        known = self._files.get(file.path)
        if known is None or known() is None:
            self._files[file.path] = weakref.ref(file)
        self._found.clear()

    def expect(self, path: str) -> None:
        """Let files have their say before they are opened as tables."""
        from dkmd.sources.files.duckdb_file import DuckFile
        from dkmd.sources.files.paths import files_of

        with suppress(ValueError, OSError):  # raised again when they are opened
            for file in files_of(path):
                if isinstance(file, DuckFile) and file.form == "csv":
                    file.follow(self)
                    self._expected.append(file)

    def settled(self, file: DuckFile) -> Source:
        """The source of a file, read as all files together are written."""
        if file.path not in self._found:
            self._found[file.path] = self._settled(file)
        return self._found[file.path]

    def note(self, file: DuckFile, column: str) -> str:
        """What an answer says about the numbers of a column: nothing unless commas are decimal."""
        source = self.settled(file)
        marked = source.spelled.get(source.in_sql.get(column, ""))
        if marked is None or source.kinds.get(column) != NUMBER:
            return ""
        signs = marked.with_comma or marked.with_point or marked.commas_grouped
        if self.decimal is not None and signs:
            return f"{DECIMALS[self.decimal]}, as --decimal says"
        if source.decimals.sign == "," and marked.with_comma:
            return f"{DECIMALS[',']} in the text files, as cells such as {self._settling()!r} show"
        return ""

    def notes(self) -> list[str]:
        """The notes of all columns of all files, each once."""
        names = self._columns()
        found = [self.note(each.file, name) for name, alike in names.items() for each in alike]
        return list(dict.fromkeys(filter(None, found)))

    def _settled(self, file: DuckFile) -> Source:
        source = file.raw
        columns = self._columns()
        decimals = self.given or self._decimals(file, columns)
        kinds, doubts, days, truths = dict(source.kinds), {}, {}, {}
        for name, in_sql in source.in_sql.items():
            alike = columns.setdefault(name, [Column(file, in_sql, source.spelled[in_sql])])
            if self.given is None and kinds[name] == NUMBER:
                doubts[name] = self._doubt(name, decimals, columns)
            order, why = _order_of_days(alike, name)
            if order or why:
                kinds[name], days[name], doubts[name] = DATE, order, why
            words = _yes_and_no(alike) if kinds[name] in (TEXT, NOTHING) else None
            if words is not None and kinds[name] == TEXT:
                kinds[name], truths[name] = NUMBER, words
        return source._replace(
            kinds=kinds,
            decimals=decimals,
            doubts={name: why for name, why in doubts.items() if why},
            days_first={name: order == "d" for name, order in days.items()},
            truths=truths,
        )

    def _columns(self) -> dict[str, list[Column]]:
        """The columns of all files that can be read, by name."""
        found: dict[str, list[Column]] = {}
        for file in self._there():
            try:
                source = file.raw
            except (ValueError, OSError):  # raised again when this file is read
                continue
            for name, in_sql in source.in_sql.items():
                found.setdefault(name, []).append(Column(file, in_sql, source.spelled[in_sql]))
        return found

    def _there(self) -> list[DuckFile]:
        return [file for file in (known() for known in self._files.values()) if file is not None]

    def _decimals(self, file: DuckFile, columns: dict[str, list[Column]]) -> Decimals:
        """The decimal sign of a file by its own cells, else by those of the other files."""
        every = [each for alike in columns.values() for each in alike]
        own = [each for each in every if each.file.path == file.path]
        if file.raw.separator == "," or any(each.points for each in own):
            return Decimals()
        there = any(each.commas for each in own)
        elsewhere = any(each.commas for each in every) and not any(each.points for each in every)
        return Decimals("," if there or elsewhere else ".")

    def _doubt(self, name: str, decimals: Decimals, columns: dict[str, list[Column]]) -> str:
        """Why the numbers of a column cannot be read; empty if they can.

        Cells such as 1,234 are in doubt unless commas are decimal. Cells such as 1.234 are in
        doubt if commas are decimal elsewhere. They are, too, beside cells without a sign where
        commas do not separate the fields and no cell shows that points are decimal.
        """
        every = [each for several in columns.values() for each in several]
        alike = columns[name]
        commas = [e for e in alike if e.spelled.commas_grouped and not e.separates_commas]
        points = [e for e in alike if e.spelled.points_grouped]
        if commas and decimals.sign != "," and not any(e.commas for e in alike):
            return _may_be_thousands(commas[0], alike, name)
        if not points or any(e.points for e in alike):
            return ""
        mixed = any(e.spelled.plain for e in alike) and not all(e.separates_commas for e in alike)
        if any(e.commas for e in every) or (mixed and not any(e.points for e in every)):
            return _may_be_thousands(points[0], alike, name)
        return ""

    def _settling(self) -> str:
        """A cell that shows that commas are decimal."""
        every = [each for alike in self._columns().values() for each in alike if each.commas]
        return next((each.spelled.settling for each in every if each.spelled.settling), "")


DECIMALS = {",": "numbers have a decimal comma", ".": "numbers have a decimal point"}


def _may_be_thousands(column: Column, alike: Sequence[Column], name: str) -> str:
    """The reason why cells are in doubt, with two of them."""
    spelled = column.spelled
    other = spelled.high if spelled.high != spelled.low else ""
    other = next((e.spelled.plain for e in alike if e.spelled.plain), "") or other
    cells = " and ".join(repr(cell.strip()[:20]) for cell in (spelled.low, other) if cell)
    sign = "," if "," in spelled.low else "."
    return (
        f"{column.file.path}, column {name!r}: {cells} can be read in two ways, because the {sign} "
        "may stand between thousands or be the decimal sign: say which sign is decimal with "
        "--decimal , or --decimal . (decimal= in Python)"
    )


def _order_of_days(alike: Sequence[Column], name: str) -> tuple[str, str]:
    """The order of dates such as 31/01/2024 ("d" or "m" first), or why they cannot be read."""
    there = [each for each in alike if each.spelled.mostly_days]
    if not there or any(each.spelled.cells and each not in there for each in alike):
        return "", ""
    first, second, shown = 0, 0, ""
    for each in there:
        found = parts_of_dates(each.file.raw.sql, each.in_sql)
        first, second, shown = max(first, found[0]), max(second, found[1]), shown or found[2]
    if (first > 12) != (second > 12):
        return ("d" if first > 12 else "m"), ""
    why = "some have the day first and others the month" if first > 12 else "no day is above 12"
    return "", (
        f"{there[0].file.path}, column {name!r} holds dates such as {shown!r}, where the day or "
        f"the month may come first: {why}. Write them with the year first: 2024-01-31"
    )


def _yes_and_no(alike: Sequence[Column]) -> tuple[str, str] | None:
    """The words for no and yes, if a column of all files together holds both and nothing else."""
    filled = [each for each in alike if each.spelled.cells]
    for pair, words in YES_NO.items():
        if filled and all(getattr(each.spelled, pair) == each.spelled.cells for each in filled):
            found = [words_there(each.file.raw.sql, each.in_sql, words) for each in filled]
            if not any(others for *_, others in found) and all(
                any(there[i] for there in found) for i in (0, 1)
            ):
                return words
    return None
