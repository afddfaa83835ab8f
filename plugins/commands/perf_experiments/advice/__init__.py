"""Which further runs help most, and what they cost."""
