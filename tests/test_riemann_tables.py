"""The paper's estimator on tables: sorted by their engine, equal to arrays to 1e-10."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import ibis
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from dkmd import RiemannBlock, Witness, riemann
from dkmd.sources.engines import riemann as ranges

pytestmark = pytest.mark.slow

Samples = tuple[npt.NDArray[Any], npt.NDArray[Any]]
ODD = 'select "x"; --'
PSI = Witness(0.7, 1.3, center=0.2)


def samples(kind: str) -> Samples:
    """Two samples of one kind, of different sizes."""
    rng = np.random.default_rng(11)
    if kind == "whole numbers":
        return rng.integers(-3, 4, 3_000), rng.integers(-3, 5, 2_000)
    if kind == "one value":
        return np.full(10, 2.5), np.full(7, 2.5)
    x, y = rng.normal(0.0, 1.0, 3_000), rng.normal(0.3, 1.2, 2_000)
    if kind == "ties":
        return np.round(x, 1), np.round(y, 1)
    if kind == "heavy tails":
        return rng.standard_cauchy(3_000), rng.standard_cauchy(2_000) + 0.3
    return (x + 1e6, y + 1e6) if kind == "offset" else (x, y)


KINDS = ("normal", "ties", "whole numbers", "one value", "offset", "heavy tails")


@pytest.fixture
def connection() -> Iterator[Any]:
    """A separate DuckDB in memory."""
    found = ibis.duckdb.connect()
    yield found
    found.disconnect()


def _table(connection: Any, name: str, columns: dict[str, Any]) -> Any:
    connection.con.register(name, pa.table(columns))
    return connection.table(name)


def _tables(connection: Any, pair: Samples) -> list[Any]:
    return [
        _table(connection, name, {ODD: values, "other": values})
        for name, values in zip("xy", pair, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunk", [7, 500, 1 << 17])
def test_tables_give_what_arrays_give(
    kind: str, chunk: int, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any block size, and for any border that divides ties."""
    monkeypatch.setattr(ranges, "CHUNK", chunk)
    pair = samples(kind)
    expected = riemann(*pair, PSI)
    x, y = _tables(connection, pair)
    found = riemann(x, y, PSI, column=ODD)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10 * PSI.bound)


@pytest.fixture
def in_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB treated like a remote engine."""
    monkeypatch.setattr(ranges, "IN_PROCESS", ())

    def streamed(*arguments: Any) -> Any:
        raise AssertionError("values came here")

    monkeypatch.setattr(ranges, "_streamed", streamed)


@pytest.mark.usefixtures("in_ranges")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", ["tanh", "algebraic", "linear", "sign"])
def test_so_do_ranges_of_values(kind: str, weight: str, connection: Any) -> None:
    witness = Witness(0.7, 1.3, center=0.2, weight=weight)
    pair = samples(kind)
    expected = riemann(*pair, witness)
    x, y = _tables(connection, pair)
    found = riemann(x, y, witness, column=ODD)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10 * PSI.bound)


@pytest.mark.usefixtures("in_ranges")
@pytest.mark.parametrize("sigma", [1e-3, 0.03, 50.0])
def test_ranges_are_narrow_against_the_kernel_and_many_in_the_data(
    sigma: float, connection: Any
) -> None:
    pair = samples("normal")
    witness = Witness(sigma, 1.3)
    x, y = _tables(connection, pair)
    found = riemann(x, y, witness, column=ODD)
    assert found == pytest.approx(riemann(*pair, witness), rel=1e-10)


def test_only_ranges_come_back_from_an_engine_elsewhere(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "IN_PROCESS", ())
    found: list[int] = []
    in_order = ranges._in_order

    def counted(columns: Any, witness: Witness) -> Any:
        found.append(len(columns["low"]))
        return in_order(columns, witness)

    monkeypatch.setattr(ranges, "_in_order", counted)
    rng = np.random.default_rng(4)
    x, y = _tables(connection, (rng.normal(size=200_000), rng.normal(size=100_000)))
    riemann(x, y, PSI, column=ODD)
    assert 100 < found[0] < 400


@pytest.mark.parametrize("case", ["erf", "a function", "far"])
def test_what_ranges_cannot_do_is_streamed(
    case: str, connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that SQL cannot express, and values too far apart for ranges."""
    monkeypatch.setattr(ranges, "IN_PROCESS", ())
    weight: Any = {"erf": "erf", "a function": lambda u: u / (1.0 + abs(u))}.get(case, "tanh")
    witness = Witness(0.7, 1.3, weight=weight)
    first, second = samples("normal")
    first = first * 1e200 if case == "far" else first
    x, y = _tables(connection, (first, second))
    found = riemann(x, y, witness, column=ODD)
    assert found == pytest.approx(riemann(first, second, witness), rel=1e-10)


