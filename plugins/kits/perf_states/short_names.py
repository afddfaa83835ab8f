"""Names of states as a line of text can hold them."""

from __future__ import annotations

__all__ = ["short_name"]

_MOST = 40  # letters


def short_name(state: str) -> str:
    """A name without what C++ writes around it: return type, arguments, and arguments of templates.

    Examples
    --------
    >>> short_name("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int, float*)")
    'at::native::reduce_kernel'
    >>> short_name("Main::done(void)"), short_name("gemm")
    ('Main::done', 'gemm')
    """
    name = state.strip()
    if "::" in name or "<" in name or name.startswith("void "):
        name = _without_arguments(name)
        name = name.rpartition(" ")[2] or name
    return name if len(name) <= _MOST else f"{name[: _MOST - 3]}..."


def _without_arguments(name: str) -> str:
    """The name with everything in < > and ( ) left out; an operator's name, which has them, is kept."""
    kept, depth = [], 0
    for letter in name.replace("(anonymous namespace)::", ""):
        depth += letter in "<("
        if not depth:
            kept.append(letter)
        depth -= letter in ">)" and depth > 0
    return "".join(kept).removesuffix(" const").strip() or name
