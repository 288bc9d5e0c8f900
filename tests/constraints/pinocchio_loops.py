"""The same closed chain in Pinocchio: a tree with rigid constraints between frames."""

import numpy as np
import pinocchio as pin

from dalembert.constraints import Constrained, Loop
from dalembert.model import Model
from tests.oracles.pinocchio_twin import configuration, friction, twin

Side = tuple[int, pin.SE3]


class ClosedTwin:
    """Pinocchio's constrained dynamics of a tree closed by points or welds, iterated to convergence."""

    def __init__(
        self,
        model: Model,
        loops: list[tuple[Side, Side]],
        kind: pin.ContactType = pin.ContactType.CONTACT_3D,
    ) -> None:
        self.ours, self.model = model, twin(model)
        self.data = self.model.createData()
        self.loops, self.loop_data = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        for first, second in loops:
            constraint = pin.RigidConstraintModel(
                kind, self.model, *first, *second, pin.ReferenceFrame.LOCAL
            )
            self.loops.append(constraint)
            self.loop_data.append(constraint.createData())
        self.settings = pin.ProximalSettings(1e-14, 1e-12, 200)
        pin.initConstraintDynamics(self.model, self.data, self.loops, self.loop_data)

    def __call__(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """q̈ of one state; offsets of joints and their friction are put into q and τ."""
        state = (configuration(self.ours, q), qd, tau - friction(self.ours, qd))
        return pin.constraintDynamics(
            self.model, self.data, *state, self.loops, self.loop_data, self.settings
        )


def side(model: Model, name: str, moved: np.ndarray | None = None) -> Side:
    """A frame as Pinocchio wants it, `moved` by a pose in it: joint number and placement."""
    frame = model.frame(name)
    here = pin.SE3(np.asarray(frame.rotation), np.asarray(frame.translation))
    return frame.body + 1, here if moved is None else here * pin.SE3(moved)


def closed_twin(closed: Constrained) -> ClosedTwin:
    """The twin of a robot closed by loops between named frames, all points or all welds."""
    model, loops = closed.system.model, []
    for loop in closed.description.constraints.values():
        assert isinstance(loop, Loop)
        ends = ((loop.frame_a, loop.pose_a), (loop.frame_b, loop.pose_b))
        loops.append(tuple(side(model, *end) for end in ends))
    welded = loop.directions == "weld"
    kind = pin.ContactType.CONTACT_6D if welded else pin.ContactType.CONTACT_3D
    return ClosedTwin(model, loops, kind)