def test_points_that_tie_may_be_given_as_one() -> None:
    x, y = samples("ties")
    z, cell = np.unique(np.concatenate([x, y]), return_inverse=True)
    counts = np.bincount(cell[: x.size], minlength=z.size) / x.size
    counts = counts - np.bincount(cell[x.size :], minlength=z.size) / y.size
    block = RiemannBlock.of_runs(z, counts, PSI)
    assert block.total == pytest.approx(riemann(x, y, PSI), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "x has 1 value that is NaN or NULL: drop or fill them first"),
        (np.nan, "x has 1 value that is NaN or NULL"),
        (np.inf, "needs finite values"),
        (-np.inf, "needs finite values"),
    ],
)
def test_what_arrays_are_refused_for_tables_are_too(
    value: Any, message: str, connection: Any
) -> None:
    x = _table(connection, "x", {"v": pa.array([1.0, value, 2.0], pa.float64())})
    y = _table(connection, "y", {"v": [1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        riemann(x, y, PSI, column="v")


def test_tables_that_do_not_fit_are_named(connection: Any) -> None:
    x = _table(connection, "x", {"a": [1.0], "b": [1.0], "word": ["w"]})
    empty = x.filter(x.a > 5.0)
    for y, column, error, message in [
        (x, None, ValueError, "x has several columns"),
        (x, "c", ValueError, "x has no column 'c'"),
        (x, "word", TypeError, "holds text: cast it to a number"),
        (empty, "a", ValueError, "y is empty"),
        (np.ones(3), "a", TypeError, "both be Ibis tables"),
        (ibis.memtable(pa.table({"a": [1.0]})), "a", TypeError, "one connection"),
        (duckdb.sql("SELECT 7777.0 AS a"), "a", TypeError, "must both be Ibis tables"),
    ]:
        with pytest.raises(error, match=message):
            riemann(x, y, PSI, column=column)
    with pytest.raises(ValueError, match="needs kernel='laplace'"):
        riemann(x, x, Witness(kernel="gaussian"), column="a")
    with pytest.raises(ValueError, match="column= is for tables"):
        riemann([1.0], [2.0], PSI, column="a")


def test_a_table_that_changes_while_it_is_read_gives_no_number() -> None:
    run = ranges.Run(RiemannBlock.of_runs(np.array([1.0]), np.array([0.5]), PSI), 1)
    with pytest.raises(RuntimeError, match="the tables changed meanwhile"):
        ranges._total([run], 2)


def test_ranges_that_would_be_as_many_as_the_values_are_not_asked_for(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a small σ the values are streamed in order instead, some at a time."""
    monkeypatch.setattr(ranges, "IN_PROCESS", ())
    monkeypatch.setattr(ranges, "blocks_of_ranges", None)
    rng = np.random.default_rng(4)
    pair = (rng.normal(size=100_000), rng.normal(size=50_000))
    x, y = _tables(connection, pair)
    witness = Witness(1e-7, 1.3)
    assert riemann(x, y, witness, column=ODD) == pytest.approx(riemann(*pair, witness), rel=1e-10)
    monkeypatch.setattr(ranges, "MOST", 100)
    assert ranges._too_many(ranges.Ranges(0.0, 0.01), pair[0][:20_000], 10**9)
    assert not ranges._too_many(ranges.Ranges(0.0, 0.5), np.repeat(np.arange(50.0), 9), 10**9)


def test_columns_of_tables_are_tables(connection: Any) -> None:
    x, y = _tables(connection, samples("normal"))
    assert riemann(x[ODD], y[ODD], PSI) == riemann(x, y, PSI, column=ODD)
