"""What equations say beyond formulas: copies, quantiles, stations that requests share, loops and pipelines."""
