"""Data that arrive line by line: pipes and growing files, and the numbers on their lines."""
