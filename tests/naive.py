"""Slow, obvious versions of everything, in high precision where it matters. Imports no dkmd.

The definitions are the paper's sums and integrals. There are no scans and no tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

KERNELS: dict[str, Callable[[Any], Any]] = {
    "laplace": lambda t: mp.exp(-t),
    "gaussian": lambda t: mp.exp(-t * t / 2),
    "matern32": lambda t: (1 + mp.sqrt(3) * t) * mp.exp(-mp.sqrt(3) * t),
    "matern52": lambda t: (1 + mp.sqrt(5) * t + 5 * t * t / 3) * mp.exp(-mp.sqrt(5) * t),
}
WEIGHTS: dict[str, Callable[[Any], Any]] = {
    "tanh": mp.tanh,
    "erf": mp.erf,
    "algebraic": lambda z: z / mp.sqrt(1 + z * z),
    "sign": mp.sign,
    "linear": lambda z: z,
}


def psi(x: float, sigma: float, tau: float, kernel: str, weight: str) -> Any:
    """ψ(x) = ∫ κ((x − z)/σ) w(z/τ) dz by mpmath's quadrature, in 30 digits."""
    kappa, w = KERNELS[kernel], WEIGHTS[weight]
    with mp.workdps(30):
        at, s, tw = mp.mpf(x), mp.mpf(sigma), mp.mpf(tau)
        reach = 80 * s
        cuts = [c * s for c in (0, 1, 3, 8, 20)] + [reach, abs(at)]
        cuts += [abs(at) + side * c * tw for c in (1, 4, 16, 64, 1024, 2**15) for side in (-1, 1)]
        inside = sorted({c for c in cuts if 0 <= c <= reach})

        def integrand(t: Any) -> Any:
            return kappa(t / s) * (w((at + t) / tw) + w((at - t) / tw))

        return mp.quad(integrand, inside, method="gauss-legendre")


def riemann(
    x: Sequence[float], y: Sequence[float], sigma: float, weight: Callable[[float], float]
) -> float:
    """The Riemann estimator of section 3.3 as the double sum that defines it."""
    z = sorted([*x, *y])
    terms = []
    for before, here in pairwise(z):
        mu_p = math.fsum(math.exp(-abs(v - here) / sigma) for v in x) / len(x)
        mu_q = math.fsum(math.exp(-abs(v - here) / sigma) for v in y) / len(y)
        terms.append((here - before) * weight(here) * (mu_p - mu_q))
    return math.fsum(terms)


def mmd2(x: Array, y: Array, sigma: float, unbiased: bool = False) -> float:
    """Squared MMD from the three Gram matrices."""

    def gram(a: Array, b: Array) -> Array:
        return np.exp(-np.abs(a[:, None] - b) / sigma)

    xx, yy = gram(x, x), gram(y, y)
    if unbiased:
        n, m = x.size, y.size
        within = (xx.sum() - n) / (n * (n - 1)) + (yy.sum() - m) / (m * (m - 1))
    else:
        within = xx.mean() + yy.mean()
    return float(within - 2.0 * gram(x, y).mean())


def m_center(values: Array, psi: Callable[[Any], Any]) -> float:
    """The root of Σψ(z − c) in c, by SciPy's bracketing solver on the values themselves."""
    from scipy.optimize import brentq

    finite = values[np.isfinite(values)]
    low, high = finite.min() - 1e3, finite.max() + 1e3
    return float(brentq(lambda c: float(np.sum(psi(values - c))), low, high, xtol=1e-14))


def quantile(values: Array, q: float) -> float:
    """The value below which a share q lies; the mean of two values if q falls between them."""
    ordered, rank = np.sort(values), q * values.size
    if abs(rank - round(rank)) < 1e-9 and 0 < round(rank) < values.size:
        return float(ordered[round(rank) - 1] + ordered[round(rank)]) / 2
    return float(ordered[max(math.ceil(rank), 1) - 1])


