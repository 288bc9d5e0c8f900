"""From a function of arrays to machine code: trace, program, interpret, count, compile, call.

Nothing here knows of robots. LLVM is imported when first needed.
"""

from dalembert.kernels.call.callstub import fast_call
from dalembert.kernels.call.explain import explain
from dalembert.kernels.call.kernel import Kernel, build
from dalembert.kernels.call.settings import get_num_threads, set_num_threads
from dalembert.kernels.call.sources import source_digest
from dalembert.tracing.program import Port, Program

__all__ = [
    "Kernel",
    "Port",
    "Program",
    "build",
    "explain",
    "fast_call",
    "get_num_threads",
    "set_num_threads",
    "source_digest",
]
