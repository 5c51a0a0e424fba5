"""Write data/experiment.csv: an A/B test of a made-up shop with each user's revenue before it.

Revenue is lognormal and follows the revenue of the month before. In arm B it is 8% higher. New
users have no month before. Users were drawn with a known rate, and ``weight`` is its inverse. Run
``python examples/make_experiment.py`` to write the same file again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

USERS = 1200


def main() -> None:
    """Draw, round to cents, write one user per line."""
    rng = np.random.default_rng(2029)
    before = rng.lognormal(3.4, 0.9, USERS)
    arm = rng.permutation(USERS) % 2
    revenue = before**0.85 * rng.lognormal(0.5, 0.45, USERS) * np.where(arm == 1, 1.08, 1.0)
    country = rng.choice(["DE", "FR", "US"], USERS, p=[0.5, 0.3, 0.2])
    revenue *= np.where(country == "US", 1.3, 1.0)
    new = rng.random(USERS) < 0.1
    weight = np.where(rng.random(USERS) < 0.5, 1, 10)
    with open(Path(__file__).parent / "data" / "experiment.csv", "w", newline="\n") as file:
        file.write("arm,revenue,revenue_before,country,weight\n")
        for i in range(USERS):
            known = "" if new[i] else f"{before[i]:.2f}"
            file.write(f"{'AB'[arm[i]]},{revenue[i]:.2f},{known},{country[i]},{weight[i]}\n")


if __name__ == "__main__":
    main()