def excess(x: Array, y: Array) -> float:
    """By how much the distance of two medians exceeds three standard errors, by ranks.

    The standard errors are those towards each other, or half of the range of both if that is less.
    """
    apart = quantile(x, 0.5) - quantile(y, 0.5)
    upper, lower = (x, y) if apart > 0.0 else (y, x)
    reaches = []
    for side, sign in ((upper, -1.0), (lower, 1.0)):
        step = 1.5 / math.sqrt(side.size)
        low, high = quantile(side, max(0.0, 0.5 - step)), quantile(side, min(1.0, 0.5 + step))
        facing = (high if sign > 0.0 else low) - quantile(side, 0.5)
        reaches.append(min(sign * facing if side.size >= 9 else math.inf, 0.5 * (high - low)))
    return math.copysign(max(0.0, abs(apart) - math.hypot(*reaches)), apart)


def two_sample(
    x: Array,
    y: Array,
    psi: Callable[[Any], Any],
    slope: Callable[[Any], Any],
    center: float | None = None,
) -> tuple[float, float, float]:
    """Statistic, standard error and degrees of freedom of section 2.3, value by value.

    If no centre is given, it is solved for and its variance counted. The slopes are those of
    samples that are no farther apart than chance explains.
    """
    n, m = x.size, y.size
    c = m_center(np.concatenate([x, y]), psi) if center is None else center
    px, py = psi(x - c), psi(y - c)
    if center is not None:
        parts = px.var(ddof=1) / n, py.var(ddof=1) / m
    else:
        near = x - excess(x, y)
        at = m_center(np.concatenate([near, y]), psi)
        a, b = np.mean(slope(near - at)), np.mean(slope(y - at))
        factor = (n + m) ** 2 / (n * a + m * b) ** 2
        parts = factor * b**2 * px.var(ddof=1) / n, factor * a**2 * py.var(ddof=1) / m
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    return float(px.mean() - py.mean()), math.sqrt(sum(parts)), float(df)


def tails(x: Array, y: Array, psi: Callable[[Any], Any], t: float, df: float) -> Array:
    """Upper and lower p-value: each is the larger of Student's and that under relabelling.

    ψ is taken at the pooled centre. Moments of the law are exact; its shape is Pearson's type III.
    """
    from scipy import stats

    n, m = x.size, y.size
    total = n + m
    pooled = psi(np.concatenate([x, y]))
    spread = math.sqrt(pooled.var(ddof=1) * (1 / n + 1 / m))
    skew = stats.skew(pooled) * (m - n) * math.sqrt(total - 1) / (math.sqrt(n * m) * (total - 2))
    z = (pooled[:n].mean() - pooled[n:].mean()) / spread
    # Pearson's type III is a gamma law, mirrored for a negative skewness
    law, mirror = stats.gamma(4 / skew**2), math.copysign(1.0, skew)
    at = 4 / skew**2 + mirror * z * 2 / abs(skew)
    upper, lower = (law.sf(at), law.cdf(at)) if mirror > 0 else (law.cdf(at), law.sf(at))
    w = -stats.norm.ppf(upper) if z > 0 else stats.norm.ppf(lower)
    again = w * math.sqrt((total - 2) / (total - 1 - w * w))
    student = np.array([stats.t.sf(t, df), stats.t.cdf(t, df)])
    relabelled = np.array([stats.t.sf(again, total - 2), stats.t.cdf(again, total - 2)])
    return np.asarray(np.maximum(student, relabelled))


