"""The studio's page as a document, and the rules under which a browser may run it."""

from __future__ import annotations

import re
from typing import Any

from dalembert.errors import DalembertError
from dalembert.report.asset import asset
from dalembert.report.studio.actions import Studio
from dalembert.report.studio.tabs import MAX_FILE
from dalembert.text import html_data
from dalembert.zoo import bodies, mechanisms, names, systems

SCRIPTS = ("studio_editor.js", "studio_files.js", "studio.js")


def policy(nonce: str | None) -> str:
    """Nothing from elsewhere; scripts and styles only those that bear the nonce."""
    if nonce is None:
        return "default-src 'none'; frame-ancestors 'none'"
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


# A page that was made has no origin of its own, and only the studio shows it; what it may do
# otherwise stands in its own policy. It may save pictures and data.
MADE = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"


def document(studio: Studio, nonce: str) -> str:
    """The page with what it begins with: names of the zoo, and the file of the command line."""
    page = asset("assets/studio.html")
    given = html_data({"zoo": zoo(), "kept": kept(studio), "most": MAX_FILE})
    style = asset("assets/page.css") + asset("assets/studio.css")
    scripts = "\n".join(asset(f"assets/{name}") for name in SCRIPTS)
    parts = {"%NONCE%": nonce, "%STYLE%": style, "%DATA%": given, "%SCRIPT%": scripts}
    return re.sub("|".join(parts), lambda mark: parts[mark[0]], page)


def zoo() -> list[dict[str, Any]]:
    """Names by kind."""
    return [
        {"title": title, "names": list(found)}
        for title, found in (
            ("Robots", names()),
            ("Closed chains and contacts", mechanisms()),
            ("Mechanisms of bodies", bodies()),
            ("By their energies", systems()),
        )
    ]


def kept(studio: Studio) -> dict[str, Any] | None:
    """The file as it is on disk now, or why it cannot be read."""
    if studio.kept is None:
        return None
    path = studio.kept.path
    said: dict[str, Any] = {"name": path.name, "path": str(path)}
    try:
        text, stamp = studio.kept.read()
        return {
            **said,
            "text": text,
            "stamp": stamp,
            "restorable": studio.kept.original is not None,
        }
    except DalembertError as error:
        return {**said, "error": str(error)}
