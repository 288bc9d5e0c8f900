// Forces inside a live system: what goes through its joints, and what its constraints exert.
"use strict";
const FULL = 0.4, SLACK = [0.1, 0.5]; // how long the longest arrow is beside the robot, and may become
const ROUNDING = 1e-9;
const STATES = [["as it is", "auto"], ["held at rest", "rest"], ["in motion", "motion"]];
const SAYS = {
  rest: "Held at rest: the torques balance gravity.",
  closed: "Held at rest, by the smallest torques that do it.", // a closed chain has more joints than freedoms
  motion: "In motion: accelerations follow from all that acts.",
};

// A state at which forces are asked for: the present posture, at rest or in its motion.
class Loads {
  constructor(live) {
    const { forces } = live.data, rows = forces.rows.length, n = live.qd.length;
    Object.assign(this, { live, forces, chosen: "auto", rows });
    Object.assign(this, { tau: new Float64Array(n), qdd: new Float64Array(n), lam: new Float64Array(rows) });
    this.inputs = { qdd: this.qdd, ...(rows ? { lam: this.lam } : {}) };
    if (live.data.loads?.joints.length) Object.assign(this.inputs, { pushed: new Float64Array(3), pushed_at: new Float64Array(3) });
    this.saved = { qd: new Float64Array(n), tau: new Float64Array(n) };
    this.timed = [...live.kernels.functions.values()].map(({ inputs }) => inputs.t).find(Boolean) ?? null;
  }

  get says() {
    return SAYS[!this.rests ? "motion" : this.rows ? "closed" : "rest"];
  }

  get rests() {
    if (this.chosen === "rest" || !this.forces.rests) return this.forces.rests;
    return this.chosen === "auto" && this.live.count === 0 && this.live.qd.every((v) => v === 0);
  }

  // Calls `use` with the kernels' inputs at that state, which are the live robot's own: they are put back.
  at(use) {
    const { live, saved, tau, qdd, lam, rows } = this, { kernels } = live, rest = this.rests;
    saved.qd.set(live.qd);
    saved.tau.set(live.acting);
    if (this.timed) this.timed[0] = live.time;
    if (rest) { live.qd.fill(0); qdd.fill(0); } else this.push();
    const result = rest ? kernels.call("inverse_dynamics", { qdd }) : kernels.call("forward_dynamics");
    if (rest) live.acting.set(result.tau); else qdd.set(result.qdd);
    tau.set(live.acting);
    if (rows) lam.set(result.lam);
    use();
    live.qd.set(saved.qd);
    live.acting.set(saved.tau);
  }

  // All that acts now: the torques of the drives, the hand that pushes, and the stops that are leant on.
  push() {
    const { acting, tau, push, kernels, stops } = this.live;
    acting.set(tau);
    if (push?.acts) kernels.call("push").tau.forEach((force, j) => { acting[j] += force; });
    if (stops) { stops.leant(() => this.tau.set(acting)); acting.set(this.tau); }
  }

  // Wrenches at joints and constraints, in the kernel's memory; null where there are none.
  wrenches() {
    const { live, inputs } = this;
    if (!live.has("loads")) return null;
    if (inputs.pushed) {
      const acts = live.push?.acts && !this.rests;
      if (acts) { inputs.pushed.set(live.push.outputs.force); inputs.pushed_at.set(live.push.outputs.point); } else inputs.pushed.fill(0);
    }
    return live.kernels.call("loads", inputs);
  }
}

function loadsOf(live) {
  return (live.loads ??= new Loads(live));
}

const size = (values, at) => Math.hypot(values[at], values[at + 1], values[at + 2]);

// A table of numbers with words before them; cells[i][j] take numbers.
function numberTable(parent, caption, heads, names) {
  const table = element("table", null, element("div", null, parent, "loads")), row = element("tr", null, element("thead", null, table));
  table.setAttribute("aria-label", caption);
  element("p", caption, parent, "faint caption"); // beside the table, which may be wider than the page
  for (const [text, title] of heads) {
    const head = element("th", text, row);
    head.scope = "col";
    if (title) head.title = title;
  }
  const body = element("tbody", null, table);
  return names.map((name) => {
    const line = element("tr", null, body), first = element("th", plainName(name), line);
    first.scope = "row";
    first.title = name;
    return heads.slice(1).map(() => element("data", null, element("td", null, line)));
  });
}

