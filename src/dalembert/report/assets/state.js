// The state of a live robot, in the memory of its kernels: whatever moves it, everything that shows it listens.
"use strict";
const DRIVES = []; // {name, label, make}

// A drive for its joints: `make(live)` gives {torques()} and, if it has a goal, {begin()}; or null where it makes no sense.
function drive(name, label, make) {
  DRIVES.push({ name, label, make });
}

class Live extends Motion {
  constructor(kernels, data) {
    super(kernels, data.dt);
    this.about = kernels.about;
    const { q, qd, tau, t = null, width = null, parameters = new Float64Array(0) } = this.state;
    // kernels see the sum of all that acts, `acting`; `tau` are the torques of the drives alone
    Object.assign(this, { q, qd, acting: tau, t, width, parameters, listeners: [], data });
    this.tau = new Float64Array(qd.length);
    this.before = new Float64Array(q.length);
    this.forces = []; // {acts, value()}: generalised forces from outside
    this.stops = null; // {step(dt), leant(act)}: a step that minds the limits
    this.rests = new Int8Array(qd.length); // 1: on the upper stop, −1: on the lower one
    this.drive = "none";
    this.each = null; // called after every step
    const { lower, upper } = this.about.limits, { kinds } = data;
    // coordinates that are moved one by one, those of balls and free bodies are not; limits have an entry for each velocity
    this.joints = data.joints.map(({ k, v, follows }) => {
      const unit = this.about.units.q[k] || "1";
      return { name: this.about.coordinates[k], k, v, follows, unit, kind: kinds[k], low: lower[v] ?? null, high: upper[v] ?? null };
    });
    this.message = ""; // where the last posture stopped short of what was asked for
    this.laws = new Map();
    for (const { name, label, make } of DRIVES) {
      const controller = make(this);
      if (controller) this.laws.set(name, { label, ...controller });
    }
    this.home = Float64Array.from(data.home);
    this.begin(this.home);
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  // Why: "posed" by a hand, "moved" by its dynamics, "driven" in another way from now on.
  tell(change) {
    this.listeners.forEach((listener) => listener(change));
  }

  // The first output of a quantity at this state; the array is the kernel's own.
  value(name) {
    const outputs = this.kernels.call(name);
    for (const key in outputs) return outputs[key];
  }

  has(name) {
    return this.kernels.functions.has(name);
  }

  // A posture, at rest unless velocities are given; constraints are met by the nearest state.
  begin(q, qd = null, time = 0) {
    this.q.set(q);
    if (qd) this.qd.set(qd); else this.qd.fill(0);
    this.tau.fill(0);
    this.acting.fill(0);
    this.rests.fill(0);
    this.origin = time;
    if (this.t) this.t[0] = time;
    if (this.closes) closing.settle(this);
    this.back(0);
    this.smooth();
    this.start = { q: Float64Array.from(this.q), qd: Float64Array.from(this.qd), time };
    this.count = this.left = 0;
    this.work = 0; // J, of drives and pushes
    this.struck = 0; // J, taken by stops
    this.energy0 = this.energy();
    this.laws.get(this.drive).begin?.();
  }

  // Drive it that way from here on.
  choose(name) {
    this.drive = name;
    this.tau.fill(0);
    this.laws.get(name).begin?.();
    this.tell("driven");
  }

  pose(q, qd, time) {
    this.begin(q, qd, time);
    this.tell("posed");
  }

  within(joint, value) {
    return Math.min(joint.high ?? Infinity, Math.max(joint.low ?? -Infinity, value));
  }

  move(joint, value) {
    this.message = "";
    const target = this.within(joint, value);
    if (this.closes) return this.pose(closing.lead(this, joint, target), null, this.origin);
    const q = Float64Array.from(this.q);
    q[joint.k] = target;
    this.pose(q);
  }

  // Torques and pushes are renewed with every step, as a digital controller does it, and constant within.
  step(steps) {
    const { torques } = this.laws.get(this.drive), alone = !torques && !this.stops && !this.forces.some((one) => one.acts);
    if (alone) this.acting.fill(0);
    for (let k = 0; k < steps; k++) {
      if (alone) super.step(1); else this.driven(torques);
      if (this.each) this.each();
    }
  }

  driven(torques) {
    if (torques) this.tau.set(torques());
    this.acting.set(this.tau);
    for (const one of this.forces) if (one.acts) one.value().forEach((force, j) => { this.acting[j] += force; });
    if (this.stops) this.stops.step(this.dt); else this.glide(this.dt);
    this.count++;
  }

  // On by h seconds under what acts now, which does the work τ·Δq.
  glide(h) {
    const { dt, count, before, acting } = this;
    before.set(this.q);
    this.dt = h;
    super.step(1);
    Object.assign(this, { dt, count });
    const displacement = this.has("moved") ? this.kernels.call("moved", { q_before: before }).step : null;
    for (let j = 0; j < acting.length; j++) this.work += acting[j] * (displacement ? displacement[j] : this.q[j] - before[j]);
  }

  // τ q̇ of each drive, W.
  power() {
    return this.tau.map((torque, j) => torque * this.qd[j]);
  }

  // What was there at the start and was done since, less what is there now, J: lost to friction, or an error.
  lost() {
    return this.energy0 + this.work - this.struck - this.energy();
  }
}

const everyJoint = (live) => live.joints.length === live.q.length;
drive("none", "no torques", () => ({ torques: null }));
drive("gravity", "gravity held", (live) => (everyJoint(live) && live.has("gravity_torque") ? { torques: () => live.value("gravity_torque") } : null));

// The state in the address: #q=…&qd=…, numbers as they are.
const address = {
  more: [], // {name, size, values(): numbers or null, refusal(numbers): words or null, take(numbers or null)}, of other scripts
  text(live) {
    const list = (values) => Array.from(values, String).join(",");
    const entries = this.more.map((one) => [one.name, one.values()]).filter(([, values]) => values);
    return `#q=${list(live.q)}` + (live.qd.some((v) => v !== 0) ? `&qd=${list(live.qd)}` : "") + entries.map(([name, values]) => `&${name}=${list(values)}`).join("");
  },
  // Put there; a page inside another one has no address of its own.
  write(text) {
    if (window === window.parent) history.replaceState(null, "", text);
  },
  // {q, qd, …} of an address, null of one that says nothing; an Error where it does not fit the robot.
  read(live, hash) {
    if (!hash.startsWith("#q=")) return null;
    const query = new URLSearchParams(hash.slice(1).replaceAll("+", "%2B")), result = {}; // 1e+21 has no blank
    const known = [{ name: "q", size: live.q.length }, { name: "qd", size: live.qd.length }, ...this.more];
    for (const { name, size, refusal = () => null } of known) {
      result[name] = null;
      if (!query.has(name)) continue;
      const values = query.get(name).split(",").map((text) => (text.trim() ? Number(text) : NaN));
      if (values.length !== size || !values.every(Number.isFinite))
        throw new Error(`The address does not fit this robot: ${name} must be ${size} number${size === 1 ? "" : "s"}.`);
      const message = refusal(values);
      if (message) throw new Error(`The address does not fit this robot: ${message}.`);
      result[name] = values;
    }
    const message = this.impossible(live, result);
    if (message) throw new Error(`The address does not fit this robot: ${message}.`);
    return result;
  },
  // Why nothing can be said of a state, null where all is well; the live robot's own is put back.
  impossible(live, { q, qd, p = null }) {
    const { kinds } = live.data;
    for (let k = 0; k < kinds.length; k += kinds[k] === "quaternion" ? 4 : 1) {
      const size = kinds[k] === "quaternion" ? Math.hypot(...q.slice(k, k + 4)) : 1;
      if (!(size > 1e-100 && size < 1e100)) return `the quaternion ${live.about.coordinates[k]} … has the length ${size}`;
    }
    const views = [live.q, live.qd, live.parameters, ...(live.t ? [live.t] : [])], saved = views.map((view) => view.slice());
    const start = [q, qd ?? new Float64Array(live.qd.length), p ?? live.settings?.defaults ?? live.parameters, [0]];
    views.forEach((view, k) => view.set(start[k]));
    const open = live.closes && !closing.settle(live), energy = live.energy();
    views.forEach((view, k) => view.set(saved[k]));
    return open ? "its loops do not close near this posture" : Number.isFinite(energy) ? null : "its energy in this state is no number";
  },
  // What was read becomes the state.
  take(live, request) {
    for (const one of this.more) one.take(request[one.name]);
    live.begin(request.q, request.qd);
  },
};
