"""Sphinx: ``python -m sphinx -W docs docs/_build`` makes the pages."""

import sys
from pathlib import Path

import perfcore

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "ext")]

project = "perfcore"
author = "The perfcore authors"
version = release = perfcore.__version__

extensions = [
    "myst_nb",
    "reference",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "jupyter_execute"]  # the second: what notebooks left of the build before

# Notebooks come without outputs: making the pages runs them, and a cell that fails stops it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120  # seconds a cell
nb_merge_streams = True
html_theme = "furo"
html_title = f"perfcore {release}"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# What is copied of an example are its commands: no prompts, no output.
copybutton_prompt_text = r">>> |\.\.\. |\$ |> "
copybutton_prompt_is_regexp = True

napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpydoc sections say them, with shapes and units
autodoc_class_signature = "mixed"

# Parameters in backticks share their names with attributes of several classes; none of these is meant.
suppress_warnings = ["ref.python"]


def setup(app):
    """Keep decisions out of the search: they are for those who change perfcore."""
    app.connect("env-updated", lambda app, env: _leave_out(env))


def _leave_out(env):
    for page in env.found_docs:
        if page.startswith("decisions/"):
            env.metadata[page]["nosearch"] = True
