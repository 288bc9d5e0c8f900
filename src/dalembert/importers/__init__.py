"""Ways to describe a mechanism; each ends in the same list of links."""

from dalembert.importers.dh import links_from_dh
from dalembert.importers.screws import links_from_screws

__all__ = ["links_from_dh", "links_from_screws"]
