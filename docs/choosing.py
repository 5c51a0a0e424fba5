"""Write the table and the figure of docs/choosing.md: five tests on the same simulated data.

``python docs/choosing.py`` draws 1,000 pairs of samples of each scene (seed 2031), runs every test
on each pair, and counts how often its p-value is below 5%. It takes a few minutes.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ks_2samp, mannwhitneyu, ttest_ind

from dkmd import dkmd_2samp
from dkmd.base.arrays import Array
from dkmd.base.whole_files import write_whole
from dkmd.render.figures.colours import DARK, LIGHT
from dkmd.render.figures.svg import drawing, line, number, words

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "choosing.md"
OUT = ROOT / "docs" / "choosing"
TRIALS, SEED, ALPHA = 1000, 2031, 0.05
RELABELLINGS = 199

Draw = Callable[[np.random.Generator, int, int], tuple[Array, Array]]


class Scene(NamedTuple):
    """A way in which two samples differ: x and y are drawn with one row per trial."""

    name: str
    moved: bool  # whether a shift is there to be found
    sizes: tuple[int, int]
    draw: Draw


def _normal(shift: float, wide: float = 1.0) -> Draw:
    def draw(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
        return rng.normal(shift, wide, (TRIALS, n)), rng.normal(0.0, 1.0, (TRIALS, m))

    return draw


def _hung(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    """Latencies around 100 ms, x 4 ms slower; one request of y hung for 9 s."""
    x, y = rng.gamma(4.0, 5.0, (TRIALS, n)) + 84.0, rng.gamma(4.0, 5.0, (TRIALS, m)) + 80.0
    y[:, 0] = 9000.0
    return x, y


def _heavy(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    return rng.standard_t(2.0, (TRIALS, n)) + 0.6, rng.standard_t(2.0, (TRIALS, m))


def _revenue(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    """Skewed amounts, x half as large again."""
    return rng.lognormal(np.log(1.5), 1.0, (TRIALS, n)), rng.lognormal(0.0, 1.0, (TRIALS, m))


def _rare(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    """Errors per request, 1 in 20 on both sides."""
    return (
        (rng.random((TRIALS, n)) < 0.05).astype(float),
        (rng.random((TRIALS, m)) < 0.05).astype(float),
    )


SCENES = (
    Scene("normal, shift 0.4 sd", True, (100, 100), _normal(0.4)),
    Scene("latencies, 4% slower, one hung", True, (100, 100), _hung),
    Scene("heavy tails (t2), shift 0.6", True, (100, 100), _heavy),
    Scene("skewed amounts, × 1.5", True, (100, 100), _revenue),
    Scene("twice as wide, no shift", False, (100, 100), _normal(0.0, 2.0)),
    Scene("three times as wide, few values", False, (30, 300), _normal(0.0, 3.0)),
    Scene("rare events, no change", False, (20, 400), _rare),
)


def welch(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """p-values of Welch's t-test, one per row."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = ttest_ind(x, y, axis=1, equal_var=False).pvalue
    return np.asarray(np.nan_to_num(found, nan=1.0))