def units(
    x: Array,
    y: Array,
    labels: tuple[list[str], list[str]],
    psi: Callable[[Any], Any],
    slope: Callable[[Any], Any],
    weigh: str,
) -> tuple[float, float, float, float]:
    """Statistic, standard error, degrees of freedom and shift of section 2.7, unit by unit.

    The samples must be no farther apart than chance explains. Equal labels are one unit.
    """
    sides = [
        {u: side[[label == u for label in names]] for u in dict.fromkeys(names)}
        for side, names in zip((x, y), labels, strict=True)
    ]
    shared = sides[0].keys() & sides[1].keys()
    if weigh == "units":
        sides = [{u: v for u, v in side.items() if u in shared} for side in sides]
    sizes = [sum(v.size for v in side.values()) for side in sides]
    per_unit = sum(sizes) / 2 / len(shared)
    totals = [sum(sizes) / 2] * 2 if weigh == "units" else sizes

    def weight(values: Array) -> float:
        return per_unit / values.size if weigh == "units" else 1.0

    def total(side: dict[str, Array], function: Callable[[Any], Any]) -> float:
        return float(sum(weight(v) * function(v).sum() for v in side.values()))

    def root(kept: list[dict[str, Array]]) -> float:
        def above(c: float) -> float:
            return sum(total(side, lambda v: psi(v - c)) for side in kept)

        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) > 0 else (low, middle)
        return float((low + high) / 2)

    c = root(sides)
    a, b = (total(s, lambda v: slope(v - c)) / n for s, n in zip(sides, totals, strict=True))
    both = sum(totals) / (totals[0] * a + totals[1] * b)
    weights = both * b, both * a
    means = [total(s, lambda v: psi(v - c)) / n for s, n in zip(sides, totals, strict=True)]
    squares = [
        (total(s, lambda v: psi(v - c) ** 2) - n * mean**2) / (n - 1)
        for s, n, mean in zip(sides, totals, means, strict=True)
    ]

    def moved(i: int, u: str) -> float:
        """How far mean ψ of a side moves if a unit is left out, times its weight in D."""
        if u not in sides[i]:
            return 0.0
        left = {k: v for k, v in sides[i].items() if k != u}
        without = total(left, lambda v: psi(v - c)) / total(left, np.ones_like)
        many = len(sides[i])
        return weights[i] * (means[i] - without) * math.sqrt((many - 1) / many)

    parts: dict[tuple[bool, bool], list[tuple[float, float, float, float]]] = {}
    for u in sides[0].keys() | sides[1].keys():
        held = [total({u: s[u]}, np.ones_like) / n if u in s else 0.0
                for s, n in zip(sides, totals, strict=True)]  # fmt: skip
        expected = sum(
            w**2 * v * h / n for w, v, h, n in zip(weights, squares, held, totals, strict=True)
        )
        kind = u in sides[0], u in sides[1]
        square = (moved(0, u) - moved(1, u)) ** 2
        parts.setdefault(kind, []).append((square, expected, held[0], held[1]))
    variance, inverse = sum(p[0] for kind in parts.values() for p in kind), 0.0
    for kind, rows in parts.items():
        part, expected, in_x, in_y = np.sum(rows, axis=0)
        effective = expected**2 / sum(row[1] ** 2 for row in rows)
        inverse += (part / variance) ** 2 / (effective - (in_x + in_y) / sum(kind))
    shift = root(sides[:1]) - root(sides[1:])
    return means[0] - means[1], math.sqrt(variance), 1 / inverse, shift


