"""dkmd inside other tools: assertions for tests, evidently, river and scikit-learn, a module each.

A module imports its tool when it is imported itself. ``pip install 'dkmd[adapters]'`` installs all
of them. docs/adapters.md has examples, and recipes for pandera and Dagster.
"""
