"""Functions that models are built from."""

from perfcore import hookimpl
from perfcore.hookspecs import Register

__all__ = ["register_functions"]


@hookimpl
def register_functions(register: Register) -> None:
    """Announce the bundled functions."""
    register("reciprocal", "perf_characteristic.of_time:Reciprocal", help="1 / (1 + t/scale)")
    register("log", "perf_characteristic.of_time:Log", help="log(1 + t/scale)")
    register("exp", "perf_characteristic.of_time:Exp", help="exp(-t/scale)")