def adjusted(
    x: Array,
    y: Array,
    g: tuple[Array, Array],
    psi: Callable[[Any], Any],
    slope: Callable[[Any], Any],
) -> tuple[float, float, float]:
    """D_adj, its standard error and degrees of freedom of section 2.8, for columns g.

    θ comes from a least-squares fit with a level for each side. The samples must be no farther
    apart than chance explains.
    """
    n, m = x.size, y.size
    k = g[0].shape[1]

    def centred(a: Array) -> Array:
        return np.asarray(a - a.mean(axis=0))

    c = m_center(np.concatenate([x, y]), psi)
    a, b = slope(x - c).mean(), slope(y - c).mean()
    weights = (n + m) * b / (n * a + m * b), (n + m) * a / (n * a + m * b)
    e = [w * psi(side - c) for w, side in zip(weights, (x, y), strict=True)]
    sides = np.repeat([0, 1], [n, m])
    design = np.column_stack([sides == 0, sides == 1, np.concatenate(g)])
    theta = np.linalg.lstsq(design.astype(float), np.concatenate(e), rcond=None)[0][2:]
    apart = g[0].mean(axis=0) - g[1].mean(axis=0)
    grams = [centred(side).T @ centred(side) for side in g]
    leaning = np.linalg.solve(grams[0] + grams[1], apart)
    parts, freedoms = [], []
    for part, columns, gram, size in zip(e, g, grams, (n, m), strict=True):
        left = centred(part - columns @ theta)
        freedoms.append(size - 1 - k * size / (n + m))
        parts.append(left @ left / freedoms[-1] * (1 / size + leaning @ gram @ leaning))
    total = sum(parts)
    df = 1 / sum((p / total) ** 2 / f for p, f in zip(parts, freedoms, strict=True))
    statistic = psi(x - c).mean() - psi(y - c).mean() - theta @ apart
    return float(statistic), math.sqrt(total), float(df)


def weighted(
    x: Array,
    y: Array,
    weights: tuple[Array, Array],
    psi: Callable[[Any], Any],
    slope: Callable[[Any], Any],
) -> tuple[float, float, float, float]:
    """Statistic, standard error, degrees of freedom and shift of weighted values, one by one."""
    sizes = [w.sum() ** 2 / (w**2).sum() for w in weights]
    shares = [w / w.sum() for w in weights]

    def root(sides: list[tuple[Array, Array, float]]) -> float:
        low, high = min(s[0].min() for s in sides), max(s[0].max() for s in sides)
        for _ in range(200):
            middle = (low + high) / 2
            above = sum(size * (w @ psi(v - middle)) for v, w, size in sides)
            low, high = (middle, high) if above > 0 else (low, middle)
        return float((low + high) / 2)

    sides = list(zip((x, y), shares, sizes, strict=True))
    c = root(sides)
    a, b = (float(w @ slope(v - c)) for v, w, _ in sides)
    both = sum(sizes) / (sizes[0] * a + sizes[1] * b)
    parts, means = [], []
    for (values, w, size), factor in zip(sides, (both * b, both * a), strict=True):
        mean = float(w @ psi(values - c))
        count = values.size
        without = [
            (np.delete(w, i) @ psi(np.delete(values, i) - c)) / np.delete(w, i).sum()
            for i in range(count)
        ]
        jackknife = (count - 1) / count * sum((mean - other) ** 2 for other in without)
        parts.append((factor**2 * jackknife, size - 1))
        means.append(mean)
    total = sum(part for part, _ in parts)
    df = 1 / sum((part / total) ** 2 / f for part, f in parts)
    shift = root(sides[:1]) - root(sides[1:])
    return means[0] - means[1], math.sqrt(total), float(df), shift


def log_mixture(t: float, df: float, information: float, r: float) -> float:
    """ln E of the t mixture: the mean likelihood ratio of t over a normal prior of the shift.

    Given the shift in standard errors, t is noncentral. Over a normal prior with variance I/r that
    makes t a Student t stretched by √(1 + I/r): the ratio of two densities.
    """
    stretch = mp.sqrt(1 + mp.mpf(information) / r)

    def log_density(value: Any) -> Any:
        return -(mp.mpf(df) + 1) / 2 * mp.log(1 + value * value / df)

    return float(log_density(t / stretch) - mp.log(stretch) - log_density(mp.mpf(t)))


