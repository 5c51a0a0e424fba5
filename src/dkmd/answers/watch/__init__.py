"""A stream of values, watched as it arrives: alarms, or a decision between two arms."""

from dkmd.answers.watch.question import Question
from dkmd.answers.watch.result import Watched
from dkmd.answers.watch.watching import Watching, open_watch

__all__ = ["Question", "Watched", "Watching", "open_watch"]
