"""Figures, plots and the page. Nothing here knows how an answer was found."""
