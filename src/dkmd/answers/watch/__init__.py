"""A stream of values, watched as it arrives: alarms, or a decision between two arms."""

from dkmd.answers.watch.opening import Input, watch_arms, watch_stream
from dkmd.answers.watch.question import Question
from dkmd.answers.watch.result import Watched
from dkmd.answers.watch.watching import TooManyBadError, Watching

__all__ = [
    "Input", "Question", "TooManyBadError", "Watched", "Watching", "watch_arms", "watch_stream",
]  # fmt: skip
