"""Slow, obvious versions of everything, in high precision where it matters. Imports no dkmd.

The definitions are the paper's sums and integrals. There are no scans and no tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

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


def closed_psi(u: Array) -> Array:
    """ψ/2σ at u = x/σ for σ = τ: ±[atan(t)/t − t·(π/2 − atan t)] with t = e^(−|u|)."""
    t = np.exp(-np.minimum(np.abs(u), 700.0))
    angle = np.arctan(t)
    return np.asarray(np.sign(u) * (angle / t - t * (0.5 * np.pi - angle)))


class PairScores(NamedTuple):
    """The scores of section 2.3 in units of 2σ: h (n,), g (m,) and Ψ (n + m,)."""

    h: Array
    g: Array
    pooled: Array


def pair_scores(x: Array, y: Array, sigma: float) -> PairScores:
    """Scores by a loop over all pairs. inf − inf counts as 0."""
    pooled = np.concatenate([x, y])

    def psi(a: Array, b: Array) -> Array:
        with np.errstate(invalid="ignore"):
            away = (a[:, None] - b[None, :]) / sigma
        return closed_psi(np.where(np.isnan(away), 0.0, away))

    table = psi(x, y)
    return PairScores(table.mean(axis=1), table.mean(axis=0), psi(pooled, pooled).mean(axis=1))


def robust_scale(x: Array, y: Array) -> float:
    """s of section 2.3, with each value repeated: one median of weighted distances."""
    distances, weights, ranges = [], [], []
    for values in (x[np.isfinite(x)], y[np.isfinite(y)]):
        if values.size:
            distances.append(np.abs(values - quantile(values, 0.5)))
            weights.append(np.full(values.size, min(1.0, values.size / 20.0) / values.size))
            ranges.append(quantile(values, 0.75) - quantile(values, 0.25))
    away, weight = np.concatenate(distances), np.concatenate(weights)
    if weight[away == 0.0].sum() >= 0.5 * weight.sum() - 1e-12:
        away, weight = away[away > 0.0], weight[away > 0.0]
    if not away.size:
        return 0.0
    order = np.argsort(away)
    reached = np.cumsum(weight[order])
    middle = away[order][np.argmax(reached >= 0.5 * reached[-1] - 1e-12)]
    return float(max(1.4826 * middle, np.mean(ranges) / 1.349))


def two_sample(
    x: Array, y: Array, psi: Callable[[Any], Any], center: float
) -> tuple[float, float, float]:
    """mean ψ(x) − mean ψ(y) at a fixed centre, Welch's standard error and degrees of freedom."""
    n, m = x.size, y.size
    px, py = psi(x - center), psi(y - center)
    parts = px.var(ddof=1) / n, py.var(ddof=1) / m
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    return float(px.mean() - py.mean()), math.sqrt(sum(parts)), float(df)


def differences(x: Array, y: Array, sigma: float, guard: bool = True) -> tuple[float, ...]:
    """T/2σ, its standard error, df, and both tails of section 2.6, from the scores themselves."""
    from scipy import stats

    n, m = x.size, y.size
    h, g, pooled = pair_scores(x, y, sigma)
    mean, parts = float(h.mean()), (h.var(ddof=1) / n, g.var(ddof=1) / m)
    error = math.sqrt(sum(parts))
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    upper, lower = stats.t.sf(mean / error, df), stats.t.cdf(mean / error, df)
    if guard:
        tails_of_guard = [_guard(n, m, pooled, sign * mean, sign) for sign in (1, -1)]
        upper, lower = max(upper, tails_of_guard[0]), max(lower, tails_of_guard[1])
    return mean, error, float(df), float(upper), float(lower)


def _guard(n: int, m: int, pooled: Array, mean: float, sign: int) -> float:
    """The smaller tail of Pearson III under relabelling and of Hall's smooth form."""
    from scipy import stats

    total = n + m
    skew = stats.skew(pooled) * (m - n) * math.sqrt(total - 1) / (math.sqrt(n * m) * (total - 2))
    skew *= sign
    z = mean / math.sqrt(pooled.var(ddof=1) * (1 / n + 1 / m))
    # below 1.6e-5 SciPy takes Pearson III for the normal law; so few terms are better
    w = z - skew * (z**2 - 1) / 6 + skew**2 * (4 * z**3 - 7 * z) / 36
    if abs(skew) > 1e-4:
        w = -stats.norm.ppf(stats.pearson3(skew).sf(z))
    relabelled = stats.t.sf(w * math.sqrt((total - 2) / (total - 1 - w * w)), total - 2)
    few = [min(1.0, 10.0 / size) ** 3 for size in (n, m)]
    within = sum(part.var() * part.size for part in (pooled[:n], pooled[n:])) / (total - 2)
    smooth = (
        ((1 - few[0]) * pooled[:n].var(ddof=1) / n, n - 1),
        ((1 - few[1]) * pooled[n:].var(ddof=1) / m, m - 1),
        ((few[0] / n + few[1] / m) * within, total - 2),
    )
    variance = sum(part for part, _ in smooth)
    df = variance**2 / sum(part**2 / free for part, free in smooth)
    t = mean / math.sqrt(variance)
    hall = t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6
    return float(min(relabelled, max(stats.t.sf(t, df), stats.t.sf(hall, df))))


def tails(x: Array, y: Array, psi: Callable[[Any], Any], t: float, df: float) -> Array:
    """Upper and lower p-value of a fixed ψ: the larger of Student's and that under relabelling."""
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


def arms_log_e(x: Array, y: Array, sigma: float, scale: float, r: float) -> float:
    """ln E of two arms at no shift, by the definitions: the smaller with own and pooled variance.

    Var(shift) is Var T/(dT/dδ)² at the shift, with the slope as a difference quotient.
    """
    from scipy.optimize import brentq

    n, m = x.size, y.size
    h, g, pooled = pair_scores(x, y, sigma)
    mean, parts = h.mean(), (h.var(ddof=1) / n, g.var(ddof=1) / m)
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))

    def at(delta: float) -> float:
        return float(pair_scores(x - delta, y, sigma).h.mean())

    shift = brentq(at, -1e3 * sigma, 1e3 * sigma, xtol=1e-14)
    step = 1e-4 * sigma
    slope = (at(shift - step) - at(shift + step)) / (2.0 * step)
    moved = pair_scores(x - shift, y, sigma)
    variance = (moved.h.var(ddof=1) / n + moved.g.var(ddof=1) / m) / slope**2
    squares = (n - 1) * pooled[:n].var(ddof=1) + (m - 1) * pooled[n:].var(ddof=1)
    values, within = 1 / (1 / n + 1 / m), squares / (n + m - 2)
    return min(
        log_mixture(mean / math.sqrt(sum(parts)), df, scale**2 / variance, r),
        log_mixture(mean / math.sqrt(within / values), n + m - 2, values, r),
    )


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