// One of several; its words stand before it.
function labelled(text, options, parent, act) {
  const label = element("label", `${text} `, parent), select = choice(text, options, label, act);
  return select;
}

function drawJoints(live, parent) {
  if (!live.data.forces || !live.data.loads?.joints.length) return null;
  const { joints } = live.data.loads, loads = loadsOf(live);
  const box = element("div", null, parent, "forces box"), head = element("div", null, box, "head"), names = joints.map((one) => one.name);
  element("h3", "Joint forces", head);
  if (live.data.forces.rests) labelled("state", STATES, head, (value) => { loads.chosen = value; live.tell("turned"); update(); });
  const message = element("p", "", box, "faint");
  let world = false;
  const sums = numberTable(box, "What each joint exerts on its link, about the joint's origin.", [
    ["joint"], ["force / N"], ["moment / N m"],
    ["motor", "along the joint's motion, Sᵀ F: what its motor gives, with friction, springs and stops; N m, or N where it slides"],
    ["bearing / N", "the force without the motor's part"], ["bearing / N m", "the moment without the motor's part"],
  ], names);
  const axes = element("div", null, box, "head");
  element("h3", "Components", axes);
  labelled("along", [["link axes", "local"], ["world axes", "world"]], axes, (value) => { world = value === "world"; update(); });
  const parts = numberTable(box, "Force f in N and moment n in N m; link axes are those of the link's own frame.",
    [["joint"], ["f x"], ["f y"], ["f z"], ["n x"], ["n y"], ["n z"]], names);
  function update() {
    loads.at(() => {
      const { local, world: inWorld, drive, bearing } = loads.wrenches(), listed = world ? inWorld : local;
      message.textContent = loads.says;
      const most = local.reduce((a, v) => Math.max(a, Math.abs(v)), 0); // beside which rounding is nothing
      let at = 0;
      sums.forEach((cells, k) => {
        show(cells[0], size(local, 6 * k), most);
        show(cells[1], size(local, 6 * k + 3), most);
        at = several(cells[2], drive, at, joints[k].units, most);
        show(cells[3], size(bearing, 6 * k), most);
        show(cells[4], size(bearing, 6 * k + 3), most);
        parts[k].forEach((cell, j) => show(cell, listed[6 * k + j], most));
      });
    });
  }
  return update;
}

// The motor's part in one cell; joints of several motions have several, and say their size.
function several(cell, drive, at, units, most) {
  const end = at + units.length;
  show(cell, units.length === 1 ? drive[at] : Math.hypot(...drive.subarray(at, end)), most);
  cell.title = units.length === 1 ? units[0] : Array.from(drive.subarray(at, end), (v, k) => `${number(v)} ${units[k]}`).join(", ");
  return end;
}

// λ of closed chains and contacts, and what those between frames exert at their points.
function drawConstraints(live, parent) {
  const { rows = [] } = live.data.forces ?? {}, { acting = [], joints = [] } = live.data.loads ?? {};
  if (!rows.length) return null;
  const loads = loadsOf(live), box = element("div", null, parent, "forces box"), head = element("div", null, box, "head");
  element("h3", "Constraint forces", head);
  if (!joints.length && live.data.forces.rests)
    labelled("state", STATES, head, (value) => { loads.chosen = value; live.tell("turned"); update(); });
  const message = element("p", "", box, "faint");
  const lines = numberTable(box, "λ of the rows, M q̈ + h + Aᵀλ = τ + ψ; units where the row has one.", [["row"], ["λ"], ["unit"]], rows.map(([name]) => name));
  rows.forEach(([, unit], k) => { lines[k][1].textContent = unit; });
  const points = acting.length ? numberTable(box, "On the second body, at its point, along world axes; the first receives the opposite.",
    [["constraint"], ["force / N"], ["f x"], ["f y"], ["f z"], ["moment / N m"]], acting) : [];
  function update() {
    loads.at(() => {
      message.textContent = loads.says;
      const most = Math.max(...loads.lam.map(Math.abs));
      lines.forEach(([cell], k) => show(cell, loads.lam[k], most));
      const reactions = points.length ? loads.wrenches() : null;
      points.forEach((cells, k) => {
        const { reaction } = reactions, full = size(reaction, 6 * k);
        show(cells[0], full);
        [0, 1, 2].forEach((j) => show(cells[1 + j], reaction[6 * k + j], full));
        show(cells[4], size(reaction, 6 * k + 3), full);
      });
    });
  }
  return update;
}

