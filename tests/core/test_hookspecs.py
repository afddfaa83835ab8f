"""One hook for each kind of thing."""

import inspect

from perfcore.hooks import specs as hookspecs


def test_every_kind_has_a_documented_hook_and_every_hook_a_kind():
    hooks = {name for name in vars(hookspecs) if name.startswith("register_")}
    assert hooks == {f"register_{kind}" for kind in hookspecs.KINDS}
    for hook in hooks:
        function = getattr(hookspecs, hook)
        assert list(inspect.signature(function).parameters) == ["register"]
        assert function.__doc__
