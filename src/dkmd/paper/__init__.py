"""Every table and figure of the paper, run again by ``dkmd reproduce`` and told in words.

Each experiment has a module (table1, table2, table3, figure4, scaling, consistency, theorems) with
a seeded function and the tables of its result; printed.py has the paper's numbers.
"""
