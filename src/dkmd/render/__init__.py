"""Figures, plots and the report page, drawn from results and from a model of the page."""
