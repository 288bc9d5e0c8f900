"""A system in a notebook: its live page as a widget, whose state Python reads and sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from numbers import Real
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.errors import DalembertError, ParameterError, ShapeError
from dalembert.report import asset
from dalembert.report.motion import free_start, postures
from dalembert.report.page import stage_page
from dalembert.systems.system import System
from dalembert.text import require_known

try:
    import anywidget
    import traitlets
except ImportError:
    raise DalembertError(
        "a widget needs anywidget: pip install anywidget (the extra [notebook])"
    ) from None

MAX_PAGES = 8  # pages, most of a megabyte each
_widgets: WeakKeyDictionary[System, Widget] = WeakKeyDictionary()


class Widget(anywidget.AnyWidget):
    """The live page of a system, in a notebook.

    `q` (nq,), `qd` (nv,), `t` in s, `running` and `parameters` follow the page, and the page follows
    them: positions that are set put it at rest, unless velocities are set in the same
    ``hold_sync()``. ``observe`` reports changes. The page is made when a notebook first shows it.
    """

    _esm = asset("assets/widget.js")
    _page = traitlets.Unicode().tag(sync=True)
    _message = traitlets.Unicode().tag(sync=True)
    name = traitlets.Unicode(read_only=True).tag(sync=True)
    q = traitlets.Any().tag(sync=True)
    qd = traitlets.Any().tag(sync=True)
    t = traitlets.Float(0.0).tag(sync=True)
    running = traitlets.Bool(False).tag(sync=True)
    parameters = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)

    def __init__(self, system: System, height: int = 640) -> None:
        self.system = system = system.compiled
        if system.robot is system:
            q = system.integrate(system.neutral(), postures(system.robot)[0])
        else:
            q = free_start(system)[0]
        qd, named = [0.0] * system.nv, dict(system.named_parameters)
        super().__init__(q=q.tolist(), qd=qd, parameters=named, height=height)
        self.set_trait("name", system.name)
        self.on_msg(self._on_message)

    @classmethod
    def of(cls, system: System) -> Widget:
        """The one widget of a system, created on the first call.

        Parameters
        ----------
        system : System
            A robot or another system.

        Returns
        -------
        Widget
        """
        widget = _widgets.get(system)
        if widget is None or widget.comm is None:  # none, or one that was closed
            widget = _widgets[system] = cls(system)
        return widget

    def __repr__(self) -> str:
        return f"<Widget of {self.system.name}: q {tuple(round(x, 4) for x in self.q)}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The live page, and a robot's table for whoever cannot show it."""
        bundle, about = super()._repr_mimebundle_(**kwargs) or ({}, {})
        robot = self.system.robot
        plain = {"text/plain": repr(self)} | ({"text/html": robot._repr_html_()} if robot else {})
        return {**bundle, **plain}, about

    @traitlets.validate("q", "qd")
    def _numbers(self, proposal: Any) -> tuple[float, ...]:
        name = proposal["trait"].name
        size = self.system.nq if name == "q" else self.system.nv
        try:
            values = np.asarray(proposal["value"], dtype=float)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape != (size,) or not np.isfinite(values).all():
            raise ShapeError(f"{self.system.name}: {name} must be {size} finite numbers")
        return tuple(values.tolist())

    @traitlets.validate("parameters")
    def _named(self, proposal: Any) -> Mapping[str, float]:
        parameters, values = self.system.named_parameters, {}
        for name, value in proposal["value"].items():
            if parameters:
                require_known(name, parameters, f"{self.system.name} has no parameter")
            if value is not None:
                values[name] = self._number(value, f"parameter {name!r}")
        return values

    @traitlets.validate("t")
    def _time(self, proposal: Any) -> float:
        return self._number(proposal["value"], "t")

    def _number(self, value: Any, name: str) -> float:
        if not isinstance(value, Real) or not np.isfinite(float(value)):
            raise ParameterError(f"{self.system.name}: {name} must be a finite number")
        return float(value)

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the page when a notebook shows the widget."""
        if self._page or not isinstance(content, dict) or content.get("ask") != "page":
            return
        try:
            self._page = page_of(self.system)
        except DalembertError as error:
            self._message = f"It has no page: {error}"


@lru_cache(maxsize=MAX_PAGES)
def page_of(system: System) -> str:
    """The stage of a system as a document, cached for the next widget of the same one."""
    return stage_page(system)
