"""Fast repeated calls: a call like an earlier one goes straight to its kernel.

The methods of quantities check every argument, which takes ten times as long as the arithmetic of one
state. `FastCall` remembers, by the number of arrays, the names of keywords and their words, which
kernel a call ended in; arrays of another shape, out= and parameters= go to the method as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from operator import itemgetter
from threading import local
from typing import TYPE_CHECKING, Any

from dalembert.kernels import fast_call
from dalembert.kernels.call.arguments import on_device

if TYPE_CHECKING:
    from dalembert.kernels.cuda.device import Plan
    from dalembert.systems.evaluator import Variant
    from dalembert.systems.system import System


_last = local()  # .call: the variant, arguments and result of this thread's last evaluation


def record_call(
    system: System, quantity: str, variant: Variant, arguments: Sequence[Any], result: Any
) -> None:
    """Record the kernel of a call; replace the method by a `FastCall` at its second call.

    Only the library's own methods: one that a subclass overrides is not replaced.
    """
    _last.call = variant, list(map(id, arguments)), id(result)
    if quantity in system.__dict__:
        return
    called = system.__dict__.setdefault("_called", {})
    if quantity in called or on_device(arguments):
        method = getattr(type(system), quantity, None)
        if getattr(method, "__module__", "").partition(".")[0] == __name__.partition(".")[0]:
            system.__dict__[quantity] = FastCall(system, quantity)
    called[quantity] = True  # the first call is not delayed


class FastCall:
    """A method of a system, with the kernels that its calls ended in.

    A kernel replaces it only where the method passed on its arguments and returned the result, both
    unchanged.
    """

    def __init__(self, system: System, quantity: str) -> None:
        self.system, self.__name__ = system, quantity
        self.method = self.__wrapped__ = getattr(type(system), quantity).__get__(system)
        self.__doc__ = self.method.__doc__
        self._calls: dict[tuple[str, ...], Any] = {}  # by names of keywords, all of them arrays
        self._chosen: dict[tuple[str, ...], Any] = {}  # by names, with words among them
        self._plans: dict[Any, Plan] = {}  # of the kernel on a GPU, once there is one

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The result of the method."""
        names = (*options,)  # quicker than tuple(options)
        call = self._calls.get(names)
        if call is not None:
            return call(*inputs, *options.values())
        if names in self._chosen:
            words, arrays, calls = self._chosen[names]
            try:
                call = calls[words(options)]
            except (KeyError, TypeError):  # a new word, or an array in place of one
                pass
            else:
                return call(*inputs, *map(options.get, arrays)) if arrays else call(*inputs)
        elif self._plans and not options:
            plan = self._plans.get(self._key_of(inputs) or ())
            if plan is not None:
                return plan(inputs)
        _last.call = None
        result = self.method(*inputs, **options)
        if _last.call is not None:
            self._remember(inputs, options, result)
        return result

    def _remember(self, inputs: tuple[Any, ...], options: dict[str, Any], result: Any) -> None:
        """Store the kernel of this result, unless the method did more than call it."""
        variant, arguments, result_id = _last.call
        words = tuple(name for name, x in options.items() if type(x) is str)
        arrays = tuple(name for name in options if name not in words)
        passed = [*inputs, *(options[name] for name in arrays)]
        if result_id != id(result) or arguments != list(map(id, passed)):
            return
        evaluator = self.system.evaluator
        if on_device(passed):
            from dalembert.kernels.cuda.device import plan_key

            self._key_of = plan_key
            if not (options or variant.optional):
                self._plans = evaluator.devices[variant.key].plans
        elif variant.key in evaluator.kernels:
            if not (options or variant.optional):
                if type(self.system.__dict__.get(self.__name__)) is FastCall:
                    self.system.__dict__[self.__name__] = self._builtin(variant, self.__call__)
                return
            word_options = {name: options[name] for name in words}
            call = self._builtin(variant, partial(self._by_method, arrays, word_options))
            if not words:
                self._calls[arrays] = call
                return
            of_words = itemgetter(*words)
            known = self._chosen.setdefault(tuple(options), (of_words, arrays, {}))
            if known[1] == arrays:  # and so of the same words
                known[2][of_words(options)] = call

    def _by_method(self, arrays: Sequence[str], words: dict[str, str], *inputs: Any) -> Any:
        count = len(inputs) - len(arrays)
        named = dict(zip(arrays, inputs[count:], strict=True))
        return self.method(*inputs[:count], **named, **words)

    def _builtin(self, variant: Variant, fallback: Callable[..., Any]) -> Callable[..., Any]:
        """A builtin for plain states, see `fast_call`; everything else goes to the fallback."""
        bare = [p.replace(annotation=p.empty) for p in signature(self.method).parameters.values()]
        text = signature(self.method).replace(parameters=bare, return_annotation=bare[0].empty)
        doc = f"{self.__name__}{text}\n--\n\n{self.__doc__ or ''}"
        return fast_call(self.system.evaluator.kernels[variant.key], fallback, self.__name__, doc)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.system, self.__name__)
