"""The table of classes of states: what it says of common names, whose table goes first, and mistakes in a file."""

import pytest
from format_samples import SAMPLES

import perfcore
from perf_basics.describe import describe
from perf_traces.levels import located
from perf_traces.options import LEVELS
from perf_traces.states import CLASSES, COMPUTING, OTHER, VARIABLE, class_of, computing_states, state_classes
from perfcore import Trace, overheads, read
from perfcore.base.errors import DataError, InputError, PerfError

OWN = '[[states]]\nclass = "idle"\nnames = ["solve*", "MPI_Send"]\nwhy = "for this test"\n'


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ("Running", "computing"),
        ("dgemm", "other"),
        ("MPI_Send", "communicating"),
        ("PMPI_Waitall", "waiting"),
        ("MPI_Barrier", "synchronizing"),
        ("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communicating"),
        ("rcclGenericKernel", "communicating"),
        ("oneccl_allreduce", "communicating"),
        ("gloo:all_reduce", "communicating"),
        ("void msccl::kernel", "communicating"),
        ("hcom_allReduce__321_0_1", "communicating"),
        ("void deep_ep::intranode::dispatch<8, 768>", "communicating"),
        ("void tensorrt_llm::kernels::allreduce_fusion", "communicating"),
        ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop", "communicating"),
        ("triton_per_fused_add_allreduce_mean_1", "computing"),
        ("__amd_rocclr_copyBuffer", "transferring"),
        ("zeCommandListAppendMemoryCopy(M2D)", "transferring"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "transferring"),
        ("Memcpy HtoD (Pinned -> Device)", "transferring"),
        ("Memset (Device)", "transferring"),
        ("cudaStreamSynchronize", "synchronizing"),
        ("hipDeviceSynchronize", "synchronizing"),
        ("cudaLaunchKernel", "runtime"),
        ("CUDA graph 5", "computing"),
        ("cuda_gemm_of_the_user", "other"),
        ("action_allreduce", "communicating"),
        ("action_compute", "computing"),
        ("free", "idle"),
        ("!$omp implicit barrier @main.c:7", "synchronizing"),
        ("Building task", "runtime"),
        ("FetchingInput", "waiting"),
        ("scheduler", "runtime"),
        ("State 15", "unknown"),
        ("state of the art", "other"),
        ("Not created", "not_running"),
        ("I/O", "io"),
        ("ProfilerStep#12", "marker"),
        ("## backward ##", "marker"),
        ("  IDLE ", "idle"),
    ],
)
def test_common_states(state, name):
    assert class_of(state) == name


def test_the_users_table_goes_first(tmp_path, monkeypatch):
    own = tmp_path / "own.toml"
    own.write_text(OWN)
    monkeypatch.setenv(VARIABLE, str(own))
    assert state_classes(["solve 1", "mpi_send", "MPI_Recv"]) == ("idle", "idle", "waiting")
    assert Trace([0, 0], [0, 1], [0, 1], [1, 2], ["a"], ["solve", "run"]).busy_states == ("run",)
    monkeypatch.delenv(VARIABLE)
    assert computing_states(["solve 1", "MPI_Send"]) == ("solve 1",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (OWN.replace("idle", "idel"), r"states\[0\]\.class: unknown class of states 'idel': did you mean 'idle'"),
        (OWN.replace("why", "because"), r"own.toml: .*states"),
        (OWN + OWN.replace("idle", "io"), r"states\[1\]\.names: 'solve\*' is in two classes, idle and io"),
        ("[[states]", "not TOML"),
        (None, "there is no such file"),
    ],
)
def test_mistakes_in_a_table(tmp_path, monkeypatch, text, problem):
    own = tmp_path / "own.toml"
    if text is not None:
        own.write_text(text)
    data = tmp_path / "run.csv"
    data.write_text("start,end,location,state\n0,1,a,run\n")
    monkeypatch.setenv(VARIABLE, str(own))
    with pytest.raises(InputError, match=problem) as error:
        read(data)
    assert "\n" not in str(error.value)


# `perf info`, `perf fit` and `perf overheads` count the same states and locations, whatever the format and level.
def check(trace):
    """Busy shares that are printed for one trace, and that every state is in a class."""
    busy = tuple(state for state in trace.states if class_of(state) in (COMPUTING, OTHER))
    assert trace.busy_states == busy
    assert all(class_of(state) in (*CLASSES, OTHER) for state in trace.states)
    [profile] = overheads(trace)
    computing = profile.class_cycles_ns[profile.classes.index(COMPUTING)].sum()
    assert computing == profile.by_category_ns[0]
    assert profile.cycles_ns.sum() == profile.elapsed_ns * len(trace.locations)
    facts = describe(trace, "x")
    assert facts["busy"] == list(busy)
    if busy:
        share = computing / profile.total_ns
        assert facts["mean utilization"] == f"{share:.3f} of {len(trace.locations)}"
        assert trace.utilization().mean / len(trace.locations) == pytest.approx(share, rel=1e-9)
        efficiencies = profile.efficiencies()
        assert efficiencies.parallel[0] == pytest.approx(share, rel=1e-9)
        assert trace.utilization(busy).integral == pytest.approx(trace.utilization().integral)
    else:
        assert computing == 0
        assert facts["curve"].startswith("none")


def levels_of(trace):
    """The trace with locations of each level that is known."""
    for level in LEVELS:
        try:
            yield level, located(trace, level)
        except DataError as error:
            assert "leave out locations=" in str(error)  # noqa: PT017 - not every level is known
            assert level not in ("auto", "stream", "thread", "both")


@pytest.mark.parametrize("name", sorted({*SAMPLES} - {"summary"}))  # which has no intervals to tell it from
def test_of_every_sample(name, tmp_path):
    for file, content in SAMPLES[name]:
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        data = perfcore.read(path, reader=name)
        if isinstance(data, Trace):
            check(data)
            for _, trace in levels_of(getattr(data, "recorded", data)):
                check(trace)


@pytest.fixture(scope="module")
def real_traces(real_data):
    found = []
    for path in sorted((real_data / "traces").rglob("*")):
        if path.is_file() and path.suffix in (".gz", ".json", ".prv", ".otf2", ".trf", ".trace", ".csv", ".sts"):
            try:
                data = perfcore.read(path)
            except PerfError:  # parts of other files
                continue
            if isinstance(data, Trace):
                found.append(data)
    return found


@pytest.mark.slow
@pytest.mark.real_data
def test_of_every_real_trace(real_traces):
    assert len([check(trace) for trace in real_traces]) >= 14


@pytest.mark.real_data
@pytest.mark.slow
def test_of_every_level_of_real_traces(real_traces):
    known = set()
    for data in real_traces:
        for level, trace in levels_of(getattr(data, "recorded", data)):
            check(trace)
            known.add(level)
    assert {"auto", "stream", "thread", "device", "process"} <= known
