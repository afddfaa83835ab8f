"""The program: ``perf``, ``perfcore`` and ``python -m perfcore``."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import traceback
from typing import NoReturn

import typer

from perfcore.base.errors import PerfError, error_lines, options_of_program
from perfcore.base.surroundings import ignore_settings_of_folder, open_closed_streams
from perfcore.cli.app import program
from perfcore.hooks.registry import fault_of_plugin

_OBJECTS = 50_000  # made between looks for garbage: imports make many, and no garbage
_INTERRUPTED, _TERMINATED = 130, 143  # as shells say that a signal ended a program; typer does so for Ctrl-C


@options_of_program()
def main() -> None:
    """Run the program; the user's mistakes and a full machine become one line and exit status 2, bugs a traceback."""
    gc.set_threshold(_OBJECTS)
    open_closed_streams()
    ignore_settings_of_folder()
    name = os.path.basename((sys.argv or ["perf"])[0])  # noqa: PTH119 (no pathlib at start-up)
    name = name if name.startswith("perf") else "perf"  # python -m perfcore
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))  # so that temporary folders go
    try:
        # The completion script of `perfcore` must complete the word `perfcore`.
        complete_var = f"_{name.upper().replace('-', '_')}_COMPLETE"
        status = program().main(prog_name=name, standalone_mode=False, complete_var=complete_var)
        sys.stdout.flush()  # a full disk is reported here, not at exit
    except PerfError as error:
        _fail(str(error))
    except OSError as error:
        if not error.filename and (problem := fault_of_plugin(error)) is not None:
            _fail_of_plugin(problem)
        # What is written without a name is standard output.
        place = error.filename or ("standard output" if error.errno == errno.ENOSPC else "this machine")
        _fail(f"{place}: {error.strerror or error}")
    except MemoryError as error:
        _fail(f"{str(error) or 'an allocation failed'}: out of memory; reduce the input or the request")
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)  # of mistakes in the line
        _fail(error.format_message() + (f" (see `{context.command_path} --help`)" if context is not None else ""))
    except typer.Abort:
        status = _INTERRUPTED
    except Exception as error:  # a bug of ours keeps its traceback
        if (problem := fault_of_plugin(error)) is None:
            raise
        _fail_of_plugin(problem)
    if status == _INTERRUPTED:
        typer.echo(f"\n{name}: interrupted", err=True)
    sys.exit(status if isinstance(status, int) else 0)


def _fail_of_plugin(problem: str) -> NoReturn:
    """End with what a plugin raised, and with ``-v`` the traceback of the exception that is handled."""
    if {"-v", "--verbose", "--all"} & set(sys.argv):
        traceback.print_exc()
    _fail(f"{problem}; -v shows the traceback")


def _fail(message: str) -> NoReturn:
    typer.echo("\n".join(error_lines(f"perf: error: {message}")), err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
