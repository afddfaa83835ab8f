"""The window of a series that a quantity is taken from, and durations as a user types them."""
