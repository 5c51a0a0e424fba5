"""Time and memory at any size and on any engine, as ratios to the engine's own avg and var.

``make bench-scale`` writes benchmarks/scale.json and the table of docs/scale.md. It takes half an
hour and up to 10 GB below build/, which it deletes afterwards. ``--only`` runs some parts.
``--largest`` sets the rows of the largest file. The exit code is 1 if a number is above its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import ttest_ind
from timing import best_seconds, extra_mebibytes, machine, peak_of_command

from dkmd import compare, drift

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))  # it starts the servers of engines
OUTPUT = HERE / "scale.json"
PAGE = HERE.parent / "docs" / "scale.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
BUILD = HERE.parent / "build" / "scale"
ROW_GROUP = 1_000_000


@dataclass(frozen=True)
class Measured:
    """One number and its limit."""

    part: str
    what: str
    against: str
    ours: str
    theirs: str
    number: float
    unit: str
    at_most: float | None

    @property
    def too_much(self) -> bool:
        """Whether it is above its limit."""
        return self.at_most is not None and self.number > self.at_most


def main() -> int:
    """Measure, print, write."""
    asked = _arguments()
    BUILD.mkdir(parents=True, exist_ok=True)
    kept = json.loads(OUTPUT.read_text())["measured"] if OUTPUT.exists() else []
    measured = [Measured(**row) for row in kept]
    try:
        for name in asked.only:
            measured = [row for row in measured if row.part != name]
            for row in PARTS[name](asked):
                print(_line(row), flush=True)
                measured.append(row)
            measured.sort(key=lambda row: list(PARTS).index(row.part))
            _write(measured)
    finally:
        shutil.rmtree(BUILD, ignore_errors=True)
    above = [row for row in measured if row.too_much]
    print(f"\n{len(above)} of {sum(row.at_most is not None for row in measured)} above their limit")
    return 1 if above else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--largest", type=float, default=1e8, help="rows of the largest file")
    return parser.parse_args()


def _ratio(
    part: str, what: str, against: str, ours: float, theirs: float, at_most: float | None
) -> Measured:
    shown = f"{ours:.3g} s", f"{theirs:.3g} s"
    return Measured(part, what, against, *shown, ours / theirs, "×", at_most)


def _memory(part: str, what: str, mebibytes: float, at_most: float | None) -> Measured:
    return Measured(part, what, "", "", "", mebibytes, "MiB", at_most)


def in_memory(_: argparse.Namespace) -> Iterator[Measured]:
    """compare of float64 arrays, against SciPy's Welch test."""
    for n in (50_000_000, 100_000_000):
        for name, make in (("normal", _normal), ("latency", _latency)):
            a, b = _against_welch(make(0, n), make(1, n))
            what = f"compare, 2 × {n:.0e} {name} values"
            yield _ratio("memory", what, "scipy ttest_ind (Welch)", a, b, 0.8)
    setup = (
        "import numpy as np; from dkmd import compare\n"
        "rng = np.random.default_rng(0)\n"
        "warm = rng.standard_normal(3_000_000); compare(warm, warm + 0.1)\n"
        "x, y = (rng.standard_normal(50_000_000) + 10.0 for _ in range(2))"
    )
    extra = extra_mebibytes(setup, "compare(x, y)")
    yield _memory("memory", "beyond the input, 2 × 5e+07 values", extra, 100e6 / 2**20)


def _against_welch(x: np.ndarray, y: np.ndarray) -> list[float]:
    return best_seconds(
        lambda: compare(x, y), lambda: ttest_ind(x, y, equal_var=False), budget=20.0
    )


def _normal(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.001 * seed, 1.0, n)


def _latency(seed: int, n: int) -> np.ndarray:
    """Positive values, which have percentages as well."""
    return 80.0 + 5.0 * np.random.default_rng(seed).standard_gamma(4.0, n) + 0.01 * seed


def many_columns(_: argparse.Namespace) -> Iterator[Measured]:
    """drift of tables of 100,000 rows, in memory and in Parquet files."""
    old, new = (_wide(seed, 1_000) for seed in (0, 1))
    yield from _drifts("pandas", lambda names: drift(old[names], new[names]))
    first, second = BUILD / "old.parquet", BUILD / "new.parquet"
    old.to_parquet(first)
    new.to_parquet(second)
    yield from _drifts("Parquet", lambda names: drift(first, second, columns=names))


