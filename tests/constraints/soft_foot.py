"""A pad of hinged strips tied to each other and to a sole that flies: many coordinates, many loops."""

LENGTH = 0.02


def soft_foot(strips: int = 4, links: int = 20, ties: int = 5, toes: int = 6) -> str:
    """MJCF: 6 + strips · links + toes velocities, 3 · strips · ties rows, a third of them redundant.

    Hinges are parallel, so a tie out of their plane holds nothing more. Strips zigzag by different
    amounts, so that no posture is straight.
    """
    parts = [
        '<mujoco model="soft_foot"><compiler angle="radian"/><worldbody><body name="sole">',
        '<freejoint name="fly"/><geom type="box" size="0.1 0.05 0.01" mass="0.5"/>',
    ]
    for s in range(strips):
        for k in range(links):
            z = _rise(s) * (1 if k % 2 else -1)
            at = f"-0.2 {0.02 * s - 0.03} -0.02" if k == 0 else f"{LENGTH} 0 {-z}"
            parts.append(
                f'<body name="s{s}_{k}" pos="{at}"><joint name="j{s}_{k}" axis="0 1 0"/>'
                f'<geom type="capsule" fromto="0 0 0 {LENGTH} 0 {z}" size="0.004" '
                f'mass="{0.01 + 0.001 * ((3 * s + k) % 5)}"/>'
            )
        parts.append("</body>" * links)
    for k in range(toes):
        parts.append(
            f'<body name="toe{k}" pos="{0.02 * k - 0.05} 0.06 0"><joint name="t{k}" '
            f'axis="{k % 2} {(k + 1) % 2} 0"/><geom size="0.01" mass="0.02" pos="0 0 -0.02"/></body>'
        )
    parts.append("</body></worldbody><equality>")
    for s in range(strips):
        for k in range(links // ties - 1, links, links // ties):
            other = f"s{s + 1}_{k}" if s + 1 < strips else "sole"
            parts.append(
                f'<connect name="tie{s}_{k}" body1="s{s}_{k}" body2="{other}" '
                f'anchor="{LENGTH} 0 {_rise(s)}"/>'
            )
    return "".join([*parts, "</equality></mujoco>"])


def _rise(strip: int) -> float:
    return 0.006 + 0.002 * strip
