"""Models of the time of codes on systems over the number of processors and other parameters."""

from __future__ import annotations

from perfcore import hookimpl
from perfcore.hookspecs import Register

__all__ = ["register_default_models", "register_fitters"]


@hookimpl
def register_fitters(register: Register) -> None:
    """Announce the bundled fitters."""
    register(
        "individual",
        "perf_scaling.individual_fitter:IndividualFitter",
        help="timing models of every code on every system, each by itself",
    )
    register(
        "strohmaier",
        "perf_scaling.joint_fitter:JointFitter",
        help="one timing model of all codes on all systems, with standard errors",
    )
    register(
        "scaling",
        "perf_scaling.laws.law_fitter:LawFitter",
        help="a scaling law n^i log2(n)^j for each call path, with bounds that hold which law it is",
    )
    register(
        "lca",
        "perf_scaling.lost_cycles.lca_fitter:LcaFitter",
        help="default models of every category over one factor, the best of each; their sum is the application",
    )
    register(
        "modgen",
        "perf_scaling.lost_cycles.modgen_fitter:ModgenFitter",
        help="models of every category over several factors, made of default models; their sum is the application",
    )


@hookimpl
def register_default_models(register: Register) -> None:
    """Announce the bundled default models."""
    register(
        "standard",
        "perf_scaling.lost_cycles:STANDARD_MODELS",
        help="the usual overheads over processors, data size and any other factor",
    )
