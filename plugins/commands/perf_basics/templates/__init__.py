"""Examples of the kinds of plugins, from which `perf plugins new` makes packages; the name ``example`` is replaced."""
