"""The test of two samples: scale, scan, tails, intervals, and its doors dkmd_2samp and dkmd_rel."""
