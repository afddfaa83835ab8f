"""The command overheads."""
