// Two settings of the parameters, A and B: the live robot has one, the other may move beside it.
"use strict";
const SETTINGS = ["A", "B"];
const STATE = ["q", "qd", "t", "tau", "acting", "width", "rests"], COUNTS = ["work", "struck", "count", "left", "energy0"]; // all that a robot's motion is

class Settings {
  // Of one live robot, made when first asked for; null where it has no parameters.
  static of(live) {
    if (live.settings === undefined) live.settings = (live.data.parameters ?? []).length ? new Settings(live) : null;
    return live.settings;
  }

  constructor(live) {
    this.live = live;
    this.rows = live.data.parameters;
    this.defaults = Float64Array.from(this.rows, (row) => row.value);
    this.values = SETTINGS.map(() => this.defaults.slice());
    this.mine = 0; // which of them the live robot has
    this.both = false;
    // the other robot's state, while the live one's is in the module
    this.state = STATE.filter((name) => live[name]);
    this.other = Object.fromEntries([...this.state.map((name) => [name, live[name].slice()]), ...COUNTS.map((name) => [name, 0])]);
    this.ghost = null;
    const step = live.step.bind(live);
    live.step = (steps) => this.step(step, steps);
    live.listen((change) => this.follow(change));
    address.more.push(
      { name: "p", size: this.rows.length, values: () => (this.both || this.changed(0) ? this.values[0] : null), refusal: (p) => this.refusal(p), take: (p) => this.take(0, p) },
      { name: "b", size: this.rows.length, values: () => (this.both ? this.values[1] : null), refusal: (b) => this.refusal(b), take: (b) => this.compare(b !== null, b) },
    );
  }

  changed(k) {
    return this.values[k].some((value, j) => value !== this.defaults[j]);
  }

  // The values of one setting, the defaults where none are given.
  take(k, values) {
    this.values[k].set(values ?? this.defaults);
    if (k === this.mine) this.live.parameters.set(this.values[k]);
  }

  // Whether the other is there too; it begins where the live robot is, with its parameters unless it has some.
  compare(isOn, values = null) {
    if (!isOn && this.mine === 1) this.exchange();
    if (isOn && !this.both) { this.values[1].set(values ?? this.values[0]); this.join(); }
    else if (values) this.take(1, values);
    this.both = isOn;
  }

  // One parameter of the live robot; null, or why it cannot have this value. A robot in motion goes on from where it is.
  set(k, value) {
    const { live } = this, values = this.values[this.mine].slice(), before = live.energy();
    values[k] = value;
    const reason = this.refusal(values);
    if (reason === null) this.put(values, before);
    return reason;
  }

  put(values, before = this.live.energy()) {
    const { live } = this;
    this.take(this.mine, values);
    if (live.count === 0) { live.pose(live.q.slice(), live.qd.slice(), live.origin); return; }
    live.energy0 += live.energy() - before; // a change of its body is no loss
    live.smooth();
    live.tell("changed");
  }

  // The live robot has this setting from now on, and the state of the robot that had it.
  choose(k) {
    if (k !== this.mine) this.exchange();
    this.live.tell("changed");
  }

  // What nobody can be made of, in the library's words; null where all is possible.
  refusal(values) {
    const { live } = this, saved = live.parameters.slice();
    for (let k = 0; k < values.length; k++) {
      const { name, least } = this.rows[k];
      if (!Number.isFinite(values[k])) return `parameter '${name}' has the value ${values[k]}; give a finite number`;
      if (least != null && values[k] < least) return `${name} is ${values[k]}; it cannot be negative`;
    }
    const solved = this.solved();
    live.parameters.set(values);
    const reason = this.unbodily() ?? (solved && !this.solved() ? "with this value M(q) is not positive definite in this posture" : null);
    live.parameters.set(saved);
    return reason;
  }

  // Bodies and drives that a parameter makes impossible: see `inertia_faults` in Python.
  unbodily() {
    const { live } = this, { bodies = [], drives = [], tolerance } = live.data.bodily ?? {};
    if (!live.has("bodily")) return null;
    const { mass, inertia, drive } = live.kernels.call("bodily");
    for (let i = 0; i < bodies.length; i++) {
      if (mass[i] < 0) return `inertia of '${bodies[i]}': mass ${mass[i]} kg is negative`;
      const [low, middle, high] = symmetricAxes(inertia.subarray(9 * i, 9 * i + 9)).values, border = tolerance * Math.max(-low, high);
      const moments = `inertia of '${bodies[i]}': principal moments ${[low, middle, high].map((x) => x.toPrecision(4)).join(", ")} kg m²`;
      if (low < -border) return `${moments} must not be negative`;
      if (high - middle - low > border) return `${moments} violate the triangle inequality`;
    }
    for (let i = 0; i < drives.length; i++)
      if (drive[i] < 0) return `joint '${drives[i][0]}': ${drives[i][1]} is ${drive[i]}; it cannot be negative`;
    return null;
  }

