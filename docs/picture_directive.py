"""The directive ``perf-picture``: commands as a reader types them, and below them the picture that they have made.

The commands run in a copy of the examples while the pages are made, so that no picture is of another program; one that
fails stops it. They share the folder: what one has written, the next may read.
"""

from __future__ import annotations

import atexit
import contextlib
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from run_commands import run_command
from sphinx.util.docutils import SphinxDirective

_EXAMPLES = Path(__file__).parents[1] / "examples"
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


@cache
def _folder() -> Path:
    """With the examples; removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="perfcore-pictures-")
    atexit.register(folder.cleanup)
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "recorded")
    shutil.copytree(_EXAMPLES, Path(folder.name) / "examples", ignore=ignore)
    return Path(folder.name)


class PerfPicture(SphinxDirective):
    """Commands after ``$``, and the picture that the argument names."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Run the commands; they are shown, and their picture."""
        text = "\n".join(self.content)
        with contextlib.chdir(_folder()):
            for command in _PROMPT.split(text)[1:]:
                status, printed = run_command(command.replace("\\\n> ", "").strip())
                if status:
                    raise self.error(f"exit status {status} of\n{command}\n{printed}")
        made = Path(self.env.app.srcdir) / "_build" / "pictures" / self.arguments[0]
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_folder() / self.arguments[0], made)
        shown = nodes.literal_block(text, text, language="console")
        return [shown, nodes.image(uri=f"/_build/pictures/{made.name}", alt=self.options.get("alt", ""))]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("perf-picture", PerfPicture)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
