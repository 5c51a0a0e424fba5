"""Evidence and confidence sequences of two other packages: ``tests/vectors/looks.json``.

The packages are oracles of the tests. They are not installed with dkmd, and need different versions
of NumPy, so each has an environment of its own:

    python -m venv savvi && savvi/bin/pip install savvi==0.3.1
    python -m venv gbstats && gbstats/bin/pip install gbstats==0.8.0
    oracle=benchmarks/looks_oracles.py
    (savvi/bin/python $oracle savvi; gbstats/bin/python $oracle gbstats) | jq --slurp add

This script imports nothing of dkmd.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

Case = dict[str, Any]
ALPHA = 0.05


def samples() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Small samples, in plain arithmetic: the same numbers with every version of NumPy."""
    for n, m, shift in ((30, 30, 0.0), (40, 25, 0.4), (200, 100, 0.9)):
        x = shift + np.sin(np.arange(1, n + 1) * 1.7) * 1.3
        y = np.cos(np.arange(1, m + 1) * 2.3)
        yield x, y


def of_savvi() -> Iterator[Case]:
    """The coefficient of the arm in a regression (Lindon and others). φ is the r of dkmd."""
    from savvi.linear_regression import LinearRegression

    for x, y in samples():
        for phi in (1.0, 12.5):
            model = LinearRegression(ALPHA, 2, phi)
            for value, arm in [*((v, 1.0) for v in x), *((v, 0.0) for v in y)]:
                model.update(np.array([value, 1.0, arm]))
            yield {
                "t": float(model.t_stats()[1]), "df": float(model.nu()),
                "information": float(model.z2()[1]), "r": phi, "alpha": ALPHA,
                "pvalue": float(model.calculate_p_value()[1]),
                "ends": [float(end) for end in model.calculate_conf_int()[1]],
                "estimate": float(model.estimate[1]), "error": float(model.standard_errors()[1]),
            }  # fmt: skip


def of_gbstats() -> Iterator[Case]:
    """The sequence of a difference of means (Waudby-Smith and others)."""
    from gbstats.frequentist.tests import SequentialConfig, SequentialTwoSidedTTest
    from gbstats.models.statistics import SampleMeanStatistic

    for x, y in samples():
        for expected in (200.0, 5000.0):
            arms = [SampleMeanStatistic(a.size, float(a.sum()), float(a @ a)) for a in (y, x)]
            config = SequentialConfig(
                alpha=ALPHA, difference_type="absolute", sequential_tuning_parameter=expected
            )
            test = SequentialTwoSidedTTest(*arms, config)
            yield {
                "t": float(test.critical_value), "total": x.size + y.size,
                "expected_total": expected, "alpha": ALPHA,
                "pvalue": float(test.p_value),
                "ends": [float(end) for end in test.confidence_interval],
                "estimate": float(test.point_estimate), "error": float(np.sqrt(test.variance)),
            }  # fmt: skip


if __name__ == "__main__":
    cases = {"savvi": of_savvi, "gbstats": of_gbstats}[sys.argv[1]]()
    print(json.dumps({sys.argv[1]: list(cases)}))
