"""What everything stands on: errors, files, progress, compiled kernels, ranges, names that fit."""
