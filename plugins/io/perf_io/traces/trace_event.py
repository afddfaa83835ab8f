"""One event of the Chrome trace format."""

from __future__ import annotations

import msgspec

MISSING = -(1 << 62)  # the time of an event that has none


class TraceEvent(msgspec.Struct, gc=False):
    """What is read of each event; all else in it is passed over.

    Some tools write numbers as texts, or an event without anything.
    """

    ph: str = ""
    ts: int | float | str = MISSING
    dur: int | float | str = 0
    pid: int | str = ""
    tid: int | str = ""
    name: str = ""
    cat: str = ""
    args: msgspec.Raw = msgspec.Raw(b"")
