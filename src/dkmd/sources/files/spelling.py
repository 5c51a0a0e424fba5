"""Columns of text that spell numbers, in DuckDB's SQL.

A column that looks like text may hold numbers together with "inf", words for missing values,
decimal commas, or a stray word that an error should name. Its first values show which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dkmd.sources.files.duckdb_connection import fetch_rows
from dkmd.sources.number_words import (
    EXACT_UP_TO,
    GROUPED,
    MISSING,
    MISSING_NUMBERS,
    PRINTED,
    SIGNS,
    YES_NO,
)
from dkmd.sources.sql_text import text_literal

LOOKED_AT = 500
"""The number of rows of a column of text that are read to see what it holds."""


DIGIT_FIRST = "regexp_matches(cell, '^\\s*[0-9]')"
"""SQL of whether a cell begins with a digit: DuckDB takes "epoch" and "inf" for dates."""


class Spelling(NamedTuple):
    """The number of cells of a column that are not missing, and how many of these are numbers."""

    cells: int
    numbers: int  # whole, or with a decimal point
    with_point: int
    with_comma: int  # numbers only if the comma is a decimal comma
    dates: int = 0
    times: int = 0
    commas_grouped: int = 0  # 1,234: a decimal comma, or thousands
    points_grouped: int = 0  # 1.234
    days: int = 0  # dates such as 31/01/2024, the day or the month first
    yes_no: int = 0  # words of one of the pairs in YES_NO
    t_f: int = 0
    y_n: int = 0
    low: str = ""  # the smallest and the largest cell such as 1,234 or 1.234, by their text
    high: str = ""
    plain: str = ""  # a number with neither sign
    settling: str = ""  # a cell with a comma that can only be decimal

    @property
    def mostly_numbers(self) -> bool:
        """Whether a column is meant to hold numbers: a word among them is then an error."""
        commas = self.with_comma if not self.with_point else 0
        return 2 * (self.numbers + commas) > self.cells

    @property
    def point_is_decimal(self) -> bool:
        """Whether some point can only be a decimal point."""
        return self.with_point > self.points_grouped

    @property
    def mostly_dates(self) -> bool:
        """Whether a column is meant to hold dates or timestamps."""
        return 2 * self.dates > self.cells

    @property
    def mostly_days(self) -> bool:
        """Whether a column is meant to hold dates with the year last."""
        return 2 * self.days > self.cells

    @property
    def mostly_times(self) -> bool:
        """Whether a column is meant to hold times of day."""
        return 2 * self.times > self.cells


TRUTHS = ("false", "true")
"""The words for no and yes of every column of numbers."""

DAYS = "[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{4}([ T].*)?"
"""Dates with the year last."""


class Decimals(NamedTuple):
    """The decimal sign of a file, and whether the other sign may stand between thousands."""

    sign: str = "."
    grouped: bool = False


POINT = Decimals()


def as_double(
    name: str,
    decimals: Decimals = POINT,
    truths: tuple[str, str] = TRUTHS,
) -> str:
    """SQL of a column of text as a double; NULL for missing values and for words."""
    number = name
    if decimals.sign == ",":
        number = f"CASE WHEN NOT contains({name}, '.') THEN replace({name}, ',', '.') END"
    if decimals.grouped:
        sign, between = decimals.sign, SIGNS[decimals.sign]
        whole = f"replace(replace({name}, '{between}', ''), '{sign}', '.')"
        matches = f"regexp_full_match(trim({name}), '{GROUPED[sign]}')"
        number = f"CASE WHEN {matches} THEN {whole} ELSE ({number}) END"
    return (
        f"COALESCE(TRY_CAST({number} AS DOUBLE), "
        f"CASE lower(trim({name})) WHEN '{truths[1]}' THEN 1.0 WHEN '{truths[0]}' THEN 0.0 END)"
    )


def is_rounded_text(text: str, double: str) -> str:
    """SQL of whether a text spells a number that its double rounds, as ``is_rounded`` has it."""
    word = f"ltrim(replace(trim({text}), ',', '.'), '+')"
    digits = f"length(rtrim(replace(ltrim({word}, '-0'), '.', ''), '0'))"
    whole = f"TRY_CAST(split_part({word}, '.', 1) AS HUGEINT) <> TRY_CAST({double} AS HUGEINT)"
    return (
        f"(abs({double}) >= {EXACT_UP_TO} AND CASE "
        f"WHEN regexp_full_match({word}, '-?[0-9]+') THEN COALESCE({whole}, true) "
        f"WHEN regexp_full_match({word}, '-?[0-9]+\\.[0-9]*') AND {digits} > {PRINTED} "
        f"THEN COALESCE({whole}, false) OR NOT regexp_full_match({word}, '.*\\.0*') "
        "ELSE false END)"
    )


def date_as_double(moment: str, offset: int) -> str:
    """SQL of dates and timestamps as seconds since 1970, minus whole seconds.

    Without an offset they are rounded: then only their place is of interest.
    """
    infinite = f"isfinite(CAST({moment} AS TIMESTAMP))"
    if not offset:
        return f"CASE WHEN {infinite} THEN CAST(epoch({moment}) AS DOUBLE) END"
    nano = f"CAST(epoch_ns({moment}) AS HUGEINT) - {offset:d} * CAST(1000000000 AS HUGEINT)"
    return f"CASE WHEN {infinite} THEN CAST({nano} AS DOUBLE) / 1e9 END"


def year_first(name: str, day_first: bool | None) -> str:
    """SQL of text as a timestamp; of dates such as 31/01/2024, unless ``day_first`` is None."""
    if day_first is None:
        return f"TRY_CAST({name} AS TIMESTAMP_NS)"
    order = "\\3-\\2-\\1" if day_first else "\\3-\\1-\\2"
    parts = "^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-]([0-9]{4})"
    return f"TRY_CAST(regexp_replace(trim({name}), '{parts}', '{order}') AS TIMESTAMP_NS)"


def parts_of_dates(source: str, name: str) -> tuple[int, int, str]:
    """The largest first and second part of dates with the year last, and one such date."""
    part = "CAST(regexp_extract(trim({0}), '^([0-9]+)[/.-]([0-9]+)', {1}) AS INTEGER)"
    rows = fetch_rows(
        f"SELECT max({part.format(name, 1)}), max({part.format(name, 2)}), min(trim({name})) "
        f"FROM {source} WHERE regexp_full_match(trim({name}), '{DAYS}')"
    )
    first, second, shown = rows[0]
    return int(first or 0), int(second or 0), str(shown or "")


def words_there(source: str, name: str, words: tuple[str, str]) -> tuple[int, int, int]:
    """How often a column holds each of two words, and anything else."""
    word = f"lower(trim({name}))"
    rows = fetch_rows(
        f"SELECT count(*) FILTER ({word} = '{words[0]}'), count(*) FILTER ({word} = '{words[1]}'), "
        f"count(*) FILTER (NOT {is_missing_number(name)} AND {word} NOT IN ({_listed(words)})) "
        f"FROM {source}"
    )
    no, yes, others = rows[0]
    return int(no), int(yes), int(others)


def as_level(name: str, number: str) -> str:
    """SQL of a column of numbers as text; ``number`` is the column as a double.

    Whole numbers keep all their digits. NaN and words are NULL.
    """
    text = f"lower(trim(CAST({name} AS VARCHAR)))"
    double = f"regexp_replace(CAST({number} AS VARCHAR), '\\.0$', '')"
    return (
        f"CASE WHEN regexp_full_match({text}, '-?[0-9]+|true|false') THEN {text} "
        f"WHEN NOT isnan({number}) THEN {double} END"
    )


def is_missing_text(name: str) -> str:
    """SQL of whether a cell is empty or a word for a missing value."""
    return _is_one_of(name, MISSING)


def is_missing_number(name: str) -> str:
    """SQL of whether a cell among numbers is missing: spreadsheets have more words for that."""
    return _is_one_of(name, MISSING_NUMBERS)


def _is_one_of(name: str, words: Iterable[str]) -> str:
    return f"({name} IS NULL OR lower(trim({name})) IN ({_listed(words)}))"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(text_literal, words))


def spelling_of(
    source: str, columns: Mapping[str, str], decimals: Decimals | None = None
) -> dict[str, Spelling]:
    """What columns of text spell in their first rows, or in all rows if the first are empty.

    ``columns`` maps names to their SQL. ``decimals`` are those that users gave.
    """
    found = _counted(source, columns, decimals, f" LIMIT {LOOKED_AT}")
    empty = {name: quoted for name, quoted in columns.items() if not found[name].cells}
    return found | _counted(source, empty, decimals)


def marked_far_down(source: str, spelled: Mapping[str, Spelling]) -> dict[str, Spelling]:
    """All cells of columns of numbers, counted if points among them may stand between thousands.

    The first cells do not show that points are decimal. A sign further down would be read so.
    """
    names = [name for name, s in spelled.items() if s.mostly_numbers and not s.point_is_decimal]
    if not names:
        return {}
    signs = ", ".join(f"bool_or(contains({name}, '.'))" for name in names)
    found = fetch_rows(f"SELECT {signs} FROM {source}")[0]
    return _counted(source, {n: n for n, there in zip(names, found, strict=True) if there}, None)


def _counted(
    source: str, columns: Mapping[str, str], decimals: Decimals | None, limit: str = ""
) -> dict[str, Spelling]:
    """The cells of all columns, counted by column.

    UNPIVOT puts all cells into one column, because long queries are slow.
    """
    if not columns:
        return {}
    names = ", ".join(columns.values())
    cells = f"UNPIVOT (SELECT {names} FROM {source}{limit}) ON {names} INTO NAME name VALUE cell"
    plain, commas, given = (
        f"({as_double('cell', each)}) IS NOT NULL"
        for each in (POINT, Decimals(","), decimals or POINT)
    )
    number = plain if decimals is None else f"({plain} OR {given})"
    by_commas, by_points = (f"regexp_full_match(trim(cell), '{GROUPED[s]}')" for s in ".,")
    one_sign = "contains(cell, '.') <> contains(cell, ',')"
    moment = f"{DIGIT_FIRST} AND TRY_CAST(cell AS TIMESTAMP)"
    counts = [
        "true",
        number,
        f"{number} AND contains(cell, '.')",
        f"{commas} AND contains(cell, ',')",
        f"{moment} IS NOT NULL",
        f"{moment} IS NULL AND TRY_CAST(cell AS TIME) IS NOT NULL",
        f"{by_commas} AND NOT contains(cell, '.')",
        f"{by_points} AND NOT contains(cell, ',')",
        f"regexp_full_match(trim(cell), '{DAYS}')",
        *(f"lower(trim(cell)) IN ({_listed(words)})" for words in YES_NO.values()),
    ]
    cells_of = {
        "min(cell)": f"({by_commas} OR {by_points}) AND {one_sign}",
        "max(cell)": f"({by_commas} OR {by_points}) AND {one_sign}",
        "min(trim(cell))": f"{number} AND NOT regexp_matches(cell, '[.,]')",
        "max(trim(cell))": f"{commas} AND contains(cell, ',') AND NOT {by_commas}",
    }
    columns_of = [f"count(*) FILTER ({each})" for each in counts]
    columns_of += [f"coalesce({some} FILTER ({when}), '')" for some, when in cells_of.items()]
    rows = fetch_rows(
        f"SELECT name, {', '.join(columns_of)} FROM ({cells}) "
        f"WHERE NOT {is_missing_number('cell')} GROUP BY name"
    )
    counted = {name: Spelling(*found) for name, *found in rows}
    return {name: counted.get(name, Spelling(0, 0, 0, 0)) for name in columns}
