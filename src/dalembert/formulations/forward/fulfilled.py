"""The routes to q̈ that say which equation they fulfil, so that derivatives go through that."""

from __future__ import annotations

from dalembert.formulations.forward import articulated_body as bodies
from dalembert.formulations.forward import solve
from dalembert.formulations.forward.implicit import implicit
from dalembert.formulations.inverse import newton_euler

_by_factor = implicit(newton_euler.inverse_dynamics, solve.tree_factor)

articulated_body = implicit(newton_euler.inverse_dynamics, bodies.solve)(bodies.forward_dynamics)
composite_body = _by_factor(solve.by_composite_body)
tree_factor = _by_factor(solve.by_tree_factor)
square_root = _by_factor(solve.by_square_root)
symmetric_root = _by_factor(solve.by_symmetric_root)
operator = _by_factor(solve.by_operator)