function longest(wrenches, from) {
  let most = 0;
  for (let k = from; k < wrenches.length; k += 6) most = Math.max(most, size(wrenches, k));
  return most;
}

// Newtons, or newton metres, of a metre of arrow: a round number that changes only when it must.
function rounded(most, length, now) {
  if (!(most > 0)) return now ?? 1;
  if (now && most / now > SLACK[0] * length && most / now < SLACK[1] * length) return now;
  const rough = most / (FULL * length), power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((k) => k * power >= rough * (1 - 1e-9)) ?? 10);
}

// Arrows at joints and constraints: forces with one head, moments with two, each kind to its own scale.
function drawForceArrows(live, parent) {
  const { joints = [], acting = [] } = live.data.loads ?? {};
  if (!view || !live.has("loads") || !live.data.forces) return null;
  const loads = loadsOf(live), box = element("div", null, parent, "forces box"), bar = element("div", null, box, "ticks");
  element("h3", "Arrows", bar);
  const tick = (text, colour, checked, title) => {
    const label = element("label", null, bar), input = element("input", null, label);
    Object.assign(input, { type: "checkbox", checked });
    if (colour) element("i", null, label).style.background = `var(${colour})`;
    label.append(text);
    label.title = title;
    input.addEventListener("change", draw);
    return input;
  };
  const kinds = [
    { on: tick("forces", "--c2", true, "arrows with one head"), unit: "N", from: 0, scale: null, colour: "--c2", reaction: "--c4", heads: 1 },
    { on: tick("moments", "--c1", true, "arrows with two heads"), unit: "N m", from: 3, scale: null, colour: "--c1", reaction: "--c5", heads: 2 },
  ];
  const always = tick("on every tab", null, false, "the arrows stay when another tab is open");
  const message = element("p", "", box, "faint scale");
  for (const kind of kinds) {
    kind.arrows = joints.map(() => new Arrow(kind.colour, kind.heads));
    kind.others = acting.map(() => new Arrow(kind.reaction, kind.heads));
  }
  live.forceArrows = kinds;
  const vector = [0, 0, 0], also = acting.length ? " Other colours: what constraints exert on their second body." : "";
  function locate(arrows, wrenches, points, { from, scale }) {
    arrows.forEach((arrow, k) => {
      for (let j = 0; j < 3; j++) vector[j] = wrenches[6 * k + from + j] / scale;
      arrow.set(points.subarray(3 * k, 3 * k + 3), vector);
    });
  }
  function draw() {
    const isVisible = live.isShown && (always.checked || !parent.hidden);
    for (const kind of kinds) if (!isVisible || !kind.on.checked) [...kind.arrows, ...kind.others].forEach((arrow) => arrow.hide());
    if (isVisible) loads.at(() => {
      const { world = [], point, reaction = [], spot } = loads.wrenches();
      const largest = kinds.map(({ from }) => Math.max(longest(world, from), longest(reaction, from)));
      kinds.forEach((kind, j) => {
        // moments that are nothing beside the forces at the robot's size are rounding, and the other way round
        const nothing = ROUNDING * largest[1 - j] * view.size ** (j ? 1 : -1);
        kind.scale = rounded(largest[j] > nothing ? largest[j] : 0, view.size, kind.scale);
        if (!kind.on.checked) return;
        locate(kind.arrows, world, point, kind);
        locate(kind.others, reaction, spot, kind);
      });
      const text = `1 m of arrow is ${kinds.map(({ scale, unit }) => `${Number(scale.toPrecision(1))} ${unit}`).join(" or ")}.${also}`;
      if (message.textContent !== text) message.textContent = text;
    });
    view.render();
  }
  live.listen(draw);
  return null; // it listens, as arrows move with every frame
}

panel("Forces", 0, drawForceArrows);
panel("Forces", 10, drawJoints);
panel("Forces", 20, drawConstraints);
