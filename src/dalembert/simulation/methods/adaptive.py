"""SciPy's methods that adapt their steps, as data."""

from __future__ import annotations

from dalembert.simulation.methods.method import AdaptiveMethod

METHODS = (
    AdaptiveMethod("DOP853", 8, "Dormand and Prince, order 8 (Hairer et al. 1993)", True, False),
    AdaptiveMethod("RK45", 5, "Dormand and Prince 1980", True, False),
    AdaptiveMethod("RK23", 3, "Bogacki and Shampine 1989", True, False),
    AdaptiveMethod("Radau", 5, "Radau IIA (Hairer and Wanner 1996)", True, True),
    AdaptiveMethod("BDF", 5, "backward differences (Shampine and Reichelt 1997)", False, True),
    AdaptiveMethod("LSODA", 12, "Adams or backward differences (Petzold 1983)", False, True),
)
