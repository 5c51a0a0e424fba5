"""Write the shipped pair of samples: request latencies in ms before and after a change.

``after`` is 8 ms slower throughout. One request of ``before`` hung for 9 seconds.
Run ``python examples/make_samples.py`` to write the same files again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Draw, round to 0.1 ms, write one number per line."""
    rng = np.random.default_rng(20)
    before = 90.0 + rng.gamma(4.0, 4.0, size=60)
    after = 98.0 + rng.gamma(4.0, 4.0, size=50)
    before[41] = 9_000.0
    for name, values in (("before", before), ("after", after)):
        (DATA / f"{name}.txt").write_text("".join(f"{v:.1f}\n" for v in values))


if __name__ == "__main__":
    main()
