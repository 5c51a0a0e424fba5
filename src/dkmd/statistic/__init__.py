"""The statistic: ψ, its exact and Riemann estimators, population values, and peers."""

import lazy_loader as _lazy

# `dkmd.peers` is a module among the public names: it is imported on first use
__getattr__, __dir__, __all__ = _lazy.attach(__name__, submodules=["peers"])
