"""The distributions that the statistics are tested on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Family = Callable[[np.random.Generator, int], Array]

FAMILIES: dict[str, Family] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "contaminated": lambda rng, n: np.where(rng.random(n) < 0.1, 10.0, 1.0) * rng.normal(size=n),
    "poisson": lambda rng, n: rng.poisson(3.0, size=n).astype(float),
}

SYMMETRIC = ("normal", "laplace", "t3", "cauchy", "contaminated")


def two_of(name: str, n: int = 300, m: int = 200, seed: int = 13) -> tuple[Array, Array]:
    """Two samples of a family, the first one 0.2 higher."""
    rng = np.random.default_rng(seed)
    return FAMILIES[name](rng, n) + 0.2, FAMILIES[name](rng, m)
