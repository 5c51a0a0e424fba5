"""``dkmd.riemann``: the paper's estimator of arrays here or of tables in their engine."""

from __future__ import annotations

from typing import Any

from dkmd.statistic import riemann as arrays
from dkmd.statistic.witness import Witness


def riemann(x: Any, y: Any, witness: Witness, *, column: str | None = None) -> float:
    """DKMD of two samples by the paper's Riemann estimator (equation of section 3.3, Algorithm 1).

    Parameters
    ----------
    x, y : array_like, Ibis table or Spark dataframe
        One-dimensional finite real numbers; tables with a ``column``, of one connection.
    witness : Witness
        Its kernel must be "laplace": the scan rests on e^(−a−b) = e^(−a)·e^(−b).
    column : str, optional
        Of the tables; may be left out when they have only one.

    Returns
    -------
    float
        (1/n) Σ ψ̂(xᵢ) − (1/m) Σ ψ̂(yⱼ): positive when x tends to be larger.

    Notes
    -----
    This is the paper's estimator as defined there, kept for comparison. It is biased toward 0,
    because the sum stops at the range of the data, and it is not robust: a lone outlier brings the
    gap before it as its own weight, so ψ̂ is not bounded by 2·sigma. ``exact`` has neither fault.

    O(N log N) time, in threads from 200,000 values on. Memory beyond the inputs: their sorted
    copies and less than 1 MiB. Tables are sorted by their engine, which gives ten numbers for each
    range of values; those of DuckDB, and any with the weight "erf" or a callable, stream here.

    Examples
    --------
    One outlier decides the sign of the Riemann estimator, and not that of the exact one:

    >>> x, y = [0.1, -0.4, 0.2, 1000.0], [0.9, 1.4, 0.6, 1.1]
    >>> round(riemann(x, y, Witness()), 3)
    249.273
    >>> from dkmd import exact
    >>> round(exact(x, y, Witness()), 3)
    -0.526
    """
    if is_remote(x) or is_remote(y):
        from dkmd.sources.engines.riemann import riemann_of_tables

        return riemann_of_tables(x, y, witness, column)
    if column is not None:
        raise ValueError("column= is for tables; x and y are arrays")
    return arrays.riemann(x, y, witness)


def is_remote(source: Any) -> bool:
    """Whether this is a table of Ibis or Spark, or a relation of DuckDB; imports none of them."""
    return type(source).__module__.partition(".")[0] in ("ibis", "pyspark", "duckdb", "_duckdb")