  solved() {
    const { live } = this;
    if (!live.has("forward_dynamics")) return true;
    const n = live.qd.length, M = live.has("mass_matrix") ? live.value("mass_matrix") : null;
    for (let i = 0; M && i < n; i++) if (M[i * n + i] < 0) return false;
    return live.value("forward_dynamics").every(Number.isFinite);
  }

  // The live robot and the other change places: states, and parameters.
  exchange() {
    const { live, other } = this;
    for (const name of this.state) {
      const here = live[name], there = other[name];
      for (let k = 0; k < here.length; k++) { const swap = here[k]; here[k] = there[k]; there[k] = swap; }
    }
    for (const name of COUNTS) [live[name], other[name]] = [other[name], live[name]];
    this.mine = 1 - this.mine;
    live.parameters.set(this.values[this.mine]);
  }

  // What a function finds with the other robot in the module.
  beside(act) {
    const { live } = this, { each } = live;
    live.each = null; // what is done with every step, is done with those of the live robot alone
    this.exchange();
    try { return act(); } finally { this.exchange(); live.each = each; }
  }

  // The other is where the live robot is, or as near as its own loops close.
  join() {
    const { live, other } = this;
    for (const name of this.state) other[name].set(live[name]);
    for (const name of COUNTS) other[name] = live[name];
    this.beside(() => {
      if (live.closes) closing.settle(live);
      live.back(0);
      live.smooth();
      live.energy0 -= live.lost(); // counted from here
    });
  }

  // Both go as many steps of the same kernels, under the same drive and the same pushes.
  step(own, steps) {
    const { live, both, other } = this, { forces } = live, before = both ? forces.map((one) => one.acts) : null;
    own(steps);
    if (!both) return;
    const after = forces.map((one) => one.acts), set = (acts) => forces.forEach((one, k) => { one.acts = acts[k]; });
    set(before); // a push may have ended on the way
    this.beside(() => own(steps));
    set(after);
    if (!other.q.every(Number.isFinite)) this.join();
  }

  follow(change) {
    if (change === "posed" && this.both) this.join();
    if (view && this.live.isShown && (change !== "moved" || this.both)) this.draw(change);
  }

  draw(change) {
    const { live, both } = this, { stretch = {} } = live.data;
    const lengths = (values) => values.map((value, k) => value - this.defaults[k]);
    if (change !== "moved") view.bones.stretch(stretch, lengths(this.values[this.mine]));
    if (both) this.ghost ??= new Ghost();
    if (!this.ghost) return;
    this.ghost.show(both, 1 - this.mine);
    if (!both) return;
    if (change !== "moved") this.ghost.bones.stretch(stretch, lengths(this.values[1 - this.mine]));
    this.ghost.pose(this.beside(() => live.value("bodies")));
  }
}

// Another robot in the picture, seen through, in one of several colours.
class Ghost {
  constructor(colours = SETTINGS.map((_, k) => `--c${k}`), opacity = 0.42) {
    const { scene } = data;
    this.all = new THREE.Group();
    this.groups = scene.bodies.map(() => { const body = new THREE.Group(); this.all.add(body); return body; });
    this.paints = colours.map((name) => view.material(name, { transparent: true, opacity, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 2 }));
    this.bones = new Bones(scene, this.all, this.groups, () => this.paints.at(-1));
    this.meshes = [...this.bones.parts, ...this.bones.rods].map(({ mesh, part }) => {
      mesh.castShadow = false;
      if (part && part.body < 0 && part.kind === "drum") mesh.visible = false; // they stand in one place
      return mesh;
    });
    view.aids.add(this.all);
  }

  show(isOn, setting) {
    this.all.visible = isOn;
    view.beside(isOn ? this.groups : []);
    for (const mesh of this.meshes) mesh.material = this.paints[setting];
  }

  pose(poses) {
    placeBodies(this.groups, poses);
    this.bones.settle();
    view.render();
  }
}
