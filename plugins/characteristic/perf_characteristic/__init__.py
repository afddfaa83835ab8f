"""Functions that models are built from: of time, and of the number of processors."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_functions"]


@hookimpl
def register_functions(register: Register) -> None:
    """Announce the bundled functions."""
    register("reciprocal", "perf_characteristic.of_time:Reciprocal", help="1/(1 + t/scale), of time")
    register("log", "perf_characteristic.of_time:Log", help="log(1 + t/scale), of time")
    register("exp", "perf_characteristic.of_time:Exp", help="exp(-t/scale), of time")
    of_processors = "perf_characteristic.of_processors"
    register("1/p^2", f"{of_processors}:InverseSquare", help="superlinear speedup, as by caches")
    register("1/p", f"{of_processors}:Inverse", help="parallel work")
    register("log(p)/p", f"{of_processors}:LogarithmOver", help="parallel work with a tree in its critical path")
    register("1/sqrt(p)", f"{of_processors}:InverseRoot", help="limited parallelism, surfaces of subdomains")
    register("1", f"{of_processors}:One", help="serial work")
    register("log(p)", f"{of_processors}:Logarithm", help="parallel overhead of trees and reductions")
    register("p", f"{of_processors}:Linear", help="parallel overhead of every processor, contention")
