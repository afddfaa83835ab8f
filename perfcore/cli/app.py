"""The program as a typer app whose commands are what plugins registered."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NoReturn

import typer
import typer.core
import typer.main

import perfcore
from perfcore.base import grouped
from perfcore.base.errors import OptionError, PerfError, UnknownNameError, error_lines, options_of_program
from perfcore.base.surroundings import (
    drop_output,
    end_on_signals,
    forgive_standard_error,
    ignore_settings_of_folder,
    one_temporary_folder,
    open_closed_streams,
    status_of_signal,
    use_one_blas_thread,
)
from perfcore.cli.command import CONTEXT_SETTINGS, TakesPlainValues, build_command, markup_mode, plain, write_beginning
from perfcore.hooks.registry import Entry, fault_of_plugin, registry
from perfcore.hooks.specs import COMMAND_GROUP

_OBJECTS = 50_000  # made between looks for garbage: imports make many, and no garbage
_SIGPIPE_STATUS = 128 + 13  # what a shell reports for a program that SIGPIPE ended
_INTERRUPTED = 130  # by Ctrl-C
_GROUPS = ("Look", "Model", "Measure", "Uncertainty", "Set up")  # headings of the help, in this order; others follow


# Commands of another program of this name, in case somebody expects that one.
_LINUX_PERF = {
    "annotate", "archive", "bench", "buildid-cache", "c2c", "config", "daemon", "data", "diff", "evlist", "ftrace",
    "inject", "iostat", "kallsyms", "kmem", "kvm", "kwork", "list", "lock", "mem", "probe", "record", "report", "sched",
    "script", "stat", "test", "timechart", "top", "trace", "version",
}  # fmt: skip


class CommandGroup(TakesPlainValues, typer.core.TyperGroup):
    """Commands of the registry whose names begin with the same words; a listing imports none of them."""

    prefix = ""  # of a group within the program the word that leads to it, and a space
    is_brief = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the line; without a command, or with ``-h``, the help of the program is brief."""
        self.is_brief = not self.prefix and args[:1] in ([], ["-h"])
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; the brief one has the names of the commands alone."""
        if not self.is_brief:
            super().format_help(ctx, formatter)
            return
        write_beginning(self, ctx, formatter)
        with formatter.section("Commands"):
            rows = self._commands_by_group().items()
            formatter.write_dl([(title, ", ".join(_with_subcommands(name) for name, _ in row)) for title, row in rows])
        formatter.write("\nperf COMMAND -h: help of one command\nperf --help: what each command does\n")

    def list_commands(self, ctx: Any) -> list[str]:
        """First words of the names, by group of the help."""
        names = (entry.name.removeprefix(self.prefix).split()[0] for entry in _commands(self.prefix))
        return list(dict.fromkeys(names))

    def get_command(self, ctx: Any, cmd_name: str) -> typer.core.TyperCommand | None:
        """What a listing says of a command."""
        entry = registry().entries("commands").get(self.prefix + cmd_name)
        if entry is None:
            return None
        text = plain(entry.help)
        return typer.core.TyperCommand(cmd_name, help=text, short_help=text, rich_help_panel=entry.group or "Others")

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Make the command that the line names, with the options of what the rest of the line selects."""
        entries = registry().entries("commands")
        for count in (2, 1):  # `gate record` is a command next to `gate FILE`
            entry = entries.get(self.prefix + " ".join(args[:count]))
            if entry is not None and len(args) >= count:
                words = args[count:]
                if entry.target == COMMAND_GROUP:
                    return args[0], _make_group(_help_without_command, plain(entry.help), f"{entry.name} "), words
                return " ".join(args[:count]), build_command(entry, words), words
        if ctx.resilient_parsing:  # while a line is completed
            return None, None, args[1:]
        if args[0].startswith("-"):
            ctx.fail(f"No such option {args[0]}")
        raise _unknown(self.prefix, args[0])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Commands under the headings of their groups, each with its whole line of help."""
        for title, rows in self._commands_by_group().items():
            with formatter.section(title if not self.prefix else "Commands"):
                formatter.write_dl(rows)

    def _commands_by_group(self) -> dict[str, list[tuple[str, str]]]:
        """Names and help of the commands."""
        names = {entry.name for entry in registry().entries("commands").values() if entry.target == COMMAND_GROUP}
        parted = [(entry, entry.name.removeprefix(self.prefix)) for entry in _commands(self.prefix)]
        shown = [(e, name) for e, name in parted if " " not in name or f"{self.prefix}{name.split()[0]}" not in names]
        return grouped((entry.group or "Others", (name, entry.help)) for entry, name in shown)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the line, for which ``--help`` and ``--version`` print; a closed pipe is no error."""
        with _silent_where_pipe_closes():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a closed pipe, as with ``| head``, is no error."""
        with _silent_where_pipe_closes():
            return super().invoke(ctx)


@contextlib.contextmanager
def _silent_where_pipe_closes() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        drop_output()
        raise typer.Exit(_SIGPIPE_STATUS) from None


def _with_subcommands(name: str) -> str:
    """Return the name of a command, and in brackets those of the commands of a group."""
    is_group = registry().entry("commands", name).target == COMMAND_GROUP
    names = [entry.name.removeprefix(f"{name} ") for entry in _commands(f"{name} ")] if is_group else []
    return f"{name} ({', '.join(names)})" if names else name


def _commands(prefix: str) -> list[Entry]:
    """Commands in the order of the help: by group, then by name."""
    places = {name: number for number, name in enumerate(_GROUPS)}
    entries = (entry for entry in registry().entries("commands").values() if entry.name.startswith(prefix))
    return sorted(entries, key=lambda entry: (places.get(entry.group, len(places)), entry.group or "Others"))


def _help_without_command(ctx: typer.Context) -> int | None:
    """Show the help of a group if the line names no command; the status is then 2."""
    if ctx.invoked_subcommand is not None:
        return None
    typer.echo(ctx.get_help())
    return 2


def _make_group(callback: Callable[..., Any], text: str | None = None, prefix: str = "") -> CommandGroup:
    app = typer.Typer(
        cls=CommandGroup, rich_markup_mode=markup_mode(), context_settings=CONTEXT_SETTINGS, add_completion=not prefix
    )
    app.callback(invoke_without_command=True, help=text or callback.__doc__)(callback)
    group = typer.main.get_command(app)
    assert isinstance(group, CommandGroup)
    group.prefix = prefix
    return group


def _unknown(prefix: str, name: str) -> OptionError:
    """Why there is no such command: it is another program's, or the nearest is meant."""
    if not prefix and name in _LINUX_PERF:
        return OptionError(
            f"unknown command {name!r}: this is perfcore, for performance models; Linux perf is another program of "
            "this name (see `type -a perf`)"
        )
    known = [entry.name.removeprefix(prefix) for entry in _commands(prefix) if entry.target != COMMAND_GROUP]
    return UnknownNameError("command", name, known)


