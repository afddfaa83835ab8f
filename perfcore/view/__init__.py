"""Views of data and models, for the page of `perf explore` and for reports: what is shown, apart from how."""

from perfcore.view.contents import (
    Action,
    Block,
    Cell,
    Chart,
    Field,
    Form,
    Link,
    Notice,
    NoViewError,
    Query,
    Table,
    Text,
    View,
    Viewable,
    ViewPath,
)
from perfcore.view.edits import Change, Editable, FileEdit

__all__ = [
    "Action",
    "Block",
    "Cell",
    "Change",
    "Chart",
    "Editable",
    "Field",
    "FileEdit",
    "Form",
    "Link",
    "NoViewError",
    "Notice",
    "Query",
    "Table",
    "Text",
    "View",
    "ViewPath",
    "Viewable",
]
