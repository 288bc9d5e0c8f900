"""Inverse kinematics as methods of a system with frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.kernels.call.whose import on_device
from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.systems.reaching.hunt import Reached
    from dalembert.systems.reaching.several import Postures


class InverseKinematics(System):
    """Postures from poses, of any frame."""

    def inverse_kinematics(
        self,
        T: Any,
        frame: str = "tool",
        q0: Any = None,
        tolerance: float = 1e-9,
        limits: bool = True,
        restarts: int = 300,
        seed: int = 0,
        task: str = "pose",
        weights: Any = None,
        goal: str | None = None,
        parameters: Parameters = None,
        continuous: bool = False,
    ) -> Reached:
        """(q (..., nq), found (...)): postures that put a frame at the targets T (..., 4, 4).

        Each found posture has been verified by `pose`: position and angle within `tolerance`, m and
        rad. Where it is not found, q is the nearest that was met. The search starts at `q0`
        (..., nq), by default at random within the limits, and starts again at random up to
        `restarts` times; the same `seed` gives the same postures. `task` is "pose", "position" (T
        may be (..., 3)), "orientation" (T may be (..., 3, 3)), "axis" (the frame's z axis) or
        "position_axis"; `weights`, one for each of its coordinates (linear, angular), say what
        matters where not all can be reached. With ``limits=False`` joints may go anywhere.

        What the task leaves free serves the `goal`: "near" stays near to q0, "center" near to the
        middle of the limits, "manipulability" away from singular postures. It is followed along the
        motions that keep the task, from the first posture that was found.

        With ``continuous=True`` the targets (..., n, 4, 4) are paths of n poses: each posture is
        found from the one before, `q0` (..., nq) is where a path begins, and what comes back is a
        `Followed`, with the places where a path cannot be followed without a jump.

        CuPy arrays are searched where they are, on the GPU; there poses that are none (NaN, no
        rotations) are not found, and are refused in words on the host.

        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("ur5")
        >>> T = arm.pose(arm.random_state(np.random.default_rng(1), 100)[0])
        >>> q, found = arm.inverse_kinematics(T)
        >>> bool(found.all()), np.allclose(arm.pose(q), T, atol=1e-8)
        (True, True)
        """

        from dalembert.systems.reaching.follow import follow
        from dalembert.systems.reaching.hunt import Hunt, Reached, start_of
        from dalembert.systems.reaching.on_device import reach_on_device
        from dalembert.systems.reaching.search import Search
        from dalembert.systems.reaching.targets import (
            poses_of,
            require,
            require_manipulable,
            require_path,
            require_task,
            weights_of,
        )

        require(tolerance, restarts, seed, goal, q0, continuous)
        require_task(task)
        require_manipulable(goal, self.dynamics.rows, self.name)
        self.dynamics.require_frame(frame)
        how = Search(frame, task, limits, weights is not None, goal, hops=restarts > 0)
        heavy = weights_of(weights, task)
        hunt = Hunt(self, how, tolerance, int(restarts), seed, heavy, parameters)
        if on_device([T]):
            return reach_on_device(hunt, T, q0, continuous)
        targets = poses_of(T, task)
        if continuous:
            require_path(targets, weights)
            return follow(hunt, targets, q0)
        batch = targets.shape[:-2]
        flat, start = targets.reshape(-1, 4, 4), start_of(self, q0, batch, limits)
        q, found = hunt.run(flat, start)
        if goal is not None:
            which = found.nonzero()[0]
            near = None if start is None else start[which]
            q[which] = hunt.relaxed(flat[which], q[which], near)
        elif start is None:
            q = hunt.turned_back(q)
        return Reached(q.reshape(*batch, self.nq), found.reshape(batch))

    def all_postures(
        self,
        T: Any,
        frame: str = "tool",
        tolerance: float = 1e-9,
        limits: bool = True,
        seed: int = 0,
        task: str = "pose",
        parameters: Parameters = None,
    ) -> Postures:
        """(q (..., m, nq), number (...)): all postures that put a frame at the targets T (..., 4, 4).

        They are what hundreds of random starts lead to, until each was met several times; whole turns
        of a joint count as one posture. m is the largest number of a target, and q is NaN where a
        target has fewer. Arguments are those of `inverse_kinematics`. An arm with more freedoms than
        the task asks for has infinitely many, and is refused.

        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("ur5")
        >>> q, number = arm.all_postures(arm.pose([0.2, -1.2, 1.4, -0.4, 1.2, 0.3]))
        >>> int(number), np.allclose(arm.pose(q), arm.pose(q[0]), atol=1e-8)
        (8, True)
        """

        from dalembert.systems.reaching.hunt import Hunt
        from dalembert.systems.reaching.search import Search
        from dalembert.systems.reaching.several import Postures, all_postures, padded
        from dalembert.systems.reaching.targets import poses_of, require

        require(tolerance, 0, seed)
        self.dynamics.require_frame(frame)
        how = Search(frame, task, limits)
        hunt = Hunt(self, how, tolerance, 0, seed, None, parameters)
        targets = poses_of(T, task)
        found = padded(all_postures(hunt, targets.reshape(-1, 4, 4)), self.nq)
        batch = targets.shape[:-2]
        return Postures(found.q.reshape(*batch, -1, self.nq), found.number.reshape(batch))
