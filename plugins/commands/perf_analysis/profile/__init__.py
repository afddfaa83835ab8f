"""Profiles: the time of every function of a trace, and one table of several runs from which laws are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore import hookimpl
from perfcore.base.lazy import lazy_names
from perfcore.hooks.specs import Register

if TYPE_CHECKING:
    from perf_analysis.profile.api import profile
    from perf_analysis.profile.profiles import Profiles
    from perf_analysis.profile.run_profile import NO_STATE, RunProfile
    from perf_analysis.profile.stretches import Stretches, marker_stretches, phase_stretches, whole_run
    from perf_analysis.profile.summing import profile_of

__all__ = [
    "NO_STATE",
    "Profiles",
    "RunProfile",
    "Stretches",
    "marker_stretches",
    "phase_stretches",
    "profile",
    "profile_of",
    "register_commands",
    "register_presenters",
    "whole_run",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "NO_STATE": "perf_analysis.profile.run_profile",
        "Profiles": "perf_analysis.profile.profiles",
        "RunProfile": "perf_analysis.profile.run_profile",
        "Stretches": "perf_analysis.profile.stretches",
        "marker_stretches": "perf_analysis.profile.stretches",
        "phase_stretches": "perf_analysis.profile.stretches",
        "profile": "perf_analysis.profile.api",
        "profile_of": "perf_analysis.profile.summing",
        "whole_run": "perf_analysis.profile.stretches",
    },
)


@hookimpl
def register_commands(register: Register) -> None:
    """Announce the command."""
    register(
        "profile",
        "perf_analysis.profile.cli.profile:command",
        group="Model",
        help="The time of every function of traces, as one table.",
        function="perf_analysis.profile.api:profile",
    )


@hookimpl
def register_presenters(register: Register) -> None:
    """Announce how profiles are shown."""
    register(
        "perf_analysis.profile.profiles:Profiles",
        "perf_analysis.profile.presenters:ProfilesPresenter",
        help="the time of every function",
    )
