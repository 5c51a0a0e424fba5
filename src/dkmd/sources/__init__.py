"""Where data comes from: arrays now; tables, files and engines join here."""
