"""The frozen data of a mechanism: links, joints, inertias, parameters; building and checking."""

from dalembert.model.actuators import Actuator
from dalembert.model.build import build
from dalembert.model.coupling import CoupledModel
from dalembert.model.link import Joint, Link, link_from_mapping
from dalembert.model.model import Body, Frame, JointInfo, Model
from dalembert.model.parameter import Parameter

__all__ = [
    "Actuator",
    "Body",
    "CoupledModel",
    "Frame",
    "Joint",
    "JointInfo",
    "Link",
    "Model",
    "Parameter",
    "build",
    "link_from_mapping",
]
