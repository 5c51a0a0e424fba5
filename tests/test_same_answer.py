"""The same rows give the same answer: in every format, and in every order of the rows.

A table of messy columns is kept in every format and asked the same questions. Answers are compared
as whole JSON documents.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from dkmd import Comparison, compare, drift

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

ROWS = (400, 360)
START = datetime.datetime(2024, 1, 1, 12)

TYPES = {
    "visits": pa.int64(), "maybe": pa.bool_(), "seen": pa.int64(), "day": pa.date32(),
    "at": pa.timestamp("us"), "zoned": pa.timestamp("us", "UTC"), "label": pa.string(),
    "mixed": pa.string(), "gone": pa.float64(),
}  # fmt: skip
"""Types of columns with missing values and of dates."""


def _columns(side: int) -> dict[str, list[Any]]:
    """The columns of reference (0) or current (1)."""
    rng, rows = np.random.default_rng([11, side]), ROWS[side]

    def some(share: float) -> list[bool]:
        return [bool(v) for v in rng.random(rows) < share]

    def gaps(values: Any, share: float = 0.2) -> list[Any]:
        return [None if gap else v for v, gap in zip(values, some(share), strict=True)]

    def later(unit: str, values: Any) -> list[datetime.timedelta]:
        return [datetime.timedelta(**{unit: int(v)}) for v in values]

    ms = rng.normal(100.0 + 3.0 * side, 10.0, rows).round(3).tolist()
    spent = rng.lognormal(3.0 + side, 1.0, rows).round(2).tolist()
    cities, shares = ["Rome", "Oslo", "New York", "São Paulo", "a,b"], [0.4, 0.2, 0.2, 0.1, 0.1]
    words = ["12", "x", "y z", "7", "1e5", "O'Neil"]
    return {
        "ms": ms,
        "flag": [int(v) for v in some(0.3 + 0.1 * side)],
        "ok": some(0.6 + 0.1 * side),
        "maybe": gaps(some(0.5 + 0.2 * side)),
        "seen": gaps([int(v) for v in some(0.4 + 0.2 * side)], 0.3),
        "visits": gaps(rng.poisson(3 + side, rows).tolist()),
        "level": rng.choice([1, 2, 3], rows, p=[0.5 - 0.2 * side, 0.3, 0.2 + 0.2 * side]).tolist(),
        "day": [START.date() + d for d in later("days", rng.integers(0, 60, rows) + 5 * side)],
        "at": gaps([START + d for d in later("seconds", rng.integers(0, 10**6, rows))], 0.1),
        "zoned": [
            START.replace(tzinfo=datetime.UTC) + d
            for d in later("seconds", rng.integers(0, 10**6, rows) + 10**5 * side)
        ],
        "city": rng.choice(cities, rows, p=shares[:: 1 - 2 * side]).tolist(),
        "mixed": gaps(rng.choice(words, rows, p=[0.1, 0.3, 0.3, 0.1, 0.1, 0.1]).tolist(), 0.1),
        "label": gaps(rng.choice([*"abcd"], rows).tolist(), 0.15 + 0.1 * side),
        "spent": [v if paid else 0.0 for v, paid in zip(spent, some(0.1), strict=True)],
        "sorted": np.sort(rng.normal(0.0, 1.0, rows)).round(4).tolist(),
        "quarter": (rng.integers(0, 8, rows) / 4 + side / 4).tolist(),
        "tiny": rng.normal(0.0, 1e-9, rows).tolist(),
        "slow": [math.inf if late else v for v, late in zip(ms, some(0.1), strict=True)],
        "gone": gaps(ms, 0.1),
        "constant": [7] * rows,
        "one word": ["same"] * rows,
        "id": list(range(1000, 1000 + rows)),
        "code": [f"u{v:08d}" for v in rng.permutation(rows) + rows * side],
        "weight": rng.uniform(1.0, 2.0, rows).round(3).tolist(),
        "copies": rng.integers(1, 4, rows).tolist(),
        "unit": [f"u{v}" for v in rng.integers(0, 40, rows)],
        "two words": [["red", "blue"][v] for v in some(0.4 + 0.15 * side)],
        "crossing": rng.normal(0.0, 1.0 + side, rows).round(4).tolist(),
    }


@cache
def _tables() -> tuple[pa.Table, pa.Table]:
    first, second = (
        pa.table({name: pa.array(v, TYPES.get(name)) for name, v in _columns(side).items()})
        for side in (0, 1)
    )
    return first, second


def _whole(table: pa.Table) -> pd.DataFrame:
    """A frame in which whole numbers with gaps stay whole numbers."""
    types = {
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
        pa.string(): pd.StringDtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=types.get)
    return frame


def _separated(name: str, separator: str) -> Callable[[pa.Table, Path], Path]:
    def keep(table: pa.Table, folder: Path) -> Path:
        _whole(table).to_csv(folder / name, index=False, sep=separator)
        return folder / name

    return keep


def _json(table: pa.Table, folder: Path) -> Path:
    rows = [
        {k: str(v) if v == math.inf else v for k, v in row.items()} for row in table.to_pylist()
    ]
    (folder / "t.json").write_text(json.dumps(rows, default=str))
    return folder / "t.json"


def _lines(table: pa.Table, folder: Path) -> Path:
    """One object per line. Keys without a value are left out, but in the first line."""
    first, *rest = table.to_pylist()
    rows = [first, *({k: v for k, v in row.items() if v is not None} for row in rest)]
    (folder / "t.ndjson").write_text("\n".join(json.dumps(row, default=_iso) for row in rows))
    return folder / "t.ndjson"


def _iso(value: Any) -> str:
    return str(value.isoformat())


def _parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def _arrow(table: pa.Table, folder: Path) -> Path:
    feather.write_feather(table, str(folder / "t.arrow"))
    return folder / "t.arrow"


def _duckdb_table(table: pa.Table, folder: Path) -> Any:
    return ibis.duckdb.connect().create_table("t", table)


def _relation(table: pa.Table, folder: Path) -> Any:
    path = _parquet(table, folder)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT * FROM '{path}'")
    return connection.table("t")


Keep = Callable[[pa.Table, Path], Any]
HELD: dict[str, Keep] = {
    "pandas": lambda table, _: table.to_pandas(),
    "pandas with NA": lambda table, _: _whole(table),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy polars": lambda table, _: pl.LazyFrame(pl.from_arrow(table)),
    "csv": _separated("t.csv", ","),
    "tsv": _separated("t.tsv", "\t"),
    "json": _json,
    "ndjson": _lines,
    "parquet": _parquet,
    "arrow": _arrow,
}
ENGINES: dict[str, Keep] = {"duckdb table": _duckdb_table, "duckdb relation": _relation}

Ask = Callable[[Any, Any], Any]


def _of(column: str, **options: Any) -> Ask:
    return lambda old, new: compare(old, new, column=column, **options)


def _by(by: str, reference: Any, current: Any = None, column: str = "ms") -> Ask:
    return lambda old, _: compare(old, column=column, by=by, reference=reference, current=current)


QUESTIONS: dict[str, Ask] = {
    "drift": drift,
    "drift of units": lambda old, new: drift(old, new, groups="unit"),
    **{f"of {name}": _of(name) for name in _columns(0)},
    "by flag": _by("flag", 0, 1),
    "by ok": _by("ok", False, True),
    "by maybe": _by("maybe", "false", "true", "city"),
    "by city": _by("city", "Rome"),
    "by level": _by("level", 1),
    "by visits": _by("visits", 2, 3),
    "by day": _by("day", "2024-01-03", "2024-01-04", "city"),
    **{f"groups {name}": _of("ms", groups=name) for name in ("unit", "level", "flag", "day", "ok")},
    "categories of units": _of("city", groups="unit"),
    "paired by id": _of("ms", pair_by="id"),
    "paired by unit": _of("ms", pair_by="unit"),
    "weights": _of("ms", weights="weight"),
    "counts": _of("ms", counts="copies"),
    "strata": _of("ms", strata="city", randomized=True),
    "strata with gaps": _of("ms", strata="label", randomized=True),
    "covariate": _of("ms", covariate="tiny", randomized=True),
    **{f"segments {s}": _of("ms", segments=[s]) for s in ("city", "label", "ok", "level", "day")},
    "margin": _of("ms", margin="3%"),
    "together": lambda old, new: compare(old, new, together=["ms", "spent", "quarter"]),
    "missing labels": _of("ms", groups="label"),
    "missing values": _of("gone", nan_policy="raise"),
    "words among numbers": _of("ms", covariate="mixed", randomized=True),
}


def _answer(ask: Ask, old: Any, new: Any) -> Any:
    """The JSON document of an answer, or the message of an error, without names of sources."""
    try:
        document = ask(old, new).to_json()
    except (ValueError, TypeError) as error:
        message = re.sub(r"\S*/[01]/t\.\w+|\bt\.\w+\b|\b(reference|current)\b", "T", str(error))
        return {"error": re.sub(r", row [\d,]+(: .+ is not)?", ", row", message)}
    return json.loads(re.sub(r"[\w.]+(?=: \d+ rows have no label)", "T", document))


@cache
def _expected(question: str) -> Any:
    return _answer(QUESTIONS[question], *_tables())


def _leaves(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict | list):
        pairs = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in pairs:
            yield from _leaves(value, f"{path}/{key}")
    else:
        yield path, document


def _differences(
    expected: Any, found: Any, near: float, but: str = "(?!)"
) -> list[tuple[str, Any, Any]]:
    """Where two documents differ, by more than ``near`` if it is a number, but for some paths."""
    old, new = dict(_leaves(expected)), dict(_leaves(found))
    lost = object()
    return [
        (path, old.get(path, "nothing"), new.get(path, "nothing"))
        for path in {**old, **new}
        if not re.search(but, path) and not _alike(old.get(path, lost), new.get(path, lost), near)
    ]


def _alike(one: Any, other: Any, near: float) -> bool:
    both = one, other
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in both):
        return math.isclose(one, other, rel_tol=near, abs_tol=near)
    return bool(one == other)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Any]]:
    """Both tables in a format, written once."""

    @cache
    def keep(name: str) -> list[Any]:
        sides = []
        folder = tmp_path_factory.mktemp("same")
        for side, table in enumerate(_tables()):
            (folder / str(side)).mkdir()
            sides.append((HELD | ENGINES)[name](table, folder / str(side)))
        return sides

    return keep


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_format_gives_the_same_answer(
    question: str, name: str, kept: Callable[[str], list[Any]]
) -> None:
    """To the last digit: the numbers that are compared are the same."""
    found = _answer(QUESTIONS[question], *kept(name))
    assert _differences(_expected(question), found, 0.0) == []


BINNED = r"/together|neighbour_correlation|/quantiles/|/percentiles/"
"""Rows of an engine have no order and stay there, so it has no correlations of neighbours and no
test of columns together. Percentiles are read off bins. With groups there is no mean."""

NEED_ROWS = (
    "drift of units", "categories of units", "together",
    "missing labels", "missing values", "words among numbers",
)  # fmt: skip
"""Questions that an engine refuses or answers in part, because rows stay there, or whose errors
name a row."""


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("question", [q for q in QUESTIONS if q not in NEED_ROWS])
def test_an_engine_gives_the_same_answer(
    question: str, name: str, kept: Callable[[str], list[Any]]
) -> None:
    """The default scale is read off bins, to 0.2%; shifts and p-values hardly depend on it.

    If units weigh values, a rounding error of a weight can move the median by a value: 1%.
    """
    found, expected, but = _answer(QUESTIONS[question], *kept(name)), _expected(question), BINNED
    if question.startswith("groups"):
        expected, but = _without_mean(expected), rf"{BINNED}|/mean|/correction|/adjusted_pvalue$"
    if question.startswith("paired"):
        assert found["scale"] == pytest.approx(expected["scale"], rel=0.01)
        but = rf"{BINNED}|^/scale$"
    assert _differences(expected, found, 2e-3, but) == []


def _without_mean(document: Any) -> Any:
    """An answer without the finding on the mean, for which the others are corrected."""
    return document | {
        "changed": [what for what in document["changed"] if what != "mean"],
        "findings": [each for each in document["findings"] if each["what"] != "mean"],
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_order_of_rows_does_not_change_the_answer(question: str, seed: int) -> None:
    """Intervals are roots, found to 1e-8 of the scale, which may be larger than the numbers."""
    rng = np.random.default_rng([13, seed])
    old, new = (table.take(pa.array(rng.permutation(table.num_rows))) for table in _tables())
    found = _answer(QUESTIONS[question], old, new)
    assert _differences(_expected(question), found, 1e-7) == []


@pytest.mark.parametrize("words", [("No", "Yes"), ("n", "Y"), ("f", "t")])
def test_words_for_yes_and_no_are_yes_no_data_in_every_format(
    tmp_path: Path, words: tuple[str, str]
) -> None:
    """Counts of words have no order of rows, so only CSV can tell whether neighbours are alike."""
    rng = np.random.default_rng(17)
    sides = [
        pd.DataFrame({"churn": [words[int(v)] for v in rng.random(400) < share]})
        for share in (0.3, 0.45)
    ]
    sides[1].loc[:20, "churn"] = None
    found = {"pandas": compare(*sides, column="churn")}
    writers: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
        "csv": lambda frame, path: frame.to_csv(path, index=False, na_rep="#N/A"),
        "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t", na_rep="NA"),
        "json": lambda frame, path: frame.to_json(path, orient="records"),
        "parquet": lambda frame, path: frame.to_parquet(path),
        "arrow": lambda frame, path: frame.to_feather(path),
    }
    for ending, write in writers.items():
        paths = [tmp_path / f"{name}.{ending}" for name in ("old", "new")]
        for frame, path in zip(sides, paths, strict=True):
            write(frame, path)
        found[ending] = compare(*paths, column="churn")
    for name, answer in found.items():
        assert isinstance(answer, Comparison), name
        assert (answer.kind, answer.verdict) == ("yes/no", "higher"), name
        assert (answer.reference.size, answer.current.size, answer.current.nan) == (400, 379, 21)
    exact = {(a.shift, a.pvalue, a.shift_interval) for a in found.values()}
    assert len(exact) == 1
