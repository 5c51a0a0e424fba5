"""The pictures of a comparison for a notebook: the page's figures, painted without styles."""

from __future__ import annotations

from typing import Any

from dkmd.figures.colours import EITHER, in_notebook
from dkmd.figures.curves import curves_of
from dkmd.figures.drawings import cdf, density, kind_of
from dkmd.figures.svg import escape
from dkmd.result import ExactOutcome
from dkmd.sources.arrays import Array


def pictures(
    outcome: Any,
    verdict: str,
    labels: tuple[str, str],
    unit: str,
    values: tuple[Array, Array] | None = None,
) -> str:
    """Density and cdf side by side with a legend; nothing where nothing could be compared."""
    if not isinstance(outcome, ExactOutcome):
        return ""
    kind = kind_of(verdict)
    curves, paint = curves_of(outcome, values), in_notebook(kind)
    legend = " ".join(
        f'<svg width="14" height="12" role="img" aria-label=""><rect y="2" width="14" height="9" '
        f'rx="2" fill="{EITHER[colour]}"/></svg> <bdi>{escape(label)}</bdi>&emsp;'
        for colour, label in zip(("reference", kind), labels, strict=True)
    )
    return f"<p>{legend}</p><p>{density(curves, paint, unit)} {cdf(curves, paint)}</p>"
