"""The example of Spark Structured Streaming: every row counts once, across restarts and faults."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dkmd

pytestmark = pytest.mark.parametrize("engine", ["spark"], indirect=True)

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_stream.py"


@pytest.fixture(scope="module")
def example() -> Any:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("spark_stream", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["spark_stream"] = module
    spec.loader.exec_module(module)
    return module


def _at_once(example: Any, source: Path) -> dkmd.Monitor:
    """All files in one update, without Spark."""
    rows = [json.loads(line) for path in source.iterdir() for line in path.read_text().splitlines()]
    values = {
        arm: np.array([row["ms"] for row in rows if row["arm"] == arm]) for arm in example.ARMS
    }
    monitor: dkmd.Monitor = example.new_monitor()
    return monitor.update(x=values["new"], y=values["old"])


def test_a_stream_that_restarts_gives_the_answer_of_all_its_rows(
    engine: Any, example: Any, tmp_path: Path
) -> None:
    """The first run ends, the second fails after its state is saved, the third goes on."""
    source, checkpoint = tmp_path / "requests", tmp_path / "checkpoint"
    example.write_files(source, 0, 2)
    before = example.watch_arms(engine.session, source, checkpoint, example.new_monitor())
    assert sum(before.sizes) == 4_000
    example.write_files(source, 2, 2)
    kept = example.ArmsOnSpark.__call__

    def fails(self: Any, batch: Any, number: int) -> None:
        kept(self, batch, number)
        raise RuntimeError("the driver stops before Spark knows that the batch is done")

    example.ArmsOnSpark.__call__ = fails
    with pytest.raises(Exception, match="the driver stops"):
        example.watch_arms(engine.session, source, checkpoint, example.new_monitor())
    example.ArmsOnSpark.__call__ = kept
    states = list((checkpoint / "dkmd").iterdir())
    assert [path.name for path in states] == ["000000000002.monitor"]
    after = example.watch_arms(engine.session, source, checkpoint, example.new_monitor())
    alone = _at_once(example, source)
    assert after.sizes == alone.sizes
    assert sum(after.sizes) == 8_000
    assert after.result.shift == pytest.approx(alone.result.shift, rel=1e-9)
    assert after.result.interval == pytest.approx(alone.result.interval, rel=1e-9)
    assert after.result.evalue == pytest.approx(alone.result.evalue, rel=1e-7)


def test_level_summaries_are_those_of_the_values(engine: Any) -> None:
    rows = engine.session.sql(
        "SELECT id % 3 AS arm, CAST(id * id % 101 AS DOUBLE) AS ms FROM range(900) UNION ALL "
        "SELECT 1, CAST('NaN' AS DOUBLE) UNION ALL SELECT 1, CAST('Infinity' AS DOUBLE) UNION ALL "
        "SELECT 1, NULL UNION ALL SELECT NULL, 7.0"
    )
    grid = dkmd.Grid(50.0, 4.0)
    found = dkmd.level_summaries(rows, "ms", "arm", grid)
    assert sorted(found) == ["0", "1", "2"]
    numbers = np.arange(900.0)
    for arm in range(3):
        expected = (numbers * numbers % 101)[numbers % 3 == arm]
        summary = found[str(arm)]
        assert summary.size == expected.size + (arm == 1)
        assert summary.cdf(50.0) == pytest.approx(
            dkmd.Summary.of(np.append(expected, [np.inf] * (arm == 1)), grid).cdf(50.0)
        )
    assert (found["1"].nan, found["1"].plus_inf) == (2, 1)
