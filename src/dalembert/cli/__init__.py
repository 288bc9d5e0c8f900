"""The `dalembert` command."""

import sys


def main() -> None:
    """Run the command line; what a terminal's encoding cannot show is replaced, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    from dalembert.cli.app import app

    app(prog_name="dalembert")
