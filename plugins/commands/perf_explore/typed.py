"""What was typed into an action, put back into its fields."""

from __future__ import annotations

from dataclasses import replace

from perf_views.contents import Action, Block, Field, Query, View, ViewPath


def with_typed(view: View, path: ViewPath, form: Query) -> View:
    """The view that an action was sent from, with what was typed in place of what its fields held."""
    return replace(view, blocks=tuple(_filled(block, path, form) or block for block in view.blocks))


def sent_action(view: View, path: ViewPath, form: Query) -> Action | None:
    """The action that was sent, with what was typed; None where the view has it no more."""
    return next(filter(None, (_filled(block, path, form) for block in view.blocks)), None)


def unknown_action(path: ViewPath, form: Query) -> Action:
    """What was typed into an action that cannot be found again, as texts with the names of the fields."""
    return Action(tuple(Field(name, name.replace("_", " "), value, "lines") for name, value in form.items()), path)


def _filled(block: Block, path: ViewPath, form: Query) -> Action | None:
    """The block with what was typed; None where the form was not sent from it."""
    if not isinstance(block, Action) or block.path != path:
        return None
    if any(form.get(item.name) != item.value for item in block.fields if item.kind == "hidden"):
        return None
    return replace(block, fields=tuple(replace(item, value=form.get(item.name, item.value)) for item in block.fields))
