"""The commands explore and report."""
