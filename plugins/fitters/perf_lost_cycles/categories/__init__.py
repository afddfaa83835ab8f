"""Tables of times by category, and the sum of their models."""
