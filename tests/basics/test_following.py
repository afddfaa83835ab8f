"""A file that grows, followed: the same model as of the whole file, whatever pieces it came in."""

import json
import os
import threading
import time

import numpy as np
import pytest

import perfcore
from perf_basics.following import GrowingTable, follow, growing_lines
from perf_worley.trees.moment_tree import MomentTree
from perfcore import UtilizationCurve
from perfcore.base import progress
from perfcore.base.errors import InputError, OptionError, UnknownNameError


def read(path, options):
    return perfcore.read(path, **options)


def samples(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    level = np.repeat([2.0, 7.0, 4.0], n // 3)
    rows = [f"{k},{max(0.0, value):.3f}" for k, value in enumerate(level + rng.normal(0, 0.5, n))]
    return "\n".join(["time_s,utilization", *rows]) + "\n"


def states(n=300):
    """Written when a state ends, as tracers do: starts are not in order."""
    rows = []
    for k in range(n):
        for cpu in range(4):
            begin = 1000 * k + 40 * cpu + 13 * (k % 7)
            length = (900 if k < n // 2 else 300) - 30 * cpu
            rows.append((begin + length, f"cpu{cpu},run,{begin},{begin + length}"))
            rows.append((begin + length + 20, f"cpu{cpu},wait,{begin + length},{begin + length + 20}"))
    return "\n".join(["location,state,start_ns,end_ns", *(line for _, line in sorted(rows))]) + "\n"


def steps(n=600):
    rows = [f"{k},{k + 1},{(3 if k < 200 else 8) + k % 3}" for k in range(n)]
    return "\n".join(["start_ms,end_ms,busy", *rows]) + "\n"


def objects(text):
    names, *rows = text.splitlines()
    found = [dict(zip(names.split(","), map(float, row.split(",")), strict=True)) for row in rows]
    return "".join(json.dumps(row) + "\n" for row in found)


def grown(text, name="run.csv", pieces=7):
    """Added in pieces that are cut anywhere between lines."""
    table, lines = GrowingTable(name, read), text.encode().splitlines(keepends=True)
    for part in np.array_split(np.arange(len(lines)), pieces):
        table.add(b"".join(lines[k] for k in part))
    table.add(b"", last=True)
    return table.data


@pytest.mark.parametrize("text", [samples(), states(), steps(), samples(300) + "400,\n"])
@pytest.mark.parametrize("pieces", [1, 9])
def test_pieces_make_the_data_that_the_file_makes(tmp_path, text, pieces):
    path = tmp_path / "run.csv"
    path.write_text(text)
    whole, followed = perfcore.read(path), grown(text, str(path), pieces)
    if hasattr(whole, "utilization"):
        whole, followed = whole.utilization(), followed.utilization()
    assert type(whole) is type(followed)
    assert (whole.edges == followed.edges).all()
    assert (whole.heights == followed.heights).all()
    assert (whole.fingerprint, whole.time_unit, whole.source) == (
        followed.fingerprint, followed.time_unit, followed.source
    )  # fmt: skip


def test_lines_of_json_are_the_table_of_their_keys(tmp_path):
    text = samples(300)
    path = tmp_path / "run.csv"
    path.write_text(text)
    whole, followed = perfcore.read(path), grown(objects(text), "run.jsonl")
    assert followed.heights == pytest.approx(whole.heights)
    assert followed.edges == pytest.approx(whole.edges)
    with pytest.raises(InputError, match=r"run\.jsonl:3: is not JSON"):
        grown('{"time": 1, "value": 2}\n{"time": 2, "value": 2}\n{"time": 3,\n', "run.jsonl", 1)


@pytest.mark.parametrize("text", [samples(900), states(150)])
def test_streaming_equals_batch(tmp_path, text):
    path = tmp_path / "run.csv"
    path.write_text(text)
    said = []

    class Sink(progress.Sink):
        def note(self, text):
            said.append(text)

    table, lines = GrowingTable(str(path), read), text.encode().splitlines(keepends=True)

    def growing():
        for part in np.array_split(np.arange(len(lines)), 6):
            table.add(b"".join(lines[k] for k in part))
            yield table.data

    from perf_worley.fitter import WorleyFitter
    from perf_worley.options import WorleyOptions
    from perf_worley.segmenters.bounded import Bounded

    with progress.show_with(Sink()):
        followed = WorleyFitter().follow(growing(), WorleyOptions(), segmenter=Bounded())
    whole = perfcore.fit(path, fitter="worley")
    assert (followed.phases, followed.evidence) == (whole.phases, whole.evidence)
    assert followed.origin == whole.origin
    assert [entry.breaks for entry in followed.sequence] == [entry.breaks for entry in whole.sequence]
    ended = [line for line in said if "ended at" in line]
    assert ended[0].startswith("phase 1 ended at")
    assert len(ended) == len(whole.phases) - 1


@pytest.mark.parametrize(("first", "last"), [(100, 1000), (640, 641), (1000, 1000)])
def test_a_tree_that_grew_is_the_tree_of_the_whole(noisy_values, first, last):
    edges, heights = np.arange(last + 1.0), noisy_values(last)
    before = MomentTree(UtilizationCurve(edges[: first + 1], heights[:first]))
    curve = UtilizationCurve(edges, heights)
    assert (MomentTree(curve, before).nodes == MomentTree(curve).nodes).all()
    changed = heights.copy()
    changed[70] += 1.0
    other = UtilizationCurve(edges, changed)
    assert (MomentTree(other, before).nodes == MomentTree(other).nodes).all()


@pytest.fixture
def noisy_values():
    return lambda n: np.random.default_rng(1).uniform(0, 9, n)


def test_a_file_is_followed_until_nothing_comes(tmp_path):
    path, text = tmp_path / "run.csv", samples(600)

    def write():
        with path.open("w") as file:
            for at in range(0, len(text), len(text) // 3 + 1):
                file.write(text[at : at + len(text) // 3 + 1])
                file.flush()
                time.sleep(0.15)

    writer = threading.Thread(target=write)
    writer.start()
    model, data = follow(str(path), read, None, {}, 0.6)
    writer.join()
    assert model.phases == perfcore.fit(path, fitter="worley").phases
    assert data.n_steps == 600


def test_a_pipe_ends_with_its_writer(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "time,value\n1,2\n2,3"  # the last line lacks its end
    writer = threading.Thread(target=lambda: pipe.write_text(text))
    writer.start()
    assert b"".join(growing_lines(str(pipe), 60.0)) == text.encode() + b"\n"
    writer.join()


def test_what_cannot_be_followed(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        follow(str(tmp_path / "none.csv"), read, None, {}, 0.0)
    path = tmp_path / "run.csv"
    path.write_text(samples(30))
    with pytest.raises(OptionError, match="--follow: scaling fits whole files; worley follows growing ones"):
        follow(str(path), read, "scaling", {}, 0.0)
    path.write_text(states(5))
    with pytest.raises(UnknownNameError, match="state 'runn'"):
        follow(str(path), read, "worley", {"busy": "runn"}, 0.0)
    path.write_bytes(b"\x1f\x8b\x08\x00" + bytes(30))
    with pytest.raises(InputError, match="is compressed"):
        follow(str(path), read, None, {}, 0.0)
    path.write_text("time,value\n1,2\n2,3\n3,x\n4,5\n")
    with pytest.raises(InputError, match=r"run\.csv:4: "):
        follow(str(path), read, None, {}, 0.0)
    path.write_text("time,value\n")
    with pytest.raises(InputError, match="has no rows"):
        follow(str(path), read, None, {}, 0.0)
