"""The table of classes of states: what it says of common names, whose table goes first, and mistakes in a file."""

import contextlib

import pytest
from format_samples import SAMPLES

from perfcore import PerfError, Trace, info, overheads, read
from perfcore.base.errors import InputError

LEVELS = ("auto", "stream", "thread", "device", "process", "node", "both")
OWN = '[[states]]\nclass = "idle"\nnames = ["solve*", "MPI_Send"]\nwhy = "for this test"\n'


# States by class, in the words of tracers and libraries.
STATES = {
    "computing": ("Running", "triton_per_fused_add_allreduce_mean_1", "CUDA graph 5", "action_compute"),
    "communicating": (
        "MPI_Send", "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "rcclGenericKernel",
        "oneccl_allreduce", "gloo:all_reduce", "void msccl::kernel", "hcom_allReduce__321_0_1",
        "void deep_ep::intranode::dispatch<8, 768>", "void tensorrt_llm::kernels::allreduce_fusion",
        "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop", "action_allreduce",
    ),
    "waiting": ("PMPI_Waitall", "FetchingInput"),
    "synchronizing": (
        "MPI_Barrier", "cudaStreamSynchronize", "hipDeviceSynchronize", "!$omp implicit barrier @main.c:7",
    ),
    "transferring": (
        "__amd_rocclr_copyBuffer", "zeCommandListAppendMemoryCopy(M2D)", "MEMORY_COPY_HOST_TO_DEVICE",
        "Memcpy HtoD (Pinned -> Device)", "Memset (Device)",
    ),
    "runtime": ("cudaLaunchKernel", "Building task", "scheduler"),
    "idle": ("free", "  IDLE ", "ProfilerStep#12", "## backward ##", "(no state)"),  # markers do not compute
    "unknown": ("State 15",), "not_running": ("Not created",), "io": ("I/O",), "contending": (),
}  # fmt: skip
IN_NO_CLASS = ("dgemm", "cuda_gemm_of_the_user", "state of the art")  # they compute, as functions of programs do


def states_in_turn(*states):
    """A trace of one location that is in each of these states."""
    n = len(states)
    return Trace([0] * n, range(n), range(n), range(1, n + 1), ["a"], states)


def classes_of(*states):
    """The states of each class, as `perf overheads` counts them."""
    [profile] = overheads(states_in_turn(*states))
    cycles = dict(zip(profile.classes, profile.class_cycles_ns.sum(axis=(1, 2)), strict=True))
    assert all(cycles[name] == len({*members} - {"(no state)"}) for name, members in profile.states.items())
    found = {name: {*members} - {"(no state)"} for name, members in profile.states.items()}
    return {name: members for name, members in found.items() if members}


def test_common_states():
    named = {state for states in STATES.values() for state in states} - {"(no state)"}
    classes_of(*named)
    [profile] = overheads(states_in_turn(*named, *IN_NO_CLASS))
    found = {name: set(states) for name, states in profile.states.items()}
    computing = {*STATES["computing"], *IN_NO_CLASS}
    assert found == {name: set(states) for name, states in STATES.items()} | {"computing": computing}
    [unnamed] = [note for note in profile.notes if "unclassified states are computing: " in note]
    assert set(unnamed.partition("computing: ")[2].partition(" (set with")[0].split(", ")) == set(IN_NO_CLASS)


def test_the_users_table_goes_first(tmp_path, monkeypatch):
    own = tmp_path / "own.toml"
    own.write_text(OWN)
    monkeypatch.setenv("PERF_STATES", str(own))
    found = classes_of("solve 1", "mpi_send", "MPI_Recv", "run")
    assert found == {"idle": {"solve 1", "mpi_send"}, "waiting": {"MPI_Recv"}, "computing": {"run"}}
    assert states_in_turn("solve", "run").busy_states == ("run",)
    monkeypatch.delenv("PERF_STATES")
    assert classes_of("solve 1", "MPI_Send") == {"computing": {"solve 1"}, "communicating": {"MPI_Send"}}


@pytest.mark.parametrize(("text", "problem"), [
    (OWN.replace("idle", "idel"), r"states\[0\]\.class: unknown class of states 'idel': did you mean 'idle'"),
    (OWN.replace("why", "because"), r"own.toml: .*states"),
    (OWN + OWN.replace("idle", "io"), r"states\[1\]\.names: 'solve\*' is in two classes, idle and io"),
    ("[[states]", "not TOML"), (None, "there is no such file"),
])  # fmt: skip
def test_mistakes_in_a_table(tmp_path, monkeypatch, text, problem):
    own = tmp_path / "own.toml"
    if text is not None:
        own.write_text(text)
    data = tmp_path / "run.csv"
    data.write_text("start,end,location,state\n0,1,a,run\n")
    monkeypatch.setenv("PERF_STATES", str(own))
    with pytest.raises(InputError, match=problem) as error:
        read(data)
    assert "\n" not in str(error.value)


# `perf info`, `perf fit` and `perf overheads` count the same states and locations, whatever the format and level.
def check(trace):
    """Busy shares that are printed for one trace, and that every state is in a class."""
    busy = trace.busy_states
    [profile] = overheads(trace)
    assert set(trace.states) <= {state for states in profile.states.values() for state in states}
    assert set(profile.states["computing"]) == set(busy)
    computing = profile.class_cycles_ns[profile.classes.index("computing")].sum()
    assert computing == profile.by_category_ns[0]
    assert profile.cycles_ns.sum() == profile.elapsed_ns * len(trace.locations)
    facts = info(trace)
    assert facts["busy"] == list(busy)
    if busy:
        share = computing / profile.total_ns
        assert facts["mean utilization"] == pytest.approx(share, abs=6e-7)
        assert trace.utilization().mean / len(trace.locations) == pytest.approx(share, rel=1e-9)
        assert profile.efficiencies()["parallel"][0] == pytest.approx(share, rel=1e-9)
        assert trace.utilization(busy).integral == pytest.approx(trace.utilization().integral)
    else:
        assert computing == 0
        assert facts["curve"].startswith("none")


def levels_of(path, **options):
    """The trace of a file with locations of each level that is known."""
    for level in LEVELS:
        try:
            yield level, read(path, locations=level, **options)
        except PerfError as error:  # not every level is known, nor are there threads beside each GPU's streams
            assert any(said in str(error) for said in ("contains no events of", "leave out locations="))  # noqa: PT017
            assert level not in ("auto", "both")


@pytest.mark.parametrize("name", sorted({*SAMPLES} - {"summary"}))  # which has no intervals to tell it from
def test_of_every_sample(name, tmp_path):
    for file, content in SAMPLES[name]:
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        data = read(path, reader=name)
        if isinstance(data, Trace):
            check(data)
            for _, trace in levels_of(path, reader=name):
                check(trace)


@pytest.mark.real_data
def test_of_every_real_trace(real_data):
    """Parts of other files are none."""
    checked = 0
    for path in sorted((real_data / "traces").rglob("*")):
        if path.is_file() and path.suffix in (".gz", ".json", ".prv", ".otf2", ".trf", ".trace", ".csv", ".sts"):
            with contextlib.suppress(PerfError):
                if isinstance(data := read(path), Trace):
                    check(data)
                    checked += 1
    assert checked >= 14
