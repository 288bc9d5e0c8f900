"""From a function of arrays to machine code: trace, program, interpret, count, compile, call.

Nothing here knows of robots. LLVM is imported when first needed.
"""

from dalembert.kernels.call.arguments import explain_error
from dalembert.kernels.call.cache_key import source_digest
from dalembert.kernels.call.fast_call import fast_call
from dalembert.kernels.call.kernel import Kernel, build
from dalembert.kernels.call.settings import get_num_threads, set_num_threads
from dalembert.tracing.program import Port, Program

__all__ = [
    "Kernel",
    "Port",
    "Program",
    "build",
    "explain_error",
    "fast_call",
    "get_num_threads",
    "set_num_threads",
    "source_digest",
]
