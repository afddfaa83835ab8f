"""Models by category on the page and in the report, where they can be changed."""
