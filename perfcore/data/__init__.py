"""The nouns: utilization curves, traces, series, measurements, and their units."""
