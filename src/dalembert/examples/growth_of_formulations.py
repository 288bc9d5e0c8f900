"""Operations over the number of joints
====================================

Recursions grow linearly, closed forms with the third and fourth power: counted, not timed.
"""

import matplotlib.pyplot as plt

import dalembert as dl

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name in ("newton_euler", "silver", "gibbs_appell", "lagrange", "hollerbach_4x4", "uicker_kahn"):
    growth = dl.count_growth(name, n=range(3, 9))
    totals = {n: count.total for n, count in growth.counts.items()}
    print(f"{name:16} degree {growth.degree}   {totals}")
    axes.semilogy(list(totals), list(totals.values()), "o-", label=name)
axes.set(xlabel="revolute joints", ylabel="additions and multiplications")
axes.legend()
