"""From a function of arrays to machine code: trace, program, interpret, count, compile, call.

Nothing here knows of robots. Heavy libraries (CasADi, LLVM) are imported when first needed.
"""

from dalembert.kernels.callstub import fast_call
from dalembert.kernels.explain import explain
from dalembert.kernels.kernel import Kernel, build, source_digest
from dalembert.kernels.program import Port, Program
from dalembert.kernels.settings import get_num_threads, set_num_threads

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
