"""Data of any kind as column data: files, tables of engines, and data in memory."""
