"""How a summary file begins: a ZIP archive whose first member is its document."""

from __future__ import annotations

DOCUMENT = "perfcore-summary.json"


def is_summary(head: bytes) -> bool:
    """Whether a file that begins so is a summary."""
    return head.startswith(b"PK\x03\x04") and head[30 : 30 + len(DOCUMENT)] == DOCUMENT.encode()
