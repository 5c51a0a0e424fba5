"""Levels of categories, counted by the engine: one ``GROUP BY`` for several columns or samples.

Of each sample the most frequent levels come back, with the numbers of all its levels and rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dkmd.sources.engines.aggregate import ONE_PASS, SAMPLE
from dkmd.sources.engines.backends import Engine
from dkmd.sources.engines.column_types import level_literal, level_text
from dkmd.sources.engines.fetched import Columns, is_null
from dkmd.sources.keys import ABSENT, BETWEEN, RARE, KeyPart
from dkmd.sources.level_counts import MOST_LEVELS, Counted, level_word
from dkmd.sources.number_words import SHOWN, parse_number

LEVEL = "level"
"""The column of levels in a long table; the column ``sample`` says whose level it is."""


def one_below_the_other(table: Any, columns: Mapping[str, Any], dialect: str) -> Any:
    """Columns of text as one long table; ``columns`` maps the names of samples to columns.

    DuckDB reads columns one by one anyway. Other engines read each row once.
    """
    import ibis

    if len(columns) == 1 or dialect not in ONE_PASS:
        parts = [
            table.select(**{SAMPLE: ibis.literal(name), LEVEL: column})
            for name, column in columns.items()
        ]
        return ibis.union(*parts) if len(parts) > 1 else parts[0]
    if dialect == "pyspark":  # Spark unnests only one array per query
        each = [
            ibis.struct({SAMPLE: ibis.literal(n), LEVEL: column}) for n, column in columns.items()
        ]
        long = table.select(each=ibis.array(each).unnest())
        return long.select(long.each[SAMPLE].name(SAMPLE), long.each[LEVEL].name(LEVEL))
    names = ibis.array([ibis.literal(name) for name in columns])
    return table.select(
        **{SAMPLE: names.unnest(), LEVEL: ibis.array(list(columns.values())).unnest()}
    )


def most_frequent(engine: Engine, long: Any) -> list[Counted]:
    """The most frequent levels of each sample of a long table."""
    import ibis

    counted = long.group_by([SAMPLE, LEVEL]).aggregate(count=long.count())
    each = ibis.window(group_by=counted[SAMPLE])
    # missing values come first, so that they are never left out
    order = [ibis.desc(counted[LEVEL].isnull()), ibis.desc(counted["count"]), counted[LEVEL]]
    rank = ibis.row_number().over(ibis.window(group_by=counted[SAMPLE], order_by=order))
    ranked = counted.mutate(
        levels=counted.count().over(each), rows=counted["count"].sum().over(each), rank=rank
    )
    return _rows(engine.run(ranked.filter(ranked["rank"] < MOST_LEVELS)))


def _rows(found: Columns) -> list[Counted]:
    """The rows of the result. Doubles in the column of levels hold NaN for missing values."""
    rows = zip(
        *(found[name].tolist() for name in (SAMPLE, LEVEL, "count", "levels", "rows")), strict=True
    )
    return [
        Counted(str(sample), level_word(level), int(n), int(levels), int(of))
        for sample, level, n, levels, of in rows
        if not is_null(sample)
    ]


def chosen_levels(engine: Engine, long: Any, levels: Sequence[str]) -> dict[str, int]:
    """How often chosen levels occur in a long table of text."""
    some = long.filter(long[LEVEL].isin(list(levels)))
    found = engine.run(some.group_by(LEVEL).aggregate(count=some.count()))
    return {
        str(level): int(n)
        for level, n in zip(found[LEVEL].tolist(), found["count"].tolist(), strict=True)
    }


def key_of_texts(texts: Sequence[Any], parts: Sequence[KeyPart]) -> Any:
    """The key of each row, from its levels as text."""
    import ibis

    each = []
    for text, part in zip(texts, parts, strict=True):
        kept = text.notnull() if part.kept is None else text.isin(part.kept)
        each.append(ibis.cases((text.isnull(), ABSENT), (kept, text), else_=RARE))
    key = each[0]
    for text in each[1:]:
        key = key + BETWEEN + text
    return key


def as_text(column: Any) -> Any:
    """A column as text, NULL where it is missing."""
    kind = column.type()
    if kind.is_floating():
        column = column.nullif(math.nan)
    return column if kind.is_string() else column.cast("string")


def decimal_text(engine: Engine, table: Any, column: Any, level: str) -> str | None:
    """The text of the only decimal that equals a level: decimals are levels as text."""
    number = parse_number(level)
    if not column.type().is_decimal() or number is None or math.isnan(number):
        return None
    text = column.cast("string").name(SAMPLE)
    equal = table.filter(column.cast("float64") == number).select(text)
    found = engine.run(equal.distinct().limit(2))
    return str(found[SAMPLE][0]) if len(found[SAMPLE]) == 1 else None


def nearest_levels(engine: Engine, levels: Any, level: str) -> list[Any]:
    """The levels of a table of one column that are nearest to a level that it does not have."""
    import ibis

    some = levels.distinct().filter(lambda t: t[SAMPLE].notnull())
    kind = some[SAMPLE].type()
    below, above = some, None
    if level_text(kind, level) is not None:
        asked = level_literal(kind, level)
        below, above = some.filter(some[SAMPLE] < asked), some.filter(some[SAMPLE] >= asked)
    found = list(engine.run(below.order_by(ibis.desc(SAMPLE)).limit(SHOWN + 1))[SAMPLE])
    if above is not None:
        found += list(engine.run(above.order_by(SAMPLE).limit(SHOWN + 1))[SAMPLE])
    return found
