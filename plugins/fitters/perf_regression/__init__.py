"""Regressions by statsmodels: any formula, and the Universal Scalability Law."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hooks.specs import Register


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the fitters."""
    fitters = {"regression": "coefficients of a formula, with tests", "usl": "the Universal Scalability Law"}
    for name, text in fitters.items():
        target = f"perf_regression.{name}:{name.capitalize()}Fitter"
        register(name, target, options=f"perf_regression.options:{name.capitalize()}Options", help=text)
