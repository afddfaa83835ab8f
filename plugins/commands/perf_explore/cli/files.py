"""What both commands show."""

from __future__ import annotations

from typing import Annotated

import typer

Files = Annotated[
    list[str], typer.Argument(metavar="FILES...", help="Data, models, structural models, predictions; several at will.")
]
