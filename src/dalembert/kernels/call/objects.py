"""Machine code by its key: found on disk, or compiled and left there."""

from collections.abc import Callable, Mapping, Sequence

from dalembert.errors import CompileError
from dalembert.forking import llvm_lock
from dalembert.kernels.call import cache
from dalembert.kernels.call.sources import as_imported, remember
from dalembert.kernels.llvm.load import Loaded, load


def linked(
    key: str,
    symbols: Sequence[str],
    compiled: Callable[[], bytes],
    known: Mapping[str, int] | None = None,
) -> Loaded:
    """The functions under `key`, which says everything that `compiled()` depends on.

    `known` are the addresses of what they call besides the libraries of this process.
    An entry that cannot be linked is compiled anew and replaced. What was compiled while the
    package's files changed is not stored: the key may name other sources than those that ran.
    """
    with llvm_lock:
        found = _linked(cache.get(key), symbols, known)
        if found is None:
            code = compiled()
            found = load(code, symbols, known)
            if as_imported():
                cache.put(key, code)
        remember()
        return found


def _linked(
    code: bytes | None, symbols: Sequence[str], known: Mapping[str, int] | None
) -> Loaded | None:
    try:
        return None if code is None else load(code, symbols, known)
    except CompileError:
        return None
