"""Finds plugins through entry points and imports an implementation when it is first used."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pluggy

from perfcore.base.errors import MissingDependencyError, PluginError, UnknownNameError
from perfcore.hooks import specs
from perfcore.hooks.options import NoOptions, OptionField, build, describe


@dataclass(frozen=True)
class Entry:
    """One registered thing, not yet imported; `perfcore.hooks.specs.Register` says what the fields are."""

    kind: str
    name: str
    target: str
    help: str
    distribution: str
    plugin: str = ""
    options: str | None = None
    extra: str | None = None
    suffixes: tuple[str, ...] = ()
    signature: str | tuple[str, ...] = ()
    default_for: tuple[str, ...] = ()
    ranks_for: tuple[str, ...] = ()
    group: str = ""
    function: str | tuple[str, ...] | None = None
    shows: tuple[str, ...] = ()
    saves: str = ""

    def may_be(self, head: bytes) -> bool:
        """Return whether a file that begins so has the signature; without one any has."""
        patterns = (self.signature,) if isinstance(self.signature, str) else self.signature
        return all(re.search(pattern.encode("latin-1"), head) for pattern in patterns)

    def load(self) -> Any:
        """Import the target."""
        return self._import(self.target)

    def load_options(self) -> type:
        """Return the dataclass of its options, without importing the target; without ``options=`` it has none."""
        options_class: type = NoOptions if self.options is None else self._import(self.options)
        return options_class

    @property
    def functions(self) -> dict[str, str]:
        """Targets of the public Python functions that it brings, by name."""
        targets = (self.function,) if isinstance(self.function, str) else self.function or ()
        return {target.rpartition(":")[2]: target for target in targets}

    def load_function(self, name: str) -> Callable[..., Any]:
        """Import one of its public Python functions."""
        function: Callable[..., Any] = self._import(self.functions[name])
        return function

    def _import(self, target: str) -> Any:
        module_name, _, attribute = target.partition(":")
        label = f"{self.kind[:-1]} {self.name!r}"
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # anything that a third party's import can raise
            missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
            if self.extra and not module_name.startswith(missing):
                raise MissingDependencyError(f"{label} needs {missing}: pip install '{self.extra}'") from error
            raise PluginError(
                f"{label} of {self.distribution} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        try:
            return getattr(module, attribute)
        except AttributeError as error:
            raise PluginError(f"{label} of {self.distribution} names {target!r}: {error}") from error


@dataclass(frozen=True)
class Plugin:
    """One entry point: where it comes from and whether it could be used."""

    name: str
    distribution: str
    problem: str | None = None


@dataclass
class Registry:
    """All that was announced, by kind and name."""

    plugins: list[Plugin] = field(default_factory=list)
    manager: pluggy.PluginManager = field(default_factory=lambda: pluggy.PluginManager(specs.GROUP))
    _entries: dict[str, dict[str, Entry]] = field(default_factory=lambda: {kind: {} for kind in specs.KINDS})
    _distributions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.manager.add_hookspecs(specs)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of all kinds, those that plugins announced last."""
        return tuple(self._entries)

    def entries(self, kind: str) -> Mapping[str, Entry]:
        """All entries of one kind, sorted by name."""
        try:
            return dict(sorted(self._entries[kind].items()))
        except KeyError:
            raise UnknownNameError("kind of plugin", kind, self._entries) from None

    def entry(self, kind: str, name: str) -> Entry:
        """The entry of this name."""
        try:
            return self._entries[kind][name]
        except KeyError:
            raise UnknownNameError(kind[:-1].replace("_", " "), name, self._entries[kind]) from None

    def load(self, kind: str, name: str) -> Any:
        """Import and return the implementation of this name."""
        return self.entry(kind, name).load()

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each plugin that was skipped, and why."""
        return tuple(f"plugin {p.name} of {p.distribution} is skipped: {p.problem}" for p in self.plugins if p.problem)

    def add_plugins(self, *points: tuple[str, str, Callable[[], object]]) -> None:
        """Load plugin modules, each a name, its distribution and what loads it, and let them register.

        A broken one is named and left out whole.
        pluggy's ``load_setuptools_entrypoints`` would do the first half, but one plugin that cannot be imported would
        take all others along, and of two with the same name it drops the second in silence.
        """
        loaded = {}
        for name, distribution, load in points:
            if name in self._distributions:
                self._skip(name, distribution, f"{self._distributions[name]} has an entry point of the same name")
                continue
            try:
                self.manager.register(load(), name=name)
            except Exception as error:  # anything that a third party's import can raise
                if self.manager.has_plugin(name):  # a hook that asks for what does not exist
                    self.manager.unregister(name=name)
                self._skip(name, distribution, error)
                continue
            self._distributions[name] = loaded[name] = distribution
        for kind in list(specs.KINDS):
            self._collect(kind, loaded)
        for name in list(loaded):
            callers = self.manager.get_hookcallers(self.manager.get_plugin(name)) or []
            if unknown := [caller.name for caller in callers if not caller.has_spec()]:
                hooks = ", ".join(f"register_{kind}" for kind in self.kinds)
                self._skip(name, loaded.pop(name), f"unknown hook {unknown[0]!r}; the hooks are {hooks}")
        for kind in self.kinds[len(specs.KINDS) :]:
            self._collect(kind, loaded)
        self.plugins += [Plugin(name, distribution) for name, distribution in loaded.items()]

    def _collect(self, kind: str, loaded: dict[str, str]) -> None:
        """Call the hook of one kind for each plugin in pluggy's order, with the wrappers that others put around it."""
        caller = getattr(self.manager.hook, f"register_{kind}")
        plain = [each for each in caller.get_hookimpls() if not (each.hookwrapper or each.wrapper)]
        # perfcore's own first, so that a third party's duplicate is the one that is reported.
        names = [each.plugin_name for each in reversed(plain) if each.plugin_name in loaded]
        for name in sorted(names, key=lambda name: loaded[name] != specs.GROUP):
            staged: list[Entry] = []
            others = [each.plugin for each in plain if each.plugin_name != name]
            alone = self.manager.subset_hook_caller(f"register_{kind}", others)
            try:
                alone(register=functools.partial(self._stage, staged, kind, name))
            except Exception as error:  # anything that a third party's hook can raise
                self._skip(name, loaded.pop(name), error)
                continue
            for entry in staged:
                self._entries[kind][entry.name] = entry
                if kind == "kinds":
                    self._add_kind(entry)

    def _add_kind(self, kind: Entry) -> None:
        """Declare the hook of a kind that a plugin announced."""

        def spec(register: specs.Register) -> None:
            """Announce things of this kind."""

        self._entries.setdefault(kind.name, {})
        spec.__name__ = f"register_{kind.name}"
        self.manager.add_hookspecs(type("Hooks", (), {spec.__name__: specs.hookspec(spec)}))

    def _skip(self, name: str, distribution: str, problem: Exception | str) -> None:
        """Name a plugin that cannot be used, and leave out all that it brought."""
        if self._distributions.get(name) == distribution:
            del self._distributions[name]
            self.manager.unregister(name=name)
            for kind, entries in self._entries.items():
                self._entries[kind] = {key: each for key, each in entries.items() if each.plugin != name}
        text = str(problem) if isinstance(problem, (PluginError, str)) else f"{type(problem).__name__}: {problem}"
        self.plugins.append(Plugin(name, distribution, " ".join(text.splitlines())))

    def _stage(
        self, staged: list[Entry], kind: str, plugin: str, name: str, target: str, *, help: str, **facts: Any
    ) -> None:
        distribution = self._distributions[plugin]
        for other in (*self._entries[kind].values(), *staged):
            if other.name == name:
                raise PluginError(
                    f"{kind[:-1]} {name!r} is registered by {other.distribution} and by {distribution}; "
                    "uninstall one of them or rename its entry"
                )
        staged.append(Entry(kind, name, target, help, distribution, plugin, **facts))


