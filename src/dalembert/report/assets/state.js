// The state of a live robot, in the memory of its kernels: whatever moves it, everything that shows it listens.
"use strict";
class Live extends Motion {
  constructor(kernels, given) {
    super(kernels);
    this.about = kernels.about;
    const { q, qd, tau, parameters = new Float64Array(0) } = this.state;
    Object.assign(this, { q, qd, tau, parameters, listeners: [], given });
    this.drive = "none"; // "gravity": the torques that hold the posture
    const { lower, upper } = this.about.limits, { kinds } = given;
    // coordinates that are moved one by one; those of balls and free bodies are not
    this.joints = this.about.coordinates.map((name, k) => {
      const v = this.about.velocities.indexOf(name); // limits have an entry for each velocity
      return { name, k, v, unit: this.about.units.q[k], kind: kinds[k], low: lower[v] ?? null, high: upper[v] ?? null };
    }).filter((one) => one.v >= 0 && given.single[one.k]);
    this.home = Float64Array.from(given.home);
    this.begin(this.home);
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  // Why: "posed" by a hand, "moved" by its dynamics.
  tell(why) {
    this.listeners.forEach((listener) => listener(why));
  }

  // The first output of a quantity at this state; the array is the kernel's own.
  value(name) {
    const outputs = this.kernels.call(name);
    for (const key in outputs) return outputs[key];
  }

  has(name) {
    return this.kernels.functions.has(name);
  }

  // A posture, at rest unless velocities are given, at time zero.
  begin(q, qd = null) {
    this.q.set(q);
    if (qd) this.qd.set(qd); else this.qd.fill(0);
    this.tau.fill(0);
    this.start = { q: Float64Array.from(this.q), qd: Float64Array.from(this.qd) };
    this.count = this.left = 0;
    this.work = 0; // J, of the torques
    this.energy0 = this.energy();
  }

  pose(q, qd) {
    this.begin(q, qd);
    this.tell("posed");
  }

  within(joint, value) {
    return Math.min(joint.high ?? Infinity, Math.max(joint.low ?? -Infinity, value));
  }

  move(joint, value) {
    const q = Float64Array.from(this.q);
    q[joint.k] = this.within(joint, value);
    this.pose(q);
  }

  // Constant torques do the work τ·Δq.
  step(steps) {
    if (this.drive === "none") return super.step(steps);
    for (let k = 0; k < steps; k++) {
      this.tau.set(this.value("gravity_torque"));
      const before = this.joints.map((one) => this.q[one.k]);
      super.step(1);
      this.joints.forEach((one, j) => { this.work += this.tau[one.v] * (this.q[one.k] - before[j]); });
    }
  }

  // What was there at the start and was done since, less what is there now, J: lost to friction, or an error.
  lost() {
    return this.energy0 + this.work - this.energy();
  }
}

// The state in the address: #q=…&qd=…, numbers as they are.
const address = {
  text(live) {
    const list = (values) => Array.from(values, String).join(",");
    return `#q=${list(live.q)}` + (live.qd.some((v) => v !== 0) ? `&qd=${list(live.qd)}` : "");
  },
  // Put there; a page inside another one has no address of its own.
  write(text) {
    if (window === window.parent) history.replaceState(null, "", text);
  },
  // {q, qd} of an address, null of one that says nothing; an Error where it does not fit the robot.
  read(live, hash) {
    if (!hash.startsWith("#q=")) return null;
    const found = new URLSearchParams(hash.slice(1)), sizes = { q: live.q.length, qd: live.qd.length }, made = { q: null, qd: null };
    for (const name in sizes) {
      if (!found.has(name)) continue;
      const values = found.get(name).split(",").map((text) => (text.trim() ? Number(text) : NaN));
      if (values.length !== sizes[name] || !values.every(Number.isFinite))
        throw new Error(`The address gives no posture of this robot: ${name} must be ${sizes[name]} numbers.`);
      made[name] = values;
    }
    return made;
  },
};