def arms_log_e(
    x: Array,
    y: Array,
    functions: tuple[Callable[[Any], Any], Callable[[Any], Any]],
    scale: float,
    r: float,
) -> float:
    """ln E of two arms at no shift, by the definitions: the smaller with own and pooled variance.

    ``functions`` are ψ and ψ'. Only for arms within three standard errors of each other.
    """
    psi, slope = functions
    n, m = x.size, y.size
    center = m_center(np.concatenate([x, y]), psi)
    of_x, of_y = psi(x - center), psi(y - center)
    a, b = float(np.mean(slope(x - center))), float(np.mean(slope(y - center)))
    difference = float(of_x.mean() - of_y.mean())
    parts = [
        (n + m) ** 2 * b**2 * of_x.var(ddof=1) / n / (n * a + m * b) ** 2,
        (n + m) ** 2 * a**2 * of_y.var(ddof=1) / m / (n * a + m * b) ** 2,
    ]
    within = ((n - 1) * of_x.var(ddof=1) + (m - 1) * of_y.var(ddof=1)) / (n + m - 2)
    # degrees of freedom: each arm at its own centre
    own = [side - m_center(side, psi) for side in (x, y)]
    shares = [psi(z).var(ddof=1) / (z.size * float(np.mean(slope(z))) ** 2) for z in own]
    df = sum(shares) ** 2 / (shares[0] ** 2 / (n - 1) + shares[1] ** 2 / (m - 1))
    per_shift = (n + m) * a * b / (n * a + m * b)
    evidence = []
    for variance, freedom in ((sum(parts), df), (within * (1 / n + 1 / m), n + m - 2)):
        information = (scale * per_shift) ** 2 / variance
        evidence.append(log_mixture(difference / math.sqrt(variance), freedom, information, r))
    return min(evidence)


def shiryaev_roberts(p: Array, bets: Sequence[float], tolerance: float) -> list[float]:
    """The mean of the sums over bets and both sides after each value: sums over all beginnings."""
    means = []
    for end in range(1, p.size + 1):
        total = 0.0
        for side in (1.0, -1.0):
            for bet in bets:
                stake = bet / (1.0 + tolerance)
                factors = 1.0 + stake * (side * p[:end] - tolerance)
                total += sum(float(np.prod(factors[start:])) for start in range(end))
        means.append(total / (2 * len(bets)))
    return means


def radial_psi(z: Array) -> Array:
    """d·E[u ψ(u·z)] over uniform directions u, by quadrature over the angle between u and z.

    ψ has σ = τ = max(d^(−1/3), 0.2).
    """
    d, r = z.size, float(np.linalg.norm(z))
    width = max(d ** (-1 / 3), 0.2)
    # u·z/r = sin θ has the density ∝ cos^(d − 2) θ dθ; narrow panels where ψ bends
    theta, weights = _panels([0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, math.pi / 2], 16)
    density = weights * np.cos(theta) ** (d - 2)
    along = np.sin(theta)
    psi = width * _psi_of_one(r / width * along)
    return np.asarray(d * np.sum(density * along * psi) / np.sum(density) * z / r)


def _psi_of_one(x: Array) -> Array:
    """ψ(x) for σ = τ = 1: ∫ e^{−t} (tanh(x + t) + tanh(x − t)) dt over t > 0."""
    t, weights = _panels(list(range(0, 37, 2)), 18)
    both = np.tanh(x[:, None] + t) + np.tanh(x[:, None] - t)
    return np.asarray(both @ (weights * np.exp(-t)))


def _panels(edges: list[float], count: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre on each interval."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = np.diff(np.array(edges, dtype=np.float64))[:, None] / 2
    return (np.array(edges[:-1])[:, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def vector_center(rows: Array, start: Array) -> Array:
    """The c with Σ Ψ(row − c) = 0, by a general solver."""
    from scipy.optimize import root

    def total(c: Array) -> Array:
        return np.asarray(np.sum([radial_psi(row - c) for row in rows], axis=0))

    return np.asarray(root(total, start, tol=1e-11).x)


def vector_slope(rows: Array) -> Array:
    """The mean of ∂Ψ/∂z over rows, by differences."""
    d, h = rows.shape[1], 1e-5
    slope = np.zeros((d, d))
    for row in rows:
        for j in range(d):
            step = h * np.eye(d)[j]
            slope[:, j] += (radial_psi(row + step) - radial_psi(row - step)) / (2 * h) / len(rows)
    return slope
