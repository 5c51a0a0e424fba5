"""A small workload to time: it joins and counts words. ``--extra`` makes it do more."""

from __future__ import annotations

import argparse
from collections import Counter


def count_words(rounds: int) -> int:
    """Build a text, split it, count its words; returns how many there are."""
    words = [f"word{i * i % 977}" for i in range(4_000)]
    total = 0
    for _ in range(rounds):
        total += len(Counter(" ".join(words).split()))
    return total


def main() -> None:
    """Run once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--extra", type=int, default=0, help="more rounds, to slow it down")
    arguments = parser.parse_args()
    print(count_words(arguments.rounds + arguments.extra))


if __name__ == "__main__":
    main()
