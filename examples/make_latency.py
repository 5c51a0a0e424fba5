"""Write the shipped latencies: requests in ms before and after a change, time-outs as inf.

There are 1,000 requests per side, in order of arrival. After the change each takes about 5% longer,
and a few more time out. Run ``python examples/make_latency.py`` to write the same files again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
SIZE = 1000


def main() -> None:
    """Draw, round to 0.1 ms, write one request per line."""
    rng = np.random.default_rng(7)
    for name, factor, lost in (("before", 1.0, 4), ("after", 1.05, 9)):
        latency = factor * (80.0 + rng.gamma(4.0, 5.0, size=SIZE))
        latency[rng.choice(SIZE, lost, replace=False)] = np.inf
        lines = "".join(f"{value:.1f}\n" for value in latency)
        (DATA / f"latency_{name}.csv").write_text("latency_ms\n" + lines)


if __name__ == "__main__":
    main()
