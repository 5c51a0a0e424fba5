"""Compare two samples of a number: which way did it move, by how much, and how sure is that?

The public names stand in ``__init__.pyi``. They are imported on first use: ``dkmd --version``
and a stray ``import dkmd`` do not load Numba.
"""

import lazy_loader as _lazy

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
