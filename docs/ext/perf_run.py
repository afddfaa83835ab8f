"""The directive ``perf-run``: commands, what they print, and the picture they draw.

The commands run while the pages are built, in a copy of ``examples/`` for each page, so the output shown is always that
of this version. A command that fails is shown alone; ``pytest docs`` runs the same commands and reports it.
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
from run_commands import run_command, split_commands
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

_logger = logging.getLogger(__name__)
_EXAMPLES = Path(__file__).parents[2] / "examples"
_COMPILING = re.compile(r"^perf: compiling.*\n", re.MULTILINE)


@cache
def _folder(page: str) -> Path:
    """Return the working folder of a page, removed at exit."""
    folder = tempfile.TemporaryDirectory(prefix="perfcore-docs-")
    atexit.register(folder.cleanup)
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(_EXAMPLES, Path(folder.name) / "examples", ignore=ignore)
    return Path(folder.name)


class PerfRun(SphinxDirective):
    """Show commands after ``$`` with their output; ``:picture:`` shows a file that they write."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "lines": directives.nonnegative_int,
        "picture": directives.path,
        "alt": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Run the commands."""
        shown = []
        with contextlib.chdir(_folder(self.env.docname)):
            for command, _ in split_commands("\n".join(self.content)):
                status, printed = run_command(command)
                lines = _COMPILING.sub("", printed).rstrip().splitlines()
                if status:
                    _logger.info("%s: exit status %s of %s: %s", self.env.docname, status, command, printed.strip())
                    lines = []
                shown += [f"$ {command}", *self._shortened(lines)]
            text = "\n".join(shown)
            result: list[nodes.Node] = [nodes.literal_block(text, text, language="console")]
            if "picture" in self.options and Path(self.options["picture"]).exists():
                result.append(self._picture(Path(self.options["picture"])))
        return result

    def _shortened(self, lines: list[str]) -> list[str]:
        most = self.options.get("lines", 25)
        return lines if len(lines) <= most else [*lines[:most], "..."]

    def _picture(self, file: Path) -> nodes.Node:
        made = Path(self.env.app.srcdir) / "_build" / "pictures" / f"{self.env.docname.replace('/', '-')}-{file.name}"
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, made)
        return nodes.image(uri=f"/_build/pictures/{made.name}", alt=self.options.get("alt", ""))


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("perf-run", PerfRun)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
