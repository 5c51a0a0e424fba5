"""The witness ψ(x) = ∫ w(z) κ(x − z) dz: the paper's section 3.1, for any kernel and odd weight.

A ``Witness`` turns two widths, a centre and two shapes into a function that evaluates in a few ns.
Its table is built by quadrature (``_convolution``). This module knows nothing about samples.

| paper      | here                                     |
|------------|------------------------------------------|
| ψ_w(x)     | ``Witness(...)(x)``                      |
| w, τ       | ``weight``, ``tau``                      |
| k_σ, σ     | ``kernel``, ``sigma``                    |
| (always 0) | ``center``: ψ is odd about this point    |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import overload

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.statistic.profiles import (
    KERNELS,
    WEIGHTS,
    Kernel,
    Profile,
    Weight,
    kernel_from_callable,
    weight_from_callable,
)
from dkmd.statistic.table import (
    Jet,
    PolynomialTable,
    constant,
    differentiated,
    evaluate,
    jet,
    tabulate,
)

SMALLEST_WIDTH, LARGEST_WIDTH = 1e-290, 1e290
"""Within these widths, the reciprocal and a table's multiple of it are normal doubles."""

LARGEST_RATIO = 1e8
"""With sigma/tau above this (below its inverse) a weight acts like a sign (linear) weight."""

TABLE_UNIT = 0.5
"""The table's unit in widths of the weight. Intervals near 0 are 1/32 of tau wide."""

FAR = 2.0**40
"""The end of the table for an unbounded weight. Beyond it ψ = w·∫κ to double precision."""


