"""What every other package may use: arrays, compiled loops, errors, words, whole files."""
