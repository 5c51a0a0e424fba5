"""Two samples of a number: which way did it move, by how much, and is that real?"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dkmd import peers
    from dkmd.compare import compare, drift
    from dkmd.comparison import Comparison, Comparisons, Drift
    from dkmd.embedding import embedding_difference
    from dkmd.exact import exact
    from dkmd.grid import Grid
    from dkmd.margins import equivalence, verdict
    from dkmd.planning import detectable_shift, power, sample_size
    from dkmd.population import population
    from dkmd.result import DkmdResult
    from dkmd.riemann import RiemannBlock, RiemannWitness, riemann, riemann_witness
    from dkmd.summary import Summary
    from dkmd.summary_file import SummaryFileError
    from dkmd.two_sample import dkmd_2samp
    from dkmd.witness import Witness

__version__ = "0.2.0"

__all__ = [
    "Comparison",
    "Comparisons",
    "DkmdResult",
    "Drift",
    "Grid",
    "RiemannBlock",
    "RiemannWitness",
    "Summary",
    "SummaryFileError",
    "Witness",
    "compare",
    "detectable_shift",
    "dkmd_2samp",
    "drift",
    "embedding_difference",
    "equivalence",
    "exact",
    "peers",
    "population",
    "power",
    "riemann",
    "riemann_witness",
    "sample_size",
    "verdict",
]

# Names are imported on first use: `dkmd --version` and a stray `import dkmd` need not load Numba.
_HOMES = {
    "Comparison": "comparison",
    "Comparisons": "comparison",
    "DkmdResult": "result",
    "Drift": "comparison",
    "Grid": "grid",
    "RiemannBlock": "riemann",
    "RiemannWitness": "riemann",
    "Summary": "summary",
    "SummaryFileError": "summary_file",
    "Witness": "witness",
    "compare": "compare",
    "detectable_shift": "planning",
    "dkmd_2samp": "two_sample",
    "drift": "compare",
    "embedding_difference": "embedding",
    "equivalence": "margins",
    "exact": "exact",
    "population": "population",
    "power": "planning",
    "riemann": "riemann",
    "riemann_witness": "riemann",
    "sample_size": "planning",
    "verdict": "margins",
}


if not TYPE_CHECKING:  # a checker must not take every name for one of ours

    def __getattr__(name: str) -> object:
        if name == "peers":
            return _import_module("dkmd.peers")
        if name not in _HOMES:
            raise AttributeError(f"module 'dkmd' has no attribute {name!r}")
        value = getattr(_import_module(f"dkmd.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(_ModuleType):
    """Keeps ``dkmd.exact`` the function: importing the module of that name must not replace it."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
