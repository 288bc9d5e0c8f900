"""In front of a method: batches on a GPU of shapes that came before go straight to their kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dalembert.kernels.cuda.plan import Key, Plan, key_of

if TYPE_CHECKING:
    from dalembert.kernels.cuda.device import DeviceKernel


class OnCard:
    """A method of a system, asked for the kernel's own plan first; all else the method does.

    `only`: nothing was put in front of it yet for states of the host.
    """

    def __init__(
        self,
        kernels: Mapping[Any, DeviceKernel],
        variant: Any,
        method: Callable[..., Any],
        doc: str,
        only: bool,
    ) -> None:
        self._kernels, self._variant, self.method, self.only = kernels, variant, method, only
        self.__doc__, self.__name__ = doc, method.__name__
        self._plans: dict[Key, Plan] = {}  # of the kernel, once there is one

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """What the method returns."""
        if not options:
            plan = self._plans.get(key_of(inputs) or ())
            if plan is not None:
                return plan(inputs)
            kernel = self._kernels.get(self._variant)
            self._plans = {} if kernel is None else kernel.plans
        return self.method(*inputs, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.method.__self__, self.__name__)  # type: ignore[attr-defined]