@functools.cache
def registry() -> Registry:
    """The registry of this process, filled from the installed entry points on first use."""
    new_registry = Registry()
    points = importlib.metadata.entry_points(group=specs.GROUP)
    found = [(point.name, _distribution_name(point.dist), point.load) for point in points]
    # pluggy calls what was registered last first.
    new_registry.add_plugins(*sorted(found, key=lambda p: (p[1] == specs.GROUP, p[1], p[0]), reverse=True))
    return new_registry


@functools.cache
def _distribution_name(distribution: importlib.metadata.Distribution | None) -> str:
    """Return the name of a distribution, without the parser of mail that ``distribution.name`` runs."""
    head = re.search(r"^Name: (.*)$", (distribution and distribution.read_text("METADATA")) or "", re.MULTILINE)
    return head[1] if head else "unknown distribution" if distribution is None else distribution.name


def fault_of_plugin(error: BaseException) -> str | None:
    """Return which third-party plugin raised an exception, in which method and line; None if none was running."""
    known = registry()
    modules = {known.manager.get_plugin(each.name): each for each in known.plugins if each.distribution != specs.GROUP}
    packages = {getattr(module, "__name__", "").partition(".")[0]: each for module, each in modules.items()}
    frames = [
        (packages[package], frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (package := str(frame.f_globals.get("__name__", "")).partition(".")[0]) in packages
    ]
    if not frames:
        return None
    plugin, frame, line = frames[-1]
    place = f"{os.path.basename(frame.f_code.co_filename)}:{line}"  # noqa: PTH119 (no pathlib at start-up)
    what = f"{type(error).__name__}: {' '.join(str(error).splitlines())}"
    return f"plugin {plugin.distribution}: {frame.f_code.co_qualname} failed at {place}: {what}"


def option_fields(entry: Entry, given: Mapping[str, Any]) -> dict[str, list[OptionField]]:
    """Options by who takes them: the thing itself under ``""``, then each selected part under its name."""
    fields = list(describe(entry.load_options()))
    groups = {"": fields}
    for item in fields:
        name = given.get(item.name, item.default)
        if item.selects is not None and name in registry().entries(item.selects):
            groups[name] = list(describe(registry().entry(item.selects, name).load_options()))
    return groups


def build_options(entry: Entry, given: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[Entry, Any]]]:
    """Check what a user gave, and make the options of a thing and of the parts that they select."""
    options_class, remaining, parts = entry.load_options(), dict(given), {}
    fields = describe(options_class)
    known = {item.name for item in fields}

    def taken(names: set[str]) -> dict[str, Any]:
        return {name: remaining.pop(name) for name in list(remaining) if name in names}

    chosen = build(options_class, taken(known), entry.name)
    for item in fields:
        if item.selects is not None:
            part = registry().entry(item.selects, getattr(chosen, item.name))
            names = {field.name for field in describe(part.load_options())}
            known |= names
            parts[item.name] = (part, build(part.load_options(), taken(names), part.name))
    for name in remaining:
        raise UnknownNameError(f"option of {entry.name}", name, known)
    return chosen, parts
