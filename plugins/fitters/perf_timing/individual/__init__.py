"""Every code on every system by itself."""
