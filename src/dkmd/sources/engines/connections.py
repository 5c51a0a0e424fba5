"""Ways to an engine's tables: Ibis tables, DuckDB relations, Spark DataFrames, database URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dkmd.base.errors import EngineError, needs_packages
from dkmd.base.secrets import gist
from dkmd.base.spills import database_folder
from dkmd.sources.engines.backends import IbisEngine, RelationEngine
from dkmd.sources.engines.spark import readable_columns, spark_engine
from dkmd.sources.engines.tables import EngineTable
from dkmd.sources.engines.urls import URL, require_readable_url, shown, without_secrets
from dkmd.sources.memory.frames import FrameTable
from dkmd.sources.table import Table

EXTRAS = {"postgres": "postgres", "postgresql": "postgres", "pyspark": "spark"}
"""Extras of dkmd to install for a kind of URL; for others, Ibis has the extra."""


def open_engine_table(source: Any, name: str, where: Any = None) -> Table:
    """A table of an engine as a Table, or only its rows for which ``where`` is true."""
    source = _as_table(source)
    if _is_polars(source):  # its data are in this process, and it has no SQL
        return FrameTable((source if where is None else source.filter(where)).to_polars(), name)
    table = _engine_table(source, name)
    return table if where is None else table.filtered(where)


def _as_table(source: Any) -> Any:
    """A column of Ibis as a table of one column; other sources as they are."""
    if not hasattr(source, "get_backend") or hasattr(source, "schema"):
        return source
    if not hasattr(source, "value_counts"):
        raise TypeError("an expression of Ibis must be a table or a column, not a single value")
    return source.as_table()


def _is_polars(source: Any) -> bool:
    return hasattr(source, "get_backend") and str(source.get_backend().name) == "polars"


def _engine_table(source: Any, name: str) -> EngineTable:
    if isinstance(source, EngineTable):
        return source
    package = type(source).__module__.partition(".")[0]
    if package == "pyspark":
        engine = spark_engine(source.sparkSession)
        return EngineTable(engine.table(readable_columns(source)), name, engine)
    if package != "ibis":
        relation = RelationEngine(source)
        return EngineTable(relation.table, name, relation)
    known = getattr(source.op(), "name", None)  # a stored table has a name
    return EngineTable(source, str(known) if isinstance(known, str) else name)


@contextmanager
def tables_of(
    url: str, tables: Sequence[str], where: str | None = None
) -> Iterator[list[EngineTable]]:
    """Tables of a database by name: table, schema.table or catalogue.schema.table.

    ``where`` is a condition in the database's SQL. The connection is closed at the end.
    """
    backend = connect(url)
    engine = IbisEngine(backend)
    try:
        found = []
        for name in tables:
            table = _named(backend, name)
            rows = None if where is None else _chosen(engine, name, table.schema(), where)
            found.append(EngineTable(table, name, engine, rows))
        yield found
    finally:
        with suppress(Exception):  # a lost connection cannot be closed
            backend.disconnect()


def connect(url: str) -> Any:
    """An Ibis backend for a URL, also in SQLAlchemy's form. Errors never show the password."""
    found = URL.match(url)
    if found is None:
        raise ValueError("a database is named by a URL such as postgresql://user@host/database")
    scheme = found.group(1).lower()
    require_readable_url(url)
    if scheme == "sqlite":
        raise ValueError("sqlite is not supported because it has no NaN: read the file with DuckDB")
    # SQLAlchemy also names a driver: postgresql+psycopg://
    plain = URL.sub({"postgresql": "postgres"}.get(scheme, scheme) + "://", url)
    try:
        import ibis

        backend = _duckdb(plain) if scheme == "duckdb" else ibis.connect(plain)
        if backend.name == "postgres":
            # each transaction begins READ ONLY: a function in a condition could change rows.
            # A setting of the session could be undone by a function, and outlive it in a pool.
            backend.con.read_only = True
        return backend
    except (ImportError, ModuleNotFoundError) as error:
        extra = f"dkmd[{EXTRAS[scheme]}]" if scheme in EXTRAS else f"ibis-framework[{scheme}]"
        raise needs_packages(scheme, error, extra) from None
    except FileNotFoundError:
        raise
    except Exception as error:  # every engine has its own errors
        raise EngineError(
            f"cannot connect to {shown(url)}: {without_secrets(gist(error), url)}"
        ) from None


