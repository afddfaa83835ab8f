"""The program: ``perf``, ``perfcore`` and ``python -m perfcore``."""

import sys


def main() -> None:
    """Run the program; all of it is imported here, so that Ctrl-C is one line however early it comes."""
    try:
        from perfcore.cli.app import run

        run()
    except (KeyboardInterrupt, RuntimeError) as error:
        if not isinstance(error.__cause__ or error, KeyboardInterrupt):  # which Python wraps while it makes a class
            raise
        sys.stderr.write("\nperf: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
