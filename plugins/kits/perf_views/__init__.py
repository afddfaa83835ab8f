"""Views of data and models, for the page of `perf explore` and for reports: what is shown, apart from how."""