@dataclass(frozen=True)
class Witness:
    r"""The function ψ whose mean difference is DKMD.

    Parameters
    ----------
    sigma : float
        Width of the kernel, in the data's units.
    tau : float
        Width of the weight, in the data's units. The weights "sign" and "linear" ignore it.
    center : float
        The point about which ψ is odd. The paper fixes 0.
    kernel : {"laplace", "gaussian", "matern32", "matern52"} or callable
        A callable maps an array of \|x − z\|/sigma to kernel values: positive, integrable, smooth.
    weight : {"tanh", "erf", "algebraic", "sign", "linear"} or callable
        "algebraic" is z/√(tau² + z²), "linear" is z itself. A callable maps an array of z/tau to
        weights: odd and smooth away from 0.

    Notes
    -----
    ψ is odd about ``center``, strictly increasing wherever the weight is, and |ψ| ≤ ``bound``.
    Named pairs are accurate to 1e-12 of the bound for 1e-4 ≤ sigma/tau ≤ 1e4 at every double,
    ±inf included. The table depends on the shapes and sigma/tau only and is cached. Building a
    table takes a few ms (tens of ms for extreme ratios). Evaluating one value takes about 5 ns.

    Examples
    --------
    >>> psi = Witness(sigma=1, tau=1)
    >>> round(psi(1.0), 12)
    1.020099188839
    >>> psi([-float("inf"), 0, float("inf")]).tolist()
    [-2.0, 0.0, 2.0]
    >>> psi.bound
    2.0
    """

    sigma: float = 1.0
    tau: float = 1.0
    center: float = 0.0
    kernel: str | Profile = "laplace"
    weight: str | Profile = "tanh"

    def __post_init__(self) -> None:
        """Check the arguments and store widths and centre as plain floats."""
        object.__setattr__(self, "sigma", positive_width("sigma", self.sigma))
        object.__setattr__(self, "tau", positive_width("tau", self.tau))
        object.__setattr__(self, "center", _finite("center", self.center))
        _shape("kernel", self.kernel, KERNELS)
        _shape("weight", self.weight, WEIGHTS)
        ratio = self.sigma / self.tau
        if (
            self.weight not in ("sign", "linear")
            and not 1 / LARGEST_RATIO <= ratio <= LARGEST_RATIO
        ):
            limit = "'sign'" if ratio > 1 else "'linear' (or a smaller tau)"
            raise ValueError(
                f"sigma/tau must lie between 1e-8 and 1e8, got sigma={self.sigma!r}, "
                f"tau={self.tau!r}; at this ratio weight={limit} is the same thing"
            )

    @overload
    def __call__(self, x: float) -> float: ...
    @overload
    def __call__(self, x: npt.ArrayLike) -> Array: ...
    def __call__(self, x: npt.ArrayLike) -> float | Array:
        """ψ(x − center), for a number or an array of any shape."""
        return self._evaluate(x, 0)

    @overload
    def derivative(self, x: float) -> float: ...
    @overload
    def derivative(self, x: npt.ArrayLike) -> Array: ...
    def derivative(self, x: npt.ArrayLike) -> float | Array:
        """ψ'(x − center). For a callable weight it is good to about 1e-10 of bound/tau."""
        return self._evaluate(x, 1)

    @overload
    def second_derivative(self, x: float) -> float: ...
    @overload
    def second_derivative(self, x: npt.ArrayLike) -> Array: ...
    def second_derivative(self, x: npt.ArrayLike) -> float | Array:
        """ψ''(x − center). For a callable weight it is good to about 1e-7 of bound/tau²."""
        return self._evaluate(x, 2)

    @property
    def weight_table(self) -> PolynomialTable | None:
        """The weight as a table in the units of ``table``; None if the weight is unbounded."""
        return None if math.isinf(self.bound) else _weight_table(self.weight)

    def weigh(self, x: npt.ArrayLike) -> Array:
        """The weight itself, w(x − center)."""
        u = np.asarray(x, dtype=np.float64) - self.center
        if self.weight != "linear":
            u /= self.tau
        return np.asarray(_weight(self.weight).derivatives[0](u))

    @property
    def bound(self) -> float:
        """sup |ψ|: the kernel's mass times the weight's limit; inf for an unbounded weight."""
        return self.sigma * _kernel(self.kernel).mass * _weight(self.weight).limit

    @property
    def length(self) -> float:
        """The width in which the table is measured: tau, or sigma for the sign weight."""
        return self.sigma if self.weight == "sign" else self.tau

    @property
    def per_unit(self) -> float:
        """Table units per data unit."""
        return 1.0 / (TABLE_UNIT * self.length)

    def table(self, order: int = 0) -> PolynomialTable:
        """The table of the ``order``-th derivative of ψ/length in x/length. It is cached.

        A value is ``length ** (1 - order) * table((x - center) * per_unit)``.
        """
        ratio = 1.0 if self.weight == "sign" else self.sigma / self.tau
        return _table(self.kernel, self.weight, ratio, order)

    def jet(self) -> Jet:
        """ψ and ψ' side by side, as inference over bins needs them. The jet is cached too."""
        ratio = 1.0 if self.weight == "sign" else self.sigma / self.tau
        return _jet(self.kernel, self.weight, ratio)

    def _evaluate(self, x: npt.ArrayLike, order: int) -> float | Array:
        values = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)  # (values,)
        if self.weight == "linear":
            out = self._linear(values, order)
        else:
            out = np.empty_like(values)
            amplitude = self.length ** (1 - order)
            evaluate(values, self.center, self.per_unit, self.table(order), amplitude, out)
            if math.isinf(self.bound):
                self._continue_far_out(values, order, out)
        shape = np.shape(x)
        return out.reshape(shape) if shape else float(out[0])

    def _linear(self, values: Array, order: int) -> Array:
        """∫ z κ(x − z) dz = x · ∫κ for every even kernel."""
        slope = self.sigma * _kernel(self.kernel).mass
        if order == 0:
            return slope * (values - self.center)
        return np.where(np.isnan(values), np.nan, slope if order == 1 else 0.0)

    def _continue_far_out(self, values: Array, order: int, out: Array) -> None:
        """Values beyond the table of an unbounded callable: ψ = w·∫κ, slopes by differences."""
        far = np.flatnonzero(np.abs(values - self.center) > FAR / 2.0 * self.tau)
        if far.size == 0:
            return
        z = (values[far] - self.center) / self.tau
        w = _weight(self.weight).derivatives[0]
        mass = self.sigma * _kernel(self.kernel).mass
        if order == 0:
            out[far] = mass * w(z)
            return
        h = 1e-3 * z
        change = (w(z + h) - w(z - h)) / 2.0 if order == 1 else w(z + h) - 2.0 * w(z) + w(z - h)
        out[far] = mass * change / (h * self.tau) ** order


def _finite(name: str, value: float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return number


def positive_width(name: str, value: float) -> float:
    """Check a width given by the caller. The ValueError names the argument and the value."""
    number = float(value)
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    if not SMALLEST_WIDTH <= number <= LARGEST_WIDTH:
        raise ValueError(
            f"{name} must lie between {SMALLEST_WIDTH:g} and {LARGEST_WIDTH:g}, got {value!r}"
        )
    return number


def _shape(name: str, given: object, known: Mapping[str, object]) -> None:
    if not callable(given) and given not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)} or a callable, got {given!r}")


@lru_cache(maxsize=64)
def _kernel(kernel: str | Profile) -> Kernel:
    return KERNELS[kernel] if isinstance(kernel, str) else kernel_from_callable(kernel)


@lru_cache(maxsize=64)
def _weight(weight: str | Profile) -> Weight:
    return WEIGHTS[weight] if isinstance(weight, str) else weight_from_callable(weight)


