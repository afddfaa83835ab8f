"""Records in JSON: an object in each line, or an array of objects, whose fields are columns as in CSV."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from perf_io.options import TableOptions, options_of_tables
from perf_io.tables.duck import Database
from perf_io.tables.parquet import typed_table
from perf_io.tables.read_table import read_table
from perfcore.contracts import Reader
from perfcore.reading.source import Source

_BOM = b"\xef\xbb\xbf"
_FEWEST_FIELDS = 2  # numbers or texts of the first record


class JsonRecordsReader(Reader):
    """Curves, series, traces and measurements from records in JSON Lines or in an array; fields that hold objects or
    arrays are passed over.
    """

    Options = TableOptions

    @classmethod
    def options_for(cls, wanted: Sequence[type]) -> Mapping[str, Any]:
        return options_of_tables(wanted)

    def sniff(self, source: Source) -> float:
        text = source.head.removeprefix(_BOM).decode("utf-8", errors="replace").lstrip()
        is_array = text.startswith("[")
        start = text[1:].lstrip() if is_array else text
        if not start.startswith("{"):
            return 0.0
        try:
            first, end = json.JSONDecoder().raw_decode(start)
        except (ValueError, RecursionError):
            return 0.0
        rest = start[end:].lstrip(" \t\r")
        follows = rest.startswith((",", "]")) if is_array else rest.startswith("\n") and "\n" not in start[:end]
        plain = [value for value in first.values() if isinstance(value, (int, float, str))]
        is_record = len(plain) >= _FEWEST_FIELDS and (is_array or rest.lstrip().startswith("{"))
        return 0.51 if follows and is_record else 0.0  # formats of benchmarks are surer of their files

    def read(self, source: Source, options: TableOptions) -> Any:
        layout = "array" if source.head.removeprefix(_BOM).lstrip().startswith(b"[") else "newline_delimited"
        with source.plain_file() as path:
            database = Database(source.name)
            relation = f"read_json({database.link(path)}, format = '{layout}')"
            return read_table(typed_table(database, relation, path == source.path and not source.is_stdin), options)
