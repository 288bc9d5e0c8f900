// Postures of a closed chain by hand: one coordinate is led, the others follow so that every loop stays closed.
"use strict";
const closing = (() => {
  const CLOSED = 1e-10; // of a residual, m or rad
  const NEWTON = 30; // steps
  const LEAP = 0.4; // rad or m that a coordinate may go in one increment; farther off is another branch
  const INCREMENT = { angle: 0.1, length: 0.02 }, FINEST = 1 / 256; // of an increment: where the way ends

  function apart(live) {
    let most = 0;
    for (const h of live.kernels.call("residual").h) most = Math.max(most, Math.abs(h));
    return most;
  }

  // Newton's steps from the present posture, on which the velocities `led` stay. Whether the chain is closed.
  function settle(live, led = []) {
    const { stiff } = live.kernels.find("close").inputs;
    for (const v of led) stiff[v] = live.data.stiff;
    let open = apart(live);
    for (let k = 0; k < NEWTON && open > 1e-15; k++) {
      live.q.set(live.kernels.call("close").q);
      const now = apart(live);
      if (now >= open && now <= CLOSED) break; // rounding
      open = now;
    }
    stiff.fill(0);
    return apart(live) <= CLOSED;
  }

  // Neither on another branch nor beyond limits, unless it was there before.
  function near(live, joint, before) {
    const q = live.q[joint.k], old = before[joint.k];
    return Math.abs(q - old) < LEAP && q >= Math.min(old, joint.low ?? -Infinity) - 1e-9 && q <= Math.max(old, joint.high ?? Infinity) + 1e-9;
  }

  // The posture with a coordinate at a value, reached from this one by increments, or as far as the chain goes.
  function lead(live, joint, value) {
    const others = live.joints.filter((one) => one !== joint), leading = live.joints.filter((one) => !one.follows).map((one) => one.v);
    const choices = joint.follows ? [[joint.v]] : [leading, [joint.v]];
    let now = Float64Array.from(live.q), most = INCREMENT[joint.kind] ?? 0.05;
    const least = FINEST * most;
    while (now[joint.k] !== value && most >= least) {
      const left = value - now[joint.k], target = Math.abs(left) <= most ? value : now[joint.k] + Math.sign(left) * most;
      const done = choices.some((led) => {
        live.q.set(now);
        live.q[joint.k] = target;
        return settle(live, led) && Math.abs(live.q[joint.k] - target) < 1e-7 && others.every((one) => near(live, one, now));
      });
      if (done) { now = Float64Array.from(live.q); now[joint.k] = target; } else most /= 2;
    }
    if (now[joint.k] !== value) live.message = ended(joint, now[joint.k]);
    return now;
  }

  function ended(joint, value) {
    return `${plainName(joint.name)} goes no further than ${number(value)}${joint.unit === "1" ? "" : ` ${joint.unit}`}: the chain would not close, or another joint would leave its limits.`;
  }

  return { settle, lead };
})();
