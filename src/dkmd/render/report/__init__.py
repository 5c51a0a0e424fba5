"""The report page: its model, its words, and the templates that draw it as one HTML file."""