def mann_whitney(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """p-values of the Mann-Whitney test, one per row."""
    return np.asarray(mannwhitneyu(x, y, axis=1).pvalue)


def kolmogorov_smirnov(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """p-values of the Kolmogorov-Smirnov test, one per row."""
    return np.array([ks_2samp(a, b, method="asymp").pvalue for a, b in zip(x, y, strict=True)])


def mmd(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """p-values of Laplacian MMD² with the median distance as width, by relabelling."""
    return np.array([_mmd_pvalue(a, b, rng) for a, b in zip(x, y, strict=True)])


def _mmd_pvalue(x: Array, y: Array, rng: np.random.Generator) -> float:
    pooled = np.concatenate([x, y])
    apart = np.abs(pooled[:, None] - pooled)
    width = np.median(apart[apart > 0.0]) if np.any(apart > 0.0) else 1.0
    gram = np.exp(-apart / width)
    first = np.concatenate([np.full(x.size, 1.0 / x.size), np.full(y.size, -1.0 / y.size)])
    weights = np.stack([first, *(rng.permutation(first) for _ in range(RELABELLINGS))])
    values = np.einsum("ij,ij->i", weights @ gram, weights)
    return float(np.mean(values >= values[0] * (1.0 - 1e-12)))


def dkmd(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """p-values of dkmd_2samp, one per row."""
    return np.asarray(dkmd_2samp(x, y, axis=1).pvalue)


TESTS: dict[str, Callable[[Array, Array, np.random.Generator], Array]] = {
    "Welch's t": welch,
    "Mann-Whitney": mann_whitney,
    "Kolmogorov-Smirnov": kolmogorov_smirnov,
    "MMD²": mmd,
    "dkmd": dkmd,
}


def shares(scene: Scene, trials: int = TRIALS, seed: int = SEED) -> dict[str, float]:
    """How often each test finds a difference in the scene, at 5%."""
    rng = np.random.default_rng([seed, SCENES.index(scene)])
    x, y = (side[:trials] for side in scene.draw(rng, *scene.sizes))
    return {name: float(np.mean(test(x, y, rng) < ALPHA)) for name, test in TESTS.items()}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """The Markdown table: a row for each scene."""
    lines = ["| data | sizes | " + " | ".join(TESTS) + " |", "|---" * (len(TESTS) + 2) + "|"]
    for scene in SCENES:
        cells = [f"{100.0 * share:.0f}%" for share in found[scene.name].values()]
        sizes = f"{scene.sizes[0]}:{scene.sizes[1]}"
        lines.append(f"| {scene.name} | {sizes} | {' | '.join(cells)} |")
    return "\n".join(lines)


WIDTH, ROW, LEFT, TOP = 760.0, 30.0, 236.0, 66.0
STEP = (WIDTH - LEFT - 20.0) / len(TESTS)


def figure(found: Mapping[str, Mapping[str, float]], palette: Mapping[str, str]) -> str:
    """A bar for each share. What should be found is blue, a false alarm is orange."""
    height = TOP + ROW * (0.8 * len(SCENES) + 1.1) + 8.0
    parts = [f'<rect width="{number(WIDTH)}" height="{number(height)}" fill="{palette["paper"]}"/>']
    for i, name in enumerate(TESTS):
        for row, part in enumerate(reversed(name.split("-"))):  # long names in two lines
            at = TOP - 30.0 - 14.0 * row
            parts.append(_text(LEFT + i * STEP, at, part, palette["ink"], 11.5, name == "dkmd"))
    across = TOP - 8.0
    for group, moved in (("A shift is there", True), ("No shift is there", False)):
        parts.append(_text(16.0, across, group, palette["muted"], 11.5, True))
        for scene in (each for each in SCENES if each.moved == moved):
            across += ROW * 0.8
            parts.append(_text(16.0, across, scene.name, palette["ink"], 12.5))
            for i, share in enumerate(found[scene.name].values()):
                parts += _bar(LEFT + i * STEP, across, share, moved, palette)
        across += ROW * 1.1
    told = "How often five tests find a difference. " + ". ".join(
        f"{scene.name}: " + ", ".join(f"{n} {100 * s:.0f}%" for n, s in found[scene.name].items())
        for scene in SCENES
    )
    svg = drawing(WIDTH, height, parts, told)
    style = "font-family='system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif'"
    return svg.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {style} ', 1) + "\n"


def _bar(x: float, y: float, share: float, moved: bool, palette: Mapping[str, str]) -> list[str]:
    """A bar on a line of its full length, with the share in percent beside it."""
    full = STEP - 48.0
    colour = palette["down"] if moved else palette["up"]
    quiet = f'fill="none" stroke="{palette["muted"]}" stroke-opacity=".35"'
    return [
        line(x, y - 4.0, x + full, y - 4.0, quiet),
        f'<rect x="{number(x)}" y="{number(y - 9.0)}" width="{number(max(share * full, 1.0))}" '
        f'height="10" rx="1.5" fill="{colour}"/>',
        _text(x + full + 5.0, y, f"{100.0 * share:.0f}%", palette["ink"], 11.5),
    ]


def _text(x: float, y: float, text: str, colour: str, size: float, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return words(x, y, text, f'fill="{colour}" font-size="{size}"{weight}')


def main() -> None:
    """Write the figure in both palettes, and the table into the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    found = {scene.name: shares(scene) for scene in SCENES}
    OUT.mkdir(exist_ok=True)
    for name, palette in (("light", LIGHT), ("dark", DARK)):
        write_whole(OUT / f"{name}.svg", figure(found, palette))
    print(table(found))
    mark = re.compile(r"(?<=<!-- shares -->\n)(?:\|.*\n)*")
    if PAGE.exists():
        write_whole(PAGE, mark.sub(table(found) + "\n", PAGE.read_text()))


if __name__ == "__main__":
    main()
