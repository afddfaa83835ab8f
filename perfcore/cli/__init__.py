"""The command line: typer asks the registry for commands and makes each when it is called."""
