"""Laws that change at a scale."""
