"""The pages of the browser tests, and a page object that records what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Page

import dkmd
from dkmd.answers.gate import Gate, gate
from dkmd.sources.files.benchmarks import Measurements

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "</title><svg onload=alert(3)>",
    "\" onmouseover='alert(4)' x=\"&lt;b&gt;",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "a long name " + "x" * 400,
)


def write_pages(folder: Path) -> None:
    """A page of every kind, and one of 500 columns."""
    rng = np.random.default_rng(7)
    before, after = rng.gamma(4, 5, 400) + 80, rng.gamma(4, 5, 400) + 85
    after[:4] = np.inf
    dkmd.compare(before, after, margin="2%").report(folder / "compare.html")
    dkmd.drift(_frame(0.0), _frame(1.0), margin="0.1sd").report(folder / "drift.html")
    _gate().report(folder / "gate.html")
    _segmented().report(folder / "segments.html")
    _wide(rng, 500).report(folder / "wide.html")
    _wide(rng, 40).report(folder / "forty.html")


def _frame(moved: float) -> pd.DataFrame:
    """Columns of every kind: moved, tied, infinite, missing, constant, with malicious names."""
    rng = np.random.default_rng(3 + int(moved))
    n = 300
    columns: dict[str, Any] = {
        "up": rng.normal(10, 1, n) + moved,
        "down": rng.normal(10, 1, n) - 0.8 * moved,
        "same": rng.normal(0, 1, n),
        "counts": rng.poisson(3, n),
        "yes_or_no": rng.random(n) < 0.4,
        "zeros": np.where(rng.random(n) < 0.9, 0.0, rng.lognormal(2, 1, n)),
        "timeouts_s": np.where(rng.random(n) < 0.02, np.inf, rng.gamma(3, 2, n)),
        "missing": np.where(rng.random(n) < 0.1 + 0.3 * moved, np.nan, rng.normal(size=n)),
        "constant": np.full(n, 3.0),
        "service.http/requests-total_of_all_regions": 1.0 + 1e-11 * rng.gamma(4, 1, n),
        "words": "text",
    }
    return pd.DataFrame(columns | {attack: rng.normal(size=n) for attack in ATTACKS})


def _segmented() -> dkmd.Segmented:
    """Segments of two columns, some with malicious names and one too small to judge."""
    rng = np.random.default_rng(11)
    names = [*ATTACKS[:4], "a", "b"]

    def table(moved: float) -> pd.DataFrame:
        place = rng.choice([*names, "few"], 900, p=[0.166] * 6 + [0.004])
        device = rng.choice(["phone", "desk"], 900)
        return pd.DataFrame(
            {"ms": rng.gamma(4, 5, 900) + moved * (place == "a"), "place": place, "device": device}
        )

    return dkmd.compare(table(0.0), table(9.0), column="ms", segments=["place", "device"])


def _gate() -> Gate:
    rng = np.random.default_rng(5)

    def build(factor: float, extra: str) -> dict[str, Measurements]:
        names = ("fast", "slow", extra)
        times = {name: (rng.gamma(50, 0.02, 40) * factor).tolist() for name in names}
        times["fast"] = rng.gamma(50, 0.02, 40).tolist()
        found = {name: Measurements("s", t, list(range(len(t)))) for name, t in times.items()}
        return found | {"once": Measurements("s", [1.0], [0])}

    return gate(build(1.0, ATTACKS[0]), build(1.4, ATTACKS[1]), margin="5%")


def _wide(rng: np.random.Generator, columns: int) -> dkmd.Drift:
    """A drift of many columns."""

    def table(moved: float) -> pd.DataFrame:
        return pd.DataFrame(
            {f"column_{i:03d}": rng.normal(moved * (i % 9 == 0), 1, 250) for i in range(columns)}
        )

    return dkmd.drift(table(0.0), table(0.4))


@dataclass
class Watched:
    """An open page and what went wrong in it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def rows(self) -> list[str]:
        """The visible names, in order."""
        names: list[str] = self.page.locator("tbody:visible > .row > th").all_inner_texts()
        return [name.strip() for name in names]

    def violations(self) -> list[str]:
        """What the page's security policy blocked."""
        found: list[str] = self.page.evaluate("window.refused || []")
        return found


Open = Callable[..., Watched]
