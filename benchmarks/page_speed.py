"""The processor time of a page of many columns: ``python benchmarks/page_speed.py``.

Two tables of normal and lognormal columns are compared, and the page is written. The first page
loads templates and compiled code; the shortest of the others counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import dkmd


def tables(columns: int, rows: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reference and current; one column in seven is 10% larger in current."""
    rng = np.random.default_rng(1)

    def table(factor: float) -> pl.DataFrame:
        drawn = (
            rng.lognormal(size=rows) if i % 2 else rng.normal(size=rows) for i in range(columns)
        )
        return pl.DataFrame(
            {f"c{i:03}": v * (1.0 if i % 7 else factor) for i, v in enumerate(drawn)}
        )

    return table(1.0), table(1.1)


def main() -> None:
    """Print the processor times of the comparison and of the page, in seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    reference, current = tables(given.columns, given.rows)
    compared, written = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(given.rounds + 1):
            begun = time.process_time()
            answer = dkmd.drift(reference, current)
            between = time.process_time()
            answer.report(Path(folder) / "page.html")
            compared.append(between - begun)
            written.append(time.process_time() - between)
    print(f"{given.columns} columns of {given.rows:,} rows, processor time of one process:")
    print(f"comparison {min(compared[1:]):.2f} s, page {min(written[1:]):.2f} s")
    print(f"the first time: comparison {compared[0]:.2f} s, page {written[0]:.2f} s")


if __name__ == "__main__":
    main()
