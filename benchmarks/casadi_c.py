"""CasADi's own C for the same expressions, by the C compiler of this machine where there is one.

The function given to CasADi is `robot.casadi_function(quantity)`, so the expression is already as
short as ours; what is compared is how it is compiled. A loop over the states is compiled with it.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.optional import optional
from benchmarks.timing import Candidate

casadi = optional("casadi")

FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
LOOP = """
void over_states(long long count, const double **in, double **out) {{
  const double *arg[{arguments}];
  double *res[{results}], w[{numbers}];
  long long int iw[{integers}];
  for (long long k = 0; k < count; ++k) {{
    {places}
    {name}(arg, res, iw, w, 0);
  }}
}}
"""


@cache
def compiler() -> str | None:
    """The C compiler on the path, if any."""
    return next((path for name in ("gcc", "clang", "cc") if (path := shutil.which(name))), None)


def c_source(function: Any) -> str:
    """CasADi's C of the function, and after it the loop over the states."""
    generator = casadi.CodeGenerator(function.name())
    generator.add(function)
    ports = [("arg", "in", k, function.numel_in(k)) for k in range(function.n_in())]
    ports += [("res", "out", k, function.numel_out(k)) for k in range(function.n_out())]
    return generator.dump() + LOOP.format(
        name=function.name(),
        arguments=max(1, function.sz_arg()),
        results=max(1, function.sz_res()),
        numbers=max(1, function.sz_w()),
        integers=max(1, function.sz_iw()),
        places=" ".join(
            f"{row}[{k}] = {array}[{k}] + {size} * k;" for row, array, k, size in ports
        ),
    )


def casadi_candidate(
    robot: dl.Robot, quantity: str, states: Sequence[np.ndarray]
) -> Candidate | None:
    """The quantity for all the states, checked against ours; None without a compiler."""
    if compiler() is None:
        return None
    assert casadi.Function  # or say that it is not installed
    function = robot.casadi_function(quantity)
    over_states = _load(c_source(function))
    count = len(states[0])
    out = [np.empty((count, *function.size_out(k)[::-1])) for k in range(function.n_out())]
    inputs, outputs = (
        (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        for arrays in (states, out)
    )
    keep = (states, out)  # the pointers above do not own their arrays

    def call() -> object:
        over_states(ctypes.c_longlong(count), inputs, outputs)
        return keep

    call()
    ours = robot.kernel(quantity)(*(x[:8] for x in states))
    for mine, theirs in zip(ours if isinstance(ours, tuple) else (ours,), out, strict=True):
        # CasADi's matrices are column after column
        expected = np.moveaxis(mine, -1, 1).reshape(theirs[:8].shape)
        np.testing.assert_allclose(theirs[:8], expected, rtol=1e-8, atol=1e-8)
    return Candidate(call, count)


def _load(source: str) -> Callable[..., object]:
    """Compile and load; the file may go as soon as it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder) / "casadi.c", Path(folder) / "casadi.so"
        text.write_text(source)
        command = [str(compiler()), *FLAGS, str(text), "-o", str(library), "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(str(library)).over_states
