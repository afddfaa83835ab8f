"""Finds plugins through entry points and imports an implementation when it is first used."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pluggy

from perfcore.base.errors import MissingDependencyError, PluginError, UnknownNameError
from perfcore.plugins import hookspecs

__all__ = ["Entry", "Plugin", "Registry", "registry"]


@dataclass(frozen=True)
class Entry:
    """One registered implementation, not yet imported."""

    kind: str
    name: str
    target: str
    help: str
    extra: str | None
    suffixes: tuple[str, ...]
    distribution: str

    def load(self) -> Any:
        """Import the target.

        Raises
        ------
        MissingDependencyError
            A library is absent that the entry's extra would bring.
        PluginError
            The module cannot be imported, or has no such attribute.
        """
        module_name, _, attribute = self.target.partition(":")
        what = f"{self.kind[:-1]} {self.name!r}"
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # anything that a third party's import can raise
            missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
            if self.extra and not module_name.startswith(missing):
                raise MissingDependencyError(f"{what} needs {missing}: pip install '{self.extra}'") from error
            raise PluginError(
                f"{what} of {self.distribution} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        try:
            return getattr(module, attribute)
        except AttributeError as error:
            raise PluginError(f"{what} of {self.distribution} names {self.target!r}: {error}") from error


@dataclass(frozen=True)
class Plugin:
    """One entry point: where it comes from and whether it could be used."""

    name: str
    distribution: str
    problem: str | None = None


@dataclass
class Registry:
    """All implementations that were announced, by kind and name.

    Attributes
    ----------
    plugins : list of Plugin
        Every entry point of the group, the broken ones with their problem.
    """

    plugins: list[Plugin] = field(default_factory=list)
    _entries: dict[str, dict[str, Entry]] = field(default_factory=lambda: {kind: {} for kind in hookspecs.KINDS})

    def entries(self, kind: str) -> Mapping[str, Entry]:
        """All entries of one kind, sorted by name."""
        return dict(sorted(self._entries[kind].items()))

    def entry(self, kind: str, name: str) -> Entry:
        """The entry of this name.

        Raises
        ------
        UnknownNameError
            Nothing of this kind has the name; the message suggests the nearest.
        """
        try:
            return self._entries[kind][name]
        except KeyError:
            raise UnknownNameError(kind[:-1], name, self._entries[kind]) from None

    def load(self, kind: str, name: str) -> Any:
        """Import and return the implementation of this name."""
        return self.entry(kind, name).load()

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each plugin that was skipped, and why."""
        return tuple(f"plugin {p.name} of {p.distribution} is skipped: {p.problem}" for p in self.plugins if p.problem)

    def add_plugin(self, name: str, distribution: str, load: Callable[[], object]) -> None:
        """Load one plugin module and let it register; a broken one is named and left out whole."""
        staged: list[Entry] = []
        try:
            self._collect(name, distribution, load(), staged)
        except Exception as error:  # anything that a third party's import can raise
            problem = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
            self.plugins.append(Plugin(name, distribution, " ".join(problem.splitlines())))
            return
        for entry in staged:
            self._entries[entry.kind][entry.name] = entry
        self.plugins.append(Plugin(name, distribution))

    def _collect(self, name: str, distribution: str, module: object, staged: list[Entry]) -> None:
        manager = pluggy.PluginManager(hookspecs.GROUP)
        manager.add_hookspecs(hookspecs)
        manager.register(module, name=name)
        try:
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            hooks = ", ".join(f"register_{kind}" for kind in hookspecs.KINDS)
            raise PluginError(f"{error}; the hooks are {hooks}") from error
        for kind in hookspecs.KINDS:
            getattr(manager.hook, f"register_{kind}")(
                register=functools.partial(self._stage, staged, kind, distribution)
            )

    def _stage(
        self,
        staged: list[Entry],
        kind: str,
        distribution: str,
        name: str,
        target: str,
        *,
        help: str,
        extra: str | None = None,
        suffixes: tuple[str, ...] = (),
    ) -> None:
        earlier: Iterable[Entry] = [*self._entries[kind].values(), *staged]
        for other in earlier:
            if (other.kind, other.name) == (kind, name):
                raise PluginError(
                    f"{kind[:-1]} {name!r} is registered by {other.distribution} and by {distribution}; "
                    "uninstall one of them or rename its entry"
                )
        staged.append(Entry(kind, name, target, help, extra, suffixes, distribution))


@functools.cache
def registry() -> Registry:
    """The registry of this process, filled from the installed entry points on first use.

    Examples
    --------
    >>> "worley" in registry().entries("fitters")
    True
    """
    found = Registry()
    points = importlib.metadata.entry_points(group=hookspecs.GROUP)
    # perfcore's own first, so that a third party's duplicate is the one that is reported.
    for point in sorted(points, key=lambda p: (_distribution(p) != hookspecs.GROUP, _distribution(p), p.name)):
        found.add_plugin(point.name, _distribution(point), point.load)
    return found


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown distribution"
