"""Hostile changes of a file that keep its structure: of JSON, tables of SQLite, archives, and lines of text."""

from __future__ import annotations

import contextlib
import io
import json
import math
import random
import re
import sqlite3
import zipfile
from typing import Any

from perf_experiments.store import APPLICATION_ID, OUTPUT, RUN_COLUMNS, checksum

LONGEST = 200_000  # bytes of a changed text
NUMBERS = (
    *(0, -1, 1, 2, 255, 1e-300, 5e-324, -0.0, 1e300, 1.7976931348623157e308, 2**31, 2**32, 2**53 + 1),
    *(2**63 - 1, 2**63, -(2**63), 2**64, 10**12, 10**19, 10**30, 1e-9, 0.1, math.nan, math.inf, -math.inf),
)
TEXTS = (
    *("", " ", "a", "nan", "inf", "-inf", "1e999", "\0", "\ufeff", "\u2028", "\U0001f600", "'", '"', "`", "$(id)"),
    *("../../etc/passwd", "/dev/zero", "%s%n", "{0}", "a" * 5000, "1..1e9*1.000000001", "0x10", "1_000", "\u0663"),
)
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_PIECE = re.compile(rb"[^\s,;:|=]+")


def hostile(luck: random.Random) -> Any:
    """A value of JSON that few programs expect."""
    kinds = (
        lambda: luck.choice(NUMBERS),
        lambda: luck.choice(TEXTS),
        lambda: luck.choice((None, True, False, [], {}, [[]], [None], {"a": 1})),
    )
    return luck.choice(kinds)()


def mutated(content: bytes, luck: random.Random) -> bytes:
    """A changed copy; by its structure where it has one that is known, else by lines and bytes."""
    for change in luck.sample((_json, _sqlite, _zip), 3) if luck.random() < 0.8 else ():
        with contextlib.suppress(ValueError, zipfile.BadZipFile, sqlite3.Error, RecursionError, KeyError, OSError):
            changed = change(content, luck)
            if changed is not None:
                return changed
    return _text(content, luck)


def _json(content: bytes, luck: random.Random) -> bytes | None:
    if content[:1] not in b"{[":
        return None
    document = json.loads(content)
    for _ in range(luck.choice((1, 1, 1, 2, 4))):
        document = _changed(document, luck)
    return json.dumps(document).encode()


def _changed(node: Any, luck: random.Random) -> Any:
    if isinstance(node, dict) and node and luck.random() < 0.93:
        node = dict(node)
        key = luck.choice(list(node))
        match luck.randrange(10):
            case 0:
                del node[key]
            case 1:
                node[luck.choice(TEXTS)] = node[key]
            case 2:
                node[key] = node[luck.choice(list(node))]
            case _:
                node[key] = _changed(node[key], luck)
        return node
    if isinstance(node, list) and node and luck.random() < 0.93:
        node = list(node)
        at = luck.randrange(len(node))
        match luck.randrange(10):
            case 0:
                del node[at]
            case 1:
                node.insert(at, luck.choice(node))
            case 2:
                node[at] = luck.choice(node)
            case 3:
                luck.shuffle(node)
            case _:
                node[at] = _changed(node[at], luck)
        return node
    if isinstance(node, (int, float)) and luck.random() < 0.4:
        return luck.choice((node * -1, node + 1, node - 1, node * 1e9, str(node), float(node), node * 2))
    if isinstance(node, str) and luck.random() < 0.3:
        return _text(node.encode(), luck).decode(errors="replace")
    return hostile(luck)


def _zip(content: bytes, luck: random.Random) -> bytes | None:
    if not content.startswith(b"PK"):
        return None
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if not members:
        return None
    name = luck.choice(list(members))
    match luck.randrange(12):
        case 0:
            del members[name]
        case 1:
            members[name] = members[luck.choice(list(members))]
        case _:
            members[name] = mutated(members[name], luck)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", luck.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, held in members.items():
            archive.writestr(zipfile.ZipInfo(each), held)
    return packed.getvalue()


_TABLES = {
    "facts": (("name", "value"), "checksum"),
    "environments": (("id", "content"), "checksum"),
    "runs": (RUN_COLUMNS, "checksum"),
    "jobs": (("id", "point", "replication", "handed_over", "job"), "checksum"),
}


def _sqlite(content: bytes, luck: random.Random) -> bytes | None:
    """A value of a store changed, often with the checksum of a row that was written so."""
    if not content.startswith(b"SQLite format 3\0") or luck.random() < 0.2:
        return None
    with contextlib.closing(sqlite3.connect(":memory:")) as store:
        store.deserialize(content)
        if store.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            return None
        table = luck.choice(list(_TABLES))
        columns, check = _TABLES[table]
        rows = store.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()
        if rows:
            row = list(luck.choice(rows))
            at = luck.randrange(1, len(row))
            row[at] = _cell(row[at], luck)
            store.execute(f"UPDATE {table} SET {columns[at - 1]} = ? WHERE rowid = ?", (row[at], row[0]))
            if table == "runs" and luck.random() < 0.2:
                store.execute(f"UPDATE runs SET {luck.choice(OUTPUT)} = ?", (luck.randbytes(5),))
            if luck.random() < 0.9:
                key = row[1] if columns[at - 1] == "id" else row[0]
                store.execute(f"UPDATE {table} SET {check} = ? WHERE rowid = ?", (checksum(row[1:]), key))
        store.commit()
        return store.serialize()


def _cell(held: Any, luck: random.Random) -> Any:
    if isinstance(held, str) and luck.random() < 0.7:
        return mutated(held.encode(), luck).decode(errors="replace")
    value = hostile(luck)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _text(content: bytes, luck: random.Random) -> bytes:
    for _ in range(luck.choice((1, 1, 2, 3, 6))):
        content = luck.choice((_number, _number, _piece, _line, _line, _bytes))(content[:LONGEST], luck)
    return content[:LONGEST]


def _number(content: bytes, luck: random.Random) -> bytes:
    found = list(_NUMBER.finditer(content[: 1 << 16]))
    return _instead(content, luck.choice(found).span(), repr(luck.choice(NUMBERS)).encode()) if found else content


def _piece(content: bytes, luck: random.Random) -> bytes:
    found = list(_PIECE.finditer(content[: 1 << 16]))
    if not found:
        return content
    other = luck.choice(found).group() if luck.random() < 0.6 else luck.choice(TEXTS).encode(errors="replace")
    return _instead(content, luck.choice(found).span(), other)


def _line(content: bytes, luck: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    one, other = luck.randrange(len(lines)), luck.randrange(len(lines))
    match luck.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            lines[one:one] = [lines[one]] * luck.choice((2, 20, 300))
    return b"".join(lines)


def _bytes(content: bytes, luck: random.Random) -> bytes:
    at = luck.randrange(len(content) + 1)
    match luck.randrange(5):
        case 0:
            return content[:at]
        case 1:
            return _instead(content, (at, at + luck.randrange(1, 9)), b"")
        case 2 if at < len(content):
            return _instead(content, (at, at + 1), bytes([content[at] ^ 1 << luck.randrange(8)]))
        case 3:
            return _instead(content, (at, at + 4), luck.choice((0, 1, 2**31 - 1, 2**32 - 1)).to_bytes(4, "little"))
        case _:
            return _instead(content, (at, at), luck.randbytes(luck.randrange(1, 9)))


def _instead(content: bytes, span: tuple[int, int], other: bytes) -> bytes:
    return content[: span[0]] + other + content[span[1] :]
