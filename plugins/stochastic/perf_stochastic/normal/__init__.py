"""Normal distributions and their arithmetic."""
