"""Functions that models are built from: of time, and of the number of processors."""

from perfcore import hookimpl
from perfcore.hooks.specs import Register

__all__ = ["register_functions"]


@hookimpl
def register_functions(register: Register) -> None:
    """Announce the bundled functions."""
    for name, target, text in (
        ("reciprocal", "Reciprocal", "1/(1 + t/scale), of time"),
        ("log", "Log", "log(1 + t/scale), of time"),
        ("exp", "Exp", "exp(-t/scale), of time"),
        ("1/p^2", "InverseSquare", "superlinear speedup, as by caches"),
        ("1/p", "Inverse", "parallel work"),
        ("log(p)/p", "LogarithmOver", "parallel work with a tree in its critical path"),
        ("1/sqrt(p)", "InverseRoot", "limited parallelism, surfaces of subdomains"),
        ("1", "One", "serial work"),
        ("log(p)", "Logarithm", "parallel overhead of trees and reductions"),
        ("p", "Linear", "parallel overhead of every processor, contention"),
    ):
        register(name, f"perf_characteristic.functions:{target}", help=text)
