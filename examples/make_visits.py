"""Write data/visits.csv: visits to a made-up shop, whether each converted, and its revenue.

One visit in twenty converts, and the revenue of those is lognormal. In data/visits_after.csv fewer
visits convert, and those bring more. Run ``python examples/make_visits.py`` to write the same files
again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

VISITS = 2000


def main() -> None:
    """Both files."""
    write("visits.csv", np.random.default_rng(2027), VISITS // 20, 1.0)
    write("visits_after.csv", np.random.default_rng(2028), VISITS // 29, 1.6)


def write(name: str, rng: np.random.Generator, conversions: int, factor: float) -> None:
    """Draw, round to cents, write one visit per line."""
    converted = rng.permutation(VISITS) < conversions
    revenue = np.where(converted, factor * rng.lognormal(3.5, 0.8, VISITS), 0.0)
    visitor = np.sort(rng.integers(0, VISITS // 2, VISITS))
    with open(Path(__file__).parent / "data" / name, "w", newline="\n") as file:
        file.write("visitor,converted,revenue_usd\n")
        for who, yes, amount in zip(visitor, converted, revenue, strict=True):
            file.write(f"v{who},{str(bool(yes)).lower()},{amount:.2f}\n")


if __name__ == "__main__":
    main()
