"""Questions about models and measurements: which value suffices, what it costs, how much more to measure."""
