"""Write the trace of `make_steps.py` as Chrome's JSON, with markers of its steps and of their exchanges.

Run ``python examples/iterations/make_marked_steps.py > examples/iterations/steps.json``.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path


def main() -> None:
    """Print the trace: an event for each state, and one of the category user_annotation for each marker."""
    with Path(__file__).with_name("steps.csv").open() as file:
        rows = [
            (row["location"], int(row["start_us"]), int(row["end_us"]), row["state"]) for row in csv.DictReader(file)
        ]
    events = [
        {"ph": "X", "pid": 0, "tid": place, "name": state, "ts": start, "dur": end - start}
        for place, start, end, state in rows
    ]
    by_state = {name: [row for row in rows if row[3] == name] for name in ("forces", "MPI_Send", "MPI_Wait")}
    ranks = len({place for place, *_ in rows})
    for number in range(len(by_state["forces"]) // ranks):
        mine = {name: own[ranks * number : ranks * (number + 1)] for name, own in by_state.items()}
        end = max(row[2] for row in mine["MPI_Wait"])
        for name, first in ((f"step#{number + 1}", "forces"), ("exchange", "MPI_Send")):
            start = min(row[1] for row in mine[first])
            marker = {"ph": "X", "pid": 0, "tid": "rank 0", "name": name, "cat": "user_annotation"}
            events.append({**marker, "ts": start, "dur": end - start})
    print("[" + ",\n".join(json.dumps(event) for event in events) + "]")


if __name__ == "__main__":
    main()