def _say_version(requested: bool) -> None:
    if requested:
        typer.echo(f"perfcore, version {perfcore.__version__}")
        raise typer.Exit


def _perf(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> int | None:
    """Performance models from measurements of parallel programs.

    \b
    perf info runs.csv
    perf fit runs.csv --at p=128 --plot scaling.png
    perf overheads trace.prv
    """
    return _help_without_command(ctx)


def program() -> typer.core.TyperGroup:
    """The command of the whole program, to be run with ``standalone_mode=False``."""
    return _make_group(_perf)


@options_of_program()
def run() -> None:
    """Run the program; the user's mistakes and a full machine become one line and exit status 2, bugs a traceback."""
    gc.set_threshold(_OBJECTS)
    open_closed_streams()
    forgive_standard_error()
    ignore_settings_of_folder()
    use_one_blas_thread()
    name = os.path.basename((sys.argv or ["perf"])[0])  # noqa: PTH119 (no pathlib at start-up)
    name = name if name.startswith("perf") else "perf"  # python -m perfcore
    end_on_signals()
    try:
        # The completion script of `perfcore` must complete the word `perfcore`.
        complete_var = f"_{name.upper().replace('-', '_')}_COMPLETE"
        with one_temporary_folder():
            status = program().main(prog_name=name, standalone_mode=False, complete_var=complete_var)
        sys.stdout.flush()  # a full disk is reported here, not at exit
    except PerfError as error:
        _fail(str(error))
    except OSError as error:
        if not error.filename and (problem := fault_of_plugin(error)) is not None:
            _fail_of_plugin(problem)
        # What is written without a name is standard output.
        place = error.filename or ("standard output" if error.errno == errno.ENOSPC else "the current folder")
        _fail(f"{place}: {error.strerror or error}")
    except MemoryError as error:
        _fail(f"{str(error) or 'an allocation failed'}: out of memory; reduce the input or the request")
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)  # of mistakes in the line
        _fail(error.format_message() + (f" (see `{context.command_path} --help`)" if context is not None else ""))
    except typer.Abort:
        status = _INTERRUPTED
    except Exception as error:  # a bug of ours keeps its traceback
        if (problem := fault_of_plugin(error)) is not None:
            _fail_of_plugin(problem)
        elif "embedded null " in str(error):
            _fail("the name of a file holds a NUL byte; correct it in the file or the line that gives it")
        elif not status_of_signal():
            raise
        status = status_of_signal()
    if status == _INTERRUPTED:
        typer.echo(f"\n{name}: interrupted", err=True)
    sys.exit(status if isinstance(status, int) else 0)


def _fail_of_plugin(problem: str) -> NoReturn:
    """End with what a plugin raised, and with ``-v`` the traceback of the exception that is handled."""
    if {"-v", "--verbose", "--all"} & set(sys.argv):
        traceback.print_exc()
    _fail(f"{problem}; -v shows the traceback")


def _fail(message: str) -> NoReturn:
    """End with one line, unless a signal ended the work and a library made an error of it."""
    if status_of_signal():
        sys.exit(status_of_signal())
    typer.echo("\n".join(error_lines(f"perf: error: {message}")), err=True)
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
    sys.exit(2)