def _drifts(kind: str, run: Callable[[list[str]], object]) -> Iterator[Measured]:
    """Measure 250, 500 and 1,000 columns. A constant time per column means linear cost."""
    for columns in (250, 500, 1_000):
        names = [f"c{i}" for i in range(columns)]
        seconds = _fastest(partial(run, names), 2)
        each = f"{1e3 * seconds / columns:.1f} ms a column"
        limit = 30.0 if columns == 1_000 else None
        what = f"drift of {kind}, {columns:,} columns"
        yield Measured("drift", what, "", each, "", seconds, "s", limit)


def _wide(seed: int, columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = 100_000

    def column(i: int) -> np.ndarray:
        values = rng.standard_normal(rows) if i % 2 else 80.0 + 5.0 * rng.standard_gamma(4.0, rows)
        return values + (0.1 * seed if i % 10 == 0 else 0.0)

    return pd.DataFrame({f"c{i}": column(i) for i in range(columns)})


def _fastest(function: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


AVG_AND_VAR = "SELECT variant, avg(v), var_samp(v) FROM {table} GROUP BY variant"


def duck(asked: argparse.Namespace) -> Iterator[Measured]:
    """compare of two levels in one Parquet file, from a million rows up."""
    import duckdb

    sizes = [size for size in (10**6, 10**7, 10**8, 10**9) if size <= asked.largest]
    for rows in sizes:
        path = BUILD / f"{rows:.0e}.parquet"
        write_variants(path, rows)
        own = duckdb.connect()
        query = AVG_AND_VAR.format(table=f"'{path}'")
        options: dict[str, Any] = {"by": "variant", "reference": "A", "current": "B"}
        a, b = best_seconds(
            lambda: compare(str(path), column="v", **options),  # noqa: B023
            lambda: own.execute(query).fetchall(),  # noqa: B023
            budget=20.0,
        )
        limit = 4.0 if rows >= 10**8 else None
        yield _ratio("duckdb", f"compare, {rows:.0e} rows", "its avg and var", a, b, limit)
        if rows >= 10**8:
            yield from _duck_memory(path, rows)
        path.unlink()


def _duck_memory(path: Path, rows: int) -> Iterator[Measured]:
    """Peak memory of the whole command, Python included."""
    command = [str(Path(sys.executable).with_name("dkmd")), "compare", str(path), "--column", "v"]
    command += ["--by", "variant", "--reference", "A", "--current", "B", "--quiet"]
    for more in ([], ["--memory", "500MB"]):
        seconds, mebibytes = peak_of_command([*command, *more])
        what = " ".join(["dkmd compare", *more]) + f", {rows:.0e} rows, {seconds:.1f} s"
        yield _memory("duckdb", what, mebibytes, 1e9 / 2**20)


def write_variants(path: Path, rows: int) -> None:
    """Write seeded latencies of two variants, a million rows at a time."""
    rng = np.random.default_rng(rows)
    kind = pa.dictionary(pa.int8(), pa.string())
    schema = pa.schema([("variant", kind), ("v", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, ROW_GROUP):
            n = min(ROW_GROUP, rows - start)
            code = rng.integers(0, 2, n, dtype=np.int8)
            values = 80.0 + 5.0 * rng.standard_gamma(4.0, n) + 0.01 * code
            variant = pa.DictionaryArray.from_arrays(code, ["A", "B"])
            writer.write_table(pa.table([variant, values], schema=schema), row_group_size=ROW_GROUP)


TABLE_ROWS = 20_000_000

SHAPES = {
    "latency": "80 - 5 * ln((1 - random()) * (1 - random()) * (1 - random()) * (1 - random()))",
    "lognormal": "exp(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))",
}
"""Values in DuckDB's SQL. Values near 0 need narrower bins for the percentage."""


def through_ibis(_: argparse.Namespace) -> Iterator[Measured]:
    """compare of two levels in a DuckDB table, passed as an Ibis table."""
    import ibis

    for shape, value in SHAPES.items():
        own = ibis.duckdb.connect(threads=os.cpu_count())
        own.raw_sql("SELECT setseed(0.5)")
        variant = "CASE WHEN random() < 0.5 THEN 'A' ELSE 'B' END AS variant"
        rows = f"SELECT {variant}, {value} AS v FROM range({TABLE_ROWS})"
        own.raw_sql(f"CREATE TABLE requests AS {rows}")
        table, query = own.table("requests"), AVG_AND_VAR.format(table="requests")
        options: dict[str, Any] = {"by": "variant", "reference": "A", "current": "B"}
        a, b = best_seconds(
            lambda: compare(table, column="v", **options),  # noqa: B023
            lambda: own.raw_sql(query).fetchall(),  # noqa: B023
            budget=20.0,
        )
        what = f"compare, {TABLE_ROWS:.0e} {shape} rows"
        yield _ratio("ibis", what, "DuckDB's avg and var", a, b, 4.0)
        own.disconnect()


ENGINE_ROWS = 5_000_000


def postgres(_: argparse.Namespace) -> Iterator[Measured]:
    """compare of a table, against PostgreSQL's own avg and var, with warm caches."""
    import ibis
    import psycopg
    from engines import servers

    folder = Path(tempfile.mkdtemp(prefix="dkmd-scale-"))
    with servers.postgres(folder) as server, psycopg.connect(server.url) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE requests (variant text, v float8)")
        with cursor.copy("COPY requests FROM STDIN") as copy:
            for variant, value in _requests():
                copy.write_row((variant, value))
        connection.commit()
        cursor.execute("ANALYZE requests")
        table = ibis.connect(server.url.replace("postgresql", "postgres")).table("requests")
        yield from _engine("postgres", table, lambda sql: cursor.execute(sql).fetchall())
    shutil.rmtree(folder, ignore_errors=True)


def spark(_: argparse.Namespace) -> Iterator[Measured]:
    """compare of a cached dataframe, against Spark's own avg and var, with warm caches."""
    from engines import servers

    path = BUILD / "spark.parquet"
    write_variants(path, ENGINE_ROWS)
    folder = Path(tempfile.mkdtemp(prefix="dkmd-scale-"))
    with servers.spark(folder) as session:
        frame = session.read.parquet(str(path)).repartition(2).cache()
        frame.createOrReplaceTempView("requests")
        yield from _engine("spark", frame, lambda sql: session.sql(sql).collect())
    shutil.rmtree(folder, ignore_errors=True)


def _engine(name: str, table: Any, run: Callable[[str], object]) -> Iterator[Measured]:
    options: dict[str, Any] = {"by": "variant", "reference": "A", "current": "B"}
    own = partial(run, AVG_AND_VAR.format(table="requests"))
    a, b = best_seconds(lambda: compare(table, column="v", **options), own, budget=30.0)
    yield _ratio(name, f"compare, {ENGINE_ROWS:.0e} rows", "its avg and var", a, b, 5.0)


def _requests() -> Iterator[tuple[str, float]]:
    rng = np.random.default_rng(0)
    for _ in range(ENGINE_ROWS // ROW_GROUP):
        code = rng.integers(0, 2, ROW_GROUP)
        values = 80.0 + 5.0 * rng.standard_gamma(4.0, ROW_GROUP) + 0.01 * code
        yield from zip(np.where(code == 1, "B", "A").tolist(), values.tolist(), strict=True)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Measured]]] = {
    "memory": in_memory,
    "drift": many_columns,
    "duckdb": duck,
    "ibis": through_ibis,
    "postgres": postgres,
    "spark": spark,
}


def _line(row: Measured) -> str:
    limit = "" if row.at_most is None else f" (at most {row.at_most:.3g})"
    number = f"{row.number:.3g} {row.unit}{limit}"
    return f"{row.part:9}{row.what:50}{row.ours:>22}{row.theirs:>10}  {number}"


def _write(measured: list[Measured]) -> None:
    """Write the numbers as JSON, and as the table of docs/scale.md."""
    extra = ("duckdb", "pandas", "pyarrow", "dask", "ibis-framework", "pyspark")
    known = machine() | {"cores": str(os.cpu_count())}
    for name in extra:
        with suppress(PackageNotFoundError):
            known[name] = version(name)
    result = {"machine": known, "measured": [asdict(row) for row in measured]}
    OUTPUT.write_text(json.dumps(result, indent=1) + "\n")
    if not PAGE.exists():
        return
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    versions = ", ".join(f"{name} {number}" for name, number in known.items())
    table = ["| | | ours | theirs | | at most |", "|---|---|---|---|---|---|"]
    for row in measured:
        against = f" against {row.against}" if row.against else ""
        limit = "" if row.at_most is None else f"{row.at_most:.3g}"
        number = f"{row.number:.3g} {row.unit}"
        what = f"{row.part} | {row.what}{against}"
        table.append(f"| {what} | {row.ours} | {row.theirs} | {number} | {limit} |")
    block = f"{BEGIN}\n{chr(10).join(table)}\n\n{versions}.\n{END}"
    PAGE.write_text(before + block + after)


if __name__ == "__main__":
    sys.exit(main())
