"""The commands about one noun: info, fit, rank, predict, plot, read, formats, plugins, completion."""
