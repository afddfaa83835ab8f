"""The table of classes of states: what it says of common names, whose table goes first, and mistakes in a file."""

import pytest

from perf_traces.states import VARIABLE, class_of, computing_states, state_classes
from perfcore import Trace, read
from perfcore.base.errors import InputError

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
