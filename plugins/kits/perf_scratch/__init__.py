"""Arrays that may be larger than memory."""
