"""Where phases begin and end, by four objectives."""