def _duckdb(url: str) -> Any:
    """A DuckDB file, opened for reading; a missing file is an error and is not created."""
    import ibis

    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    if path in ("", ":memory:", "/:memory:") or path.startswith("md:"):
        return ibis.connect(url)
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    options: dict[str, Any] = {k: v for k, v in parse_qsl(parts.query) if k != "read_only"}
    # by default, data that do not fit in memory would go to a folder beside the user's file
    with_spills = {"temp_directory": database_folder()} | options
    # this process may have the file open already, for reading or for writing
    for settings in ({"read_only": True} | with_spills, {"read_only": True} | options):
        try:
            return ibis.duckdb.connect(path, **settings)
        except Exception as error:
            if "different configuration" not in str(error):
                raise
    return ibis.duckdb.connect(path, **options)


def _named(backend: Any, table: str) -> Any:
    """A table by its name; parts with dots are quoted as in SQL."""
    parts = name_parts(table)
    database = tuple(parts[:-1]) or None
    try:
        return backend.table(parts[-1], database=database)
    except Exception as error:  # every engine has its own errors
        raise EngineError(f"there is no table {table} ({gist(error)})") from None


def _chosen(
    engine: IbisEngine, table: str, schema: Mapping[str, Any], where: str
) -> Callable[[Sequence[str]], Any]:
    """A function that gives columns of the rows for which a condition is true.

    The condition must be a single condition, without statements in it or after it. sqlglot writes
    it anew, without comments. Only the columns that are asked for are read, so the user needs no
    permission for the others.
    """
    import sqlglot
    from sqlglot import exp

    backend = engine.backend
    try:
        parsed = [each for each in sqlglot.parse(where, dialect=backend.dialect) if each]
    except sqlglot.errors.SqlglotError as error:
        raise ValueError(f"--where {where!r} is not a condition: {gist(error)}") from None
    statements = (exp.DML, exp.DDL, exp.Command)
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Condition) or parsed[0].find(*statements):
        raise ValueError(f"--where {where!r} is not a condition such as \"day = '2026-01-01'\"")
    *place, name = name_parts(table)
    where_kept = dict(zip(("db", "catalog"), reversed(place), strict=False))
    source = exp.table_(name, quoted=True, **where_kept)
    condition = parsed[0]

    def query(*chosen: exp.Expression) -> str:
        chosen_rows = exp.select(*chosen).from_(source).where(condition)
        return str(chosen_rows.sql(dialect=backend.dialect, comments=False))

    def rows(columns: Sequence[str]) -> Any:
        known = {column: schema[column] for column in columns}
        return backend.sql(query(*(exp.column(c, quoted=True) for c in known)), schema=known)

    one = query(exp.alias_(exp.Literal.number(1), "one"))
    try:  # the engine checks the condition, too; no row is read
        engine.run(backend.sql(one, schema={"one": "int32"}).limit(0))
    except EngineError as error:
        raise EngineError(f"--where {where!r}: {error}") from None
    return rows


def name_parts(table: str) -> list[str]:
    """The parts of a table's name: ``a."b.c"`` has the parts a and b.c.

    By hand, because names are taken as they are written: sqlglot's parser reads a--b as the table a
    with a comment, and x(1) as a function.
    """
    found = re.fullmatch(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*', table)
    if found is None:
        raise ValueError(f'{table!r} is not the name of a table: table, schema.table or "odd.name"')
    parts = re.findall(r'"((?:[^"]|"")+)"|([^".]+)', table)
    return [quoted.replace('""', '"') if quoted else plain for quoted, plain in parts]
