"""Sphinx: ``python -m sphinx -W docs docs/_build`` makes the pages."""

import perfcore

project = "perfcore"
author = "The perfcore authors"
version = release = perfcore.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "conftest.py"]
html_theme = "furo"
html_title = f"perfcore {release}"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections say them, with shapes and units
autodoc_class_signature = "mixed"

# Parameters in backticks share their names with attributes of several classes; none of these is meant.
suppress_warnings = ["ref.python"]
