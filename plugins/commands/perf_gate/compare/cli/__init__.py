"""The commands compare and verify."""
