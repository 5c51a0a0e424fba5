"""Errors of DuckDB as errors of this package, with one line of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dkmd.base.secrets import gist


def _of_csv(message: str) -> str:
    """A plain sentence for the usual faults of CSV files; empty for other messages."""
    line = re.search(r"CSV Error on Line: (\d+)\s+Original Line: ?(.*)", message)
    if line is None:
        return ""
    text = line[2] if len(line[2]) <= 60 else f"{line[2][:57]}..."
    where = f"line {int(line[1]):,}, {text!r},"
    cells = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if cells is not None:
        many = "more" if int(cells[2]) > int(cells[1]) else "fewer"
        return f"{where} has {many} than {cells[1]} cells: quote cells that hold the separator"
    return f"{where} has a quote that is not closed" if "unterminated quote" in message else ""


@contextmanager
def duckdb_errors(
    kind: type[ValueError], of_values: type[ValueError] | None = None
) -> Iterator[None]:
    """Raise errors of DuckDB as ``kind``, and Ctrl-C during a query as KeyboardInterrupt.

    ``of_values`` is raised for a value that the type of its column cannot hold.
    """
    import duckdb

    try:
        yield
    except duckdb.DataError as error:
        raise (of_values or kind)(_of_csv(str(error)) or gist(error)) from None
    except duckdb.Error as error:
        raise kind(_of_csv(str(error)) or gist(error)) from None
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
