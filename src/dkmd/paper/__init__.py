"""Every table and figure of the paper, and what the run of ``dkmd reproduce`` tells about them.

One module per experiment (table1, table2, table3, figure4, scaling, consistency, theorems), each a
seeded function and the tables made from its result; printed.py has the paper's numbers.
"""
