"""Views of data and models, for the page of `perf explore` and for reports: what is shown, apart from how."""

from __future__ import annotations

from perfcore.base import lazy_names

_BLOCKS = ("Action", "Chart", "Form", "Graph", "Headline", "Notice", "Table", "Text", "View")
_PARTS = ("Cell", "Change", "Field", "FileEdit", "Link", "NoViewError", "Viewable")
__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys((*_BLOCKS, *_PARTS), "perf_views.contents"))
