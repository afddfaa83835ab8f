"""How designs, runs and advice are shown."""
