"""Names of ReFrame's tests, which both its report and its logs of performance hold."""

from __future__ import annotations

import re

# Fields of a test that count what it ran on.
TASKS = ("num_tasks", "num_tasks_per_node", "num_cpus_per_task", "num_gpus_per_node")
_PARAMETER = re.compile(r" %([\w.]+)=(\S+)")


def name_and_parameters(displayed: str) -> tuple[str, dict[str, str]]:
    """Test and parameters of a name as ReFrame displays it; parameters of fixtures keep the fixture's name."""
    plain = " ".join(displayed.split())
    return re.split(r" [%/@~]", plain, maxsplit=1)[0], dict(_PARAMETER.findall(plain))
