"""The paper's estimator in every engine: sorted there, equal to arrays to 1e-10."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dkmd import Witness, riemann
from dkmd.sources.engines import riemann as ranges

PSI = Witness(0.7, 1.3, center=0.2)
ODD = 'select "x"; --'


def _samples(kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(11)
    if kind == "whole numbers":
        return rng.integers(-3, 4, 3_000), rng.integers(-3, 5, 2_000)
    x, y = rng.normal(0.0, 1.0, 3_000), rng.normal(0.3, 1.2, 2_000)
    return (np.round(x, 1), np.round(y, 1)) if kind == "ties" else (x, y)


@pytest.mark.parametrize("kind", ["normal", "ties", "whole numbers"])
def test_tables_give_what_arrays_give(
    engine: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only DuckDB streams its values, because it runs in this process."""
    if engine.name != "duckdb":
        monkeypatch.setattr(ranges, "_streamed", None)
    x, y = _samples(kind)
    expected = riemann(x, y, PSI)
    tables = [
        engine.load(pd.DataFrame({ODD: v, "other": 0.0}), name)
        for v, name in ((x, "of_x"), (y, "of_y"))
    ]
    found = riemann(tables[0], tables[1], PSI, column=ODD)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10 * PSI.bound)
    if engine.name == "spark":  # the engine's own dataframe works as well as an Ibis table
        frames = [engine.session.table(name) for name in ("of_x", "of_y")]
        assert riemann(frames[0], frames[1], PSI, column=ODD) == pytest.approx(found, rel=1e-12)


def test_weights_without_a_word_in_sql_are_weighed_here(engine: Any) -> None:
    x, y = _samples("normal")
    tables = [engine.load(pd.DataFrame({"v": v}), name) for v, name in ((x, "of_x"), (y, "of_y"))]
    witness = Witness(0.7, 1.3, weight="erf")
    found = riemann(tables[0], tables[1], witness)
    assert found == pytest.approx(riemann(x, y, witness), rel=1e-10)


@pytest.mark.parametrize(
    ("value", "message"),
    [(None, "NaN or NULL"), (np.nan, "NaN or NULL"), (np.inf, "needs finite values")],
)
def test_what_arrays_are_refused_for_tables_are_too(engine: Any, value: Any, message: str) -> None:
    odd = engine.load(pd.DataFrame({"v": [1.0, 3.0 if value is None else value, 2.0]}), "odd")
    x = odd.mutate(v=odd.v.nullif(3.0)) if value is None else odd
    y = engine.load(pd.DataFrame({"v": [1.0, 2.0]}), "plain")
    with pytest.raises(ValueError, match=message):
        riemann(x, y, PSI, column="v")
