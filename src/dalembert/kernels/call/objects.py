"""Machine code by its key: found on disk, or compiled and left there."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from dalembert.errors import CompileError
from dalembert.forking import llvm_lock
from dalembert.kernels.call import cache
from dalembert.kernels.call.sources import as_imported, remember, source_digest
from dalembert.kernels.llvm.load import Loaded, load, pack
from dalembert.kernels.llvm.target import Target


def linked(
    key: str,
    symbols: Sequence[str],
    compiled: Callable[[], bytes],
    known: Mapping[str, int] | None = None,
    whole: bool = False,
) -> Loaded:
    """The functions under `key`, which says everything that `compiled()` depends on.

    `known` are the addresses of what they call besides the libraries of this process.
    An entry that cannot be linked is compiled anew and replaced. What was compiled while the
    package's files changed is not stored: the key may name other sources than those that ran, unless
    it is the `whole` of what is compiled.
    """
    with llvm_lock:
        found, code = None, cache.get(key)
        with suppress(CompileError):
            found = None if code is None else load(code, symbols, known)
        if found is None:
            code = compiled()
            found = load(code, symbols, known)
            if cache.directory() is not None and (whole or as_imported()):
                cache.put(key, code)
        remember()
        return found


def linked_text(
    facts: Sequence[str],
    symbols: Sequence[str],
    written: Callable[[], str],
    target: Target,
    known: Mapping[str, int] | None = None,
) -> Loaded:
    """The functions of a module in LLVM assembly; `facts` say all that decides its text.

    The machine, LLVM and the sources of this package, on which it depends too, are added here.
    """
    import llvmlite

    def compiled() -> bytes:
        from dalembert.kernels.llvm.codegen import emitted

        return pack([emitted(written(), target)])

    parts = (*symbols, *facts, repr(target), llvmlite.__version__, source_digest())
    return linked("\n".join(parts), symbols, compiled, known)
