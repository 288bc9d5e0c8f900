"""`dalembert studio`: a page on this machine where a robot's file is edited beside its live page."""

from __future__ import annotations

import signal
import webbrowser
from threading import Thread
from typing import TYPE_CHECKING

from dalembert.cli.options import TRUSTED
from dalembert.cli.output import console, say
from dalembert.errors import SettingError
from dalembert.report.studio.files import EditedFile
from dalembert.report.studio.server import Server

if TYPE_CHECKING:
    from dalembert.cli.app import StudioOptions


class Stopped(BaseException):
    """A signal that ends the studio; no `Exception`, so that no server on the way swallows it."""


def studio(options: StudioOptions) -> None:
    """Serve until Ctrl-C; temporary files and processes are removed."""
    if options.file is not None:
        EditedFile(options.file.resolve()).read()  # raises before a port is opened

    def stop(*_: object) -> None:
        raise Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        try:
            server = Server(options.port, options.file, list(TRUSTED), options.limit)
        except OSError as error:
            raise SettingError(
                f"port {options.port} cannot be opened: {error.strerror}; "
                "choose another, or none for a free one"
            ) from None
        try:
            server.pool.warm()
            screen = console()
            say(screen, "The studio is at ", (server.address, "bold"), soft_wrap=True)
            say(screen, "Ctrl-C ends it.")
            if options.browser:
                Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            server.serve_forever(poll_interval=0.25)
        finally:
            for number in before:
                signal.signal(number, signal.SIG_IGN)  # closing is not interrupted again
            server.close()
    except Stopped:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
