"""The theorems of section 3 on finite samples, for both estimators.

Each theorem becomes a number that must be 0, or a bound. The samples meet the conditions of the
theorem exactly, so any departure is the estimator's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dkmd.base.arrays import Array
from dkmd.paper.checks import Check
from dkmd.paper.report import Heading, PaperTable
from dkmd.paper.trials import SEED, Runner, serial, simulate
from dkmd.statistic.exact import exact
from dkmd.statistic.riemann import riemann, riemann_witness
from dkmd.statistic.witness import Witness

N = 500
PSI = Witness(sigma=1.0, tau=1.0)
ROUNDING = 1e-12
"""In units of the bound 2σ: the rounding error that counts as 0."""

OUTLIERS = tuple(float(f"{v:.3g}") for v in np.geomspace(3.0, 1e6, 23))
"""Positions of a single outlier, in data units (the other values are N(0, 1))."""

Estimator = Callable[[Array, Array, Witness], float]
Families = dict[str, Callable[[np.random.Generator, int], Array]]

FAMILIES: Families = {
    "normal": lambda rng, size: rng.normal(size=size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
}


@dataclass(frozen=True)
class Property:
    """One theorem on samples of one family: how far both estimators depart from it, per trial."""

    theorem: str
    family: str
    measure: str
    """The quantity that should be 0."""
    riemann: Array
    exact: Array
    as_share: bool = False
    """Whether a departure is a wrong sign (1 or 0) rather than an amount."""


@dataclass(frozen=True)
class Witnesses:
    """ψ and ψ̂ on one pair of samples."""

    sigma: float
    z: Array
    psi_hat: Array
    psi: Array


@dataclass(frozen=True)
class Outlier:
    """One far value among N(0, 1): its weight, and the statistic with it."""

    at: float
    psi_hat: float
    psi: float
    riemann: float
    exact: float


@dataclass(frozen=True)
class Theorems:
    """Everything that the section on theorems shows."""

    properties: tuple[Property, ...]
    witness: Witnesses
    outliers: tuple[Outlier, ...]


def theorems(trials: int = 400, seed: int = SEED, run: Runner = serial) -> Theorems:
    """Antisymmetry, immunity, monotonicity (Theorems 3.1 to 3.3) and |ψ| ≤ 2σ (section 5.2)."""
    cells = [(theorem, family) for theorem in _DEPARTURES for family in FAMILIES]
    drawn = simulate("theorems", _trial, cells, trials, seed, run)
    properties = tuple(
        Property(
            theorem,
            family,
            _MEASURES[theorem],
            riemann=of_cell[:, 0],
            exact=of_cell[:, 1],
            as_share=_DEPARTURES[theorem] is _wrong_sign,
        )
        for (theorem, family), of_cell in zip(cells, drawn, strict=True)
    )
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=2000), rng.normal(0.5, 1.0, size=2000)
    witness = _witnesses(x, y, Witness(sigma=4.0, tau=1.0))
    x, y = rng.normal(size=N), rng.normal(0.3, 1.0, size=N)
    outliers = tuple(_outlier(at, x, y) for at in OUTLIERS)
    return Theorems(properties, witness, outliers)


def _trial(cell: tuple[str, str], rng: np.random.Generator) -> list[float]:
    """The departures of both estimators on the same samples."""
    theorem, family = cell
    departure = _DEPARTURES[theorem]
    samples = _SAMPLES[theorem](FAMILIES[family], rng)
    return [departure(estimator, *samples) for estimator in (riemann, exact)]


def _plain(
    draw: Callable[[np.random.Generator, int], Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    return draw(rng, N), draw(rng, N) + 0.3


def _symmetric(
    draw: Callable[[np.random.Generator, int], Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Both samples symmetric about 0, the second four times as wide: Δ is even (Theorem 3.2)."""
    half_x, half_y = draw(rng, N // 2), 4.0 * draw(rng, N // 2)
    return np.concatenate([half_x, -half_x]), np.concatenate([half_y, -half_y])


def _dominating(
    draw: Callable[[np.random.Generator, int], Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Every value of x above its partner in y: x dominates (Theorem 3.3)."""
    y = draw(rng, N)
    return y + rng.exponential(0.1, size=N), y


def _swapped(estimator: Estimator, x: Array, y: Array) -> float:
    return abs(estimator(x, y, PSI) + estimator(y, x, PSI))


def _value(estimator: Estimator, x: Array, y: Array) -> float:
    return estimator(x, y, PSI)


def _mirrored(estimator: Estimator, x: Array, y: Array) -> float:
    return abs(estimator(x, y, PSI) + estimator(-x, -y, PSI))


def _wrong_sign(estimator: Estimator, x: Array, y: Array) -> float:
    return float(estimator(x, y, PSI) <= 0.0)


_SAMPLES = {
    "3.1 antisymmetry": _plain,
    "3.2 symmetric immunity": _symmetric,
    "3.2 mirrored data": _plain,
    "3.3 monotonicity": _dominating,
}
_DEPARTURES: dict[str, Callable[[Estimator, Array, Array], float]] = {
    "3.1 antisymmetry": _swapped,
    "3.2 symmetric immunity": _value,
    "3.2 mirrored data": _mirrored,
    "3.3 monotonicity": _wrong_sign,
}
_MEASURES = {
    "3.1 antisymmetry": "|D(x, y) + D(y, x)|",
    "3.2 symmetric immunity": "|D| of samples symmetric about 0",
    "3.2 mirrored data": "|D(x, y) + D(−x, −y)|",
    "3.3 monotonicity": "wrong sign though x dominates y",
}


def _witnesses(x: Array, y: Array, psi: Witness) -> Witnesses:
    z, psi_hat, _ = riemann_witness(x, y, psi)
    return Witnesses(psi.sigma, z, psi_hat, psi(z))


def _outlier(at: float, x: Array, y: Array) -> Outlier:
    """The result with the first value of x moved to ``at``."""
    x = np.concatenate([[at], x[1:]])
    z, psi_hat, _ = riemann_witness(x, y, PSI)
    there = float(psi_hat[z == at][0])
    return Outlier(at, there, PSI(at), riemann(x, y, PSI), exact(x, y, PSI))


def tables(result: Theorems) -> list[PaperTable]:
    """Departures from each theorem, and the single outlier."""
    columns = [
        Heading("theorem"),
        Heading("samples"),
        Heading("departure"),
        Heading("riemann, typical"),
        Heading("riemann, largest"),
        Heading("exact, largest"),
    ]
    values = [
        (
            p.theorem,
            p.family,
            p.measure,
            _shown(float(p.riemann.mean() if p.as_share else np.median(abs(p.riemann))), p),
            "" if p.as_share else _shown(float(abs(p.riemann).max()), p),
            _shown(float(abs(p.exact).mean() if p.as_share else abs(p.exact).max()), p),
        )
        for p in result.properties
    ]
    note = (
        f"A theorem that holds departs by 0. Over {result.properties[0].exact.size} pairs of "
        f"samples of {N} values. Typical: the median; for signs, the share of wrong ones."
    )
    shown = [o for o in result.outliers if o in result.outliers[:: len(result.outliers) // 5]]
    outliers = [(o.at, o.psi_hat, o.psi, o.riemann, o.exact) for o in shown]
    outlier_columns = [
        Heading("outlier at", ",.0f"),
        Heading("ψ̂ there (riemann)", ",.1f"),
        Heading("ψ there (exact)", ".4f"),
        Heading("statistic, riemann", ",.3f"),
        Heading("statistic, exact", ".4f"),
    ]
    return [
        PaperTable("theorems", "The theorems on finite samples", columns, values, note),
        PaperTable(
            "theorems-outlier",
            "One outlier among 500 values: |ψ| ≤ 2σ = 2",
            outlier_columns,
            outliers,
            "x from N(0, 1) with the outlier, y from N(0.3, 1): the statistic should be near "
            "−0.26.",
        ),
    ]


def _shown(departure: float, of: Property) -> str:
    if of.as_share:
        return f"{departure:.1%}"
    return "0" if departure == 0.0 else f"{departure:.1e}".replace("-", "−")


def checks(result: Theorems) -> list[Check]:
    """The exact estimator keeps every theorem on every pair, and the bound."""
    kept = [
        Check(
            f"Theorem {p.theorem}, {p.family}: largest departure of exact",
            float(abs(p.exact).max()),
            0.0 if p.as_share else ROUNDING * PSI.bound,
        )
        for p in result.properties
    ]
    largest = max(abs(outlier.psi) for outlier in result.outliers)
    return [*kept, Check("Section 5.2: largest |ψ| at an outlier", largest, PSI.bound)]


def departing(result: Theorems) -> Sequence[Property]:
    """The properties that the Riemann estimator does not keep."""
    return [p for p in result.properties if abs(p.riemann).max() > ROUNDING * PSI.bound]
