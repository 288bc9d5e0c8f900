"""Plugins an MJCF names: those that MuJoCo has stay, all others are taken out; none is loaded."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from xml.sax.saxutils import quoteattr

from dalembert.importers.xml_read import Element

MAX_PLUGINS = 64  # different names in one file
_PUSHED = ("body", "composite", "flexcomp")  # where a plugin makes forces, beside actuators


def drop_plugins(mujoco: ModuleType, root: Element) -> tuple[Counter[str], int]:
    """Take out elements of plugins that are not registered.

    Registered ones stay: their names in an <extension> bring no code that is not there already.
    Returns how many elements push, by plugin, and how many are gone.
    """
    instances = {
        instance.attributes.get("name", ""): plugin.attributes.get("plugin", "")
        for extension in root.walk()
        if extension.tag == "extension"
        for plugin in extension.all("plugin")
        for instance in plugin.all("instance")
    }
    known: dict[str, bool] = {}
    pushing: Counter[str] = Counter()
    count = 0
    for element in root.walk():
        gone = set()
        for child in element.all("plugin"):
            instance = child.attributes.get("instance", "")
            name = child.attributes.get("plugin", "") or instances.get(instance, "")
            if name not in known:
                known[name] = _registered(mujoco, name)
                if len(known) > MAX_PLUGINS:
                    raise child.error(f"more than {MAX_PLUGINS} plugins")
            if not known[name]:
                gone.add(id(child))
            # an actuator that stays is listed with all others
            pushing[name] += element.tag in _PUSHED or (element.tag == "actuator" and bool(gone))
        if gone:
            element.children = [child for child in element.children if id(child) not in gone]
            count += len(gone)
            if element.tag == "actuator":
                _forget_controls(root)
    return +pushing, count


def _registered(mujoco: ModuleType, name: str) -> bool:
    """Whether MuJoCo has a plugin of this name; no name, or one it may crash on, is left alone."""
    if not name or "%" in name:
        return True
    plugin = f"<plugin plugin={quoteattr(name)}/>"
    try:
        mujoco.MjSpec.from_string(f"<mujoco><extension>{plugin}</extension></mujoco>")
    except ValueError:
        return False
    return True


def _forget_controls(root: Element) -> None:
    """Keyframes no longer fit where actuators are gone."""
    for element in root.walk():
        if element.tag == "key":
            for name in ("ctrl", "act"):
                element.attributes.pop(name, None)