@lru_cache(maxsize=128)
def _table(
    kernel: str | Profile, weight: str | Profile, ratio: float, order: int
) -> PolynomialTable:
    """The table of ψ's ``order``-th derivative for tau = 1 and sigma = ratio."""
    k, w = _kernel(kernel), _weight(weight)
    known = _sign_forms(k) if weight == "sign" else _convolutions(k, w, ratio)
    if order >= len(known):
        return differentiated(_table(kernel, weight, ratio, order - 1), 1.0 / TABLE_UNIT)
    bounded = math.isfinite(w.limit)
    reach = ratio * k.reach + w.reach if bounded else FAR
    limit = ratio * k.mass * w.limit if bounded and order == 0 else 0.0
    return tabulate(
        lambda r: known[order](TABLE_UNIT * r), reach / TABLE_UNIT, limit, odd=order % 2 == 0
    )


@lru_cache(maxsize=64)
def _jet(kernel: str | Profile, weight: str | Profile, ratio: float) -> Jet:
    function, derivative = (_table(kernel, weight, ratio, order) for order in (0, 1))
    return jet(function, derivative, 1.0 / TABLE_UNIT)


@lru_cache(maxsize=64)
def _weight_table(weight: str | Profile) -> PolynomialTable:
    w = _weight(weight)
    if weight == "sign":
        return constant(w.limit)
    return tabulate(
        lambda r: w.derivatives[0](TABLE_UNIT * r), w.reach / TABLE_UNIT, w.limit, odd=True
    )


def _sign_forms(kernel: Kernel) -> tuple[Profile, ...]:
    """ψ, ψ', ψ'' for w = sign and x ≥ 0: 2∫₀ˣκ, 2κ, 2κ', as far as the kernel has derivatives."""
    integral = kernel.antiderivative
    psi: Profile = _convolution(kernel, np.sign, 1.0)
    if integral is not None:
        psi = lambda x: 2.0 * integral(x)  # noqa: E731
    return (psi, *(lambda x, f=f: 2.0 * f(x) for f in kernel.derivatives))


def _convolutions(kernel: Kernel, weight: Weight, ratio: float) -> tuple[Profile, ...]:
    """ψ, ψ', ψ'' as convolutions of the kernel with w, w', w''."""
    return tuple(_convolution(kernel, w, ratio) for w in weight.derivatives)


def _convolution(kernel: Kernel, w: Profile, sigma: float) -> Profile:
    """x ↦ ∫₀^∞ κ(t/sigma) [w(x + t) + w(x − t)] dt for x ≥ 0 and a weight of width 1.

    Gauss–Legendre on panels that double in length away from the two points where the integrand
    has detail: t = 0, the kernel's tip, and t = x, where the weight changes sign. So no panel is
    longer than its distance to the next singularity, at any ratio of the two widths.
    """
    reach = sigma * kernel.reach
    doublings = np.ldexp(1.0, np.arange(1 + max(0, math.ceil(math.log2(2.0 * reach)))))
    around_zero = sigma * np.append(np.ldexp(1.0, np.arange(math.ceil(math.log2(kernel.reach)))), 0)
    around_x = np.concatenate([-doublings, [0.0], doublings])
    nodes, weights = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
    kappa = kernel.derivatives[0]

    def integrate(x: Array) -> Array:
        fixed = np.broadcast_to(np.append(around_zero, reach), (x.size, around_zero.size + 1))
        edges = np.hstack([fixed, np.clip(x[:, None] + around_x, 0.0, reach)])  # (x, edges)
        edges.sort(axis=1)
        widths = np.diff(edges, axis=1)
        row, panel = np.nonzero(widths)
        half = 0.5 * widths[row, panel]  # (panels,)
        t = (edges[row, panel] + half)[:, None] + half[:, None] * nodes  # (panels, nodes)
        at = x[row, None]
        integrals = (kappa(t / sigma) * (w(at + t) + w(at - t))) @ weights * half
        return np.bincount(row, weights=integrals, minlength=x.size).astype(np.float64, copy=False)

    def convolve(x: Array) -> Array:
        flat = x.reshape(-1)
        rows = max(1, EVALUATIONS_AT_ONCE // (NODES_PER_PANEL * around_x.size))
        parts = [integrate(flat[i : i + rows]) for i in range(0, flat.size, rows)]
        return np.concatenate(parts).reshape(x.shape)

    return convolve


NODES_PER_PANEL = 12
EVALUATIONS_AT_ONCE = 1 << 16
"""Integrand values held at a time while a table is built. Each temporary array is half a MB."""
