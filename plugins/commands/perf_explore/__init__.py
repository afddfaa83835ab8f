"""Data and models as a page in the browser, and as a report in one file."""
