"""Making the runs of a design and keeping each."""
