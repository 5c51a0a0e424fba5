"""Numbers and categories by one statement or by two: ``python benchmarks/one_statement.py``.

A drift inside an engine asks for sums per bin of its numbers, and for counts of the levels of its
categories. This script runs both as the package does, and as one statement (UNION ALL; on
PostgreSQL also one pass over the rows), on four columns of numbers and two of text.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import ibis
from timing import best_seconds

from dkmd.bins.grid import Grid
from dkmd.sources.engines.aggregate import (
    BELOW,
    BIN,
    SAMPLE,
    VALUE,
    Coordinates,
    per_bin,
    per_bin_of_columns,
)
from dkmd.sources.engines.level_queries import LEVEL, one_below_the_other

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # it starts the server
NUMBERS, TEXTS = ("a", "b", "c", "d"), ("country", "plan")
COLUMNS = (SAMPLE, LEVEL, BELOW, BIN, "count", "sum", "squares")
GRID = Coordinates.of(Grid(0.0, 0.125))

MADE = """SELECT {random} AS a, {random} AS b, {random} AS c, {random} AS d,
    'country ' || CAST({whole} % 40 AS VARCHAR) AS country,
    'plan ' || CAST({whole} % 5 AS VARCHAR) AS plan FROM {rows}"""


def numbers_of(table: Any, dialect: str) -> Any:
    """Sums per bin of the columns of numbers, as a scan asks for them."""
    if dialect == "postgres":
        grids = dict.fromkeys(NUMBERS, GRID)
        return per_bin_of_columns(table, grids, dialect, dict.fromkeys(NUMBERS))
    parts = [
        per_bin(table.select(**{SAMPLE: ibis.literal(n), VALUE: table[n]}), GRID, dialect)
        for n in NUMBERS
    ]
    return ibis.union(*parts)


def levels_of(table: Any, dialect: str) -> Any:
    """Counts of the levels of the columns of text."""
    long = one_below_the_other(table, {name: table[name] for name in TEXTS}, dialect)
    return long.group_by([SAMPLE, LEVEL]).aggregate(count=long.count())


def as_one(table: Any, dialect: str) -> Any:
    """Both by one statement, whose rows have the columns of both."""
    numbers, levels = numbers_of(table, dialect), levels_of(table, dialect)
    nothing = ibis.null().cast("float64")
    numbers = numbers.mutate(**{LEVEL: ibis.null().cast("string")})
    levels = levels.mutate(
        **{BELOW: ibis.null().cast("boolean"), BIN: nothing, "sum": nothing, "squares": nothing}
    )
    sides = [
        side.select(
            *(side[name].cast("int64") if name == "count" else side[name] for name in COLUMNS)
        )
        for side in (numbers, levels)
    ]
    return ibis.union(*sides)


def one_pass(table: Any, _dialect: str) -> Any:
    """Both by one pass: each row becomes six, with a level or an offset."""
    nothing, no_text = ibis.null().cast("float64"), ibis.null().cast("string")
    names = [*NUMBERS, *TEXTS]
    offsets = [(table[n] - GRID.center) / GRID.unit for n in NUMBERS] + [nothing] * len(TEXTS)
    levels = [no_text] * len(NUMBERS) + [table[n] for n in TEXTS]
    long = table.select(
        **{
            SAMPLE: ibis.array([ibis.literal(n) for n in names]).unnest(),
            LEVEL: ibis.array(levels).unnest(),
            "u": ibis.array(offsets).unnest(),
        }
    )
    k = ((1.0 + long.u.abs()).ln() * 128.0).floor()
    binned = long.mutate(**{BELOW: long.u < 0.0, BIN: k})
    return binned.group_by([SAMPLE, LEVEL, BELOW, BIN]).aggregate(
        count=binned.count(), sum=binned.u.sum(), squares=(binned.u * binned.u).sum()
    )


@contextmanager
def _duckdb(rows: int) -> Iterator[Any]:
    backend = ibis.duckdb.connect()
    made = MADE.format(
        random="-ln(random())", whole="CAST(random() * 1000 AS INT)", rows=f"range({rows})"
    )
    backend.raw_sql(f"CREATE TABLE t AS {made}")
    yield backend


@contextmanager
def _postgres(rows: int) -> Iterator[Any]:
    from engines import servers

    with (
        tempfile.TemporaryDirectory(prefix="dkmd-engine-") as folder,
        servers.postgres(Path(folder)) as server,
    ):
        backend = ibis.connect(server.url.replace("postgresql", "postgres"))
        made = MADE.format(
            random="-ln(1.0 - random())", whole="CAST(random() * 1000 AS INT)",
            rows=f"generate_series(1, {rows})",
        )  # fmt: skip
        backend.raw_sql(f"CREATE TABLE t AS {made}")
        backend.raw_sql("ANALYZE t")
        yield backend
        backend.disconnect()


def main() -> None:
    """Print the seconds of each way on each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print("| engine | numbers | categories | both, two statements | one statement | one pass |")
    print("|---|---|---|---|---|---|")
    for name, open_engine in (("duckdb", _duckdb), ("postgres", _postgres)):
        with open_engine(given.rows) as backend:
            table = backend.table("t")
            ways = [numbers_of, levels_of, as_one, *([one_pass] if name == "postgres" else [])]
            runs = (partial(backend.to_pyarrow, way(table, name)) for way in ways)
            seconds = best_seconds(*runs, rounds=given.rounds, budget=60.0)
            seconds.insert(2, seconds[0] + seconds[1])
            shown = [f"{each:.2f} s" for each in seconds] + ["–"] * (5 - len(seconds))
            print(f"| {name} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
