"""``dkmd.riemann``: the paper's estimator, for arrays and for tables inside their engine."""

from __future__ import annotations

from typing import Any

from dkmd.statistic import riemann as arrays
from dkmd.statistic.witness import Witness


def riemann(x: Any, y: Any, witness: Witness, *, column: str | None = None) -> float:
    """DKMD of two samples by the paper's Riemann estimator (equation of section 3.3, Algorithm 1).

    Parameters
    ----------
    x, y : array_like, Ibis table or Spark dataframe
        One-dimensional finite real numbers, or two tables of one connection with a ``column``.
    witness : Witness
        Its kernel must be "laplace": the scan rests on e^(−a−b) = e^(−a)·e^(−b).
    column : str, optional
        The column of the tables. Not needed if they have only one.

    Returns
    -------
    float
        (1/n) Σ ψ̂(xᵢ) − (1/m) Σ ψ̂(yⱼ): positive when x tends to be larger.

    Notes
    -----
    This is the estimator as the paper defines it, kept for comparison. It is biased toward 0,
    because the sum stops at the range of the data. It is not robust: an outlier is weighted by the
    gap before it, so ψ̂ is not bounded by 2·sigma. ``exact`` has neither fault.

    Time is O(N log N), in threads from 200,000 values on. The function needs memory for sorted
    copies of the inputs and less than 1 MiB more. Tables are sorted by their engine, which returns
    ten numbers for each range of values. Values of DuckDB tables, and of any table if the weight is
    "erf" or a callable, are streamed to this process instead.

    Examples
    --------
    One outlier flips the sign of the Riemann estimator, but not that of the exact one:

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
    """Whether a source is an Ibis or Spark table or a DuckDB relation. No engine is imported."""
    return type(source).__module__.partition(".")[0] in ("ibis", "pyspark", "duckdb", "_duckdb")
