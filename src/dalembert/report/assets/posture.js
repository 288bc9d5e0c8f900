// A posture by hand, and what the robot's equations say of it.
"use strict";
const FEW = 6; // coordinates that follow, seen without unfolding
const OPEN = { angle: Math.PI, length: 1 }; // how far a slider goes where a joint has no limit
const plainName = (name) => name.replace(/_joint$/, "");

// A number as it is read, zero where it is nothing beside others, with all its digits as its value.
function show(target, value, beside = 0) {
  target.value = String(value);
  const text = number(Math.abs(value) < 1e-12 * beside ? 0 : value);
  if (target.textContent !== text) target.textContent = text;
}

function drawPosture(live, parent) {
  const box = element("div", null, parent, "posture box"), head = element("div", null, box, "head");
  element("h3", "Posture", head);
  const home = element("button", "Home", head, "back");
  home.type = "button";
  home.title = "where the recorded motion begins";
  home.addEventListener("click", () => live.pose(live.home));
  const names = element("div", null, box, "joint names faint");
  names.setAttribute("aria-hidden", "true");
  const hasGravity = live.has("gravity_torque"), headed = [live.data.robot ? "joint" : "coordinate", "", "position", "", hasGravity ? "gravity torque" : ""];
  for (const text of headed) element("span", text, names);
  const rows = live.joints.filter((one) => !one.follows).map((joint) => jointRow(live, joint, box));
  const note = live.closes ? element("p", "", box, "notes") : null;
  if (note) note.setAttribute("role", "status");
  const others = live.joints.filter((one) => one.follows);
  if (others.length) {
    const folded = element("details", null, box, "following");
    folded.open = others.length <= FEW;
    element("summary", rows.length ? "These follow, so that every loop stays closed; they can lead too." : "Its motion is prescribed: no coordinate is free.", folded);
    rows.push(...others.map((joint) => jointRow(live, joint, folded)));
  }
  if (live.joints.length < live.q.length)
    element("p", live.closes ? "Balls and free bodies are not moved by hand." : "The base is not moved by hand: it begins where the recorded motion does.", box, "faint");
  return () => {
    const torque = hasGravity ? live.value("gravity_torque") : null, limits = live.about.limits.effort_limit;
    const most = Math.max(1e-9, ...(torque ?? []).map(Math.abs));
    for (const { joint, update } of rows) update(live.q[joint.k], torque ? torque[joint.v] : NaN, limits[joint.v] ?? most, most);
    if (note && note.textContent !== live.message) note.textContent = live.message;
  };
}

// A slider with a number field: {row, field, settle, update(value)}. `read()` is the value as it is written, `change(value)`
// is what a hand asks for; that of the slider has so many decimals.
function valueRow(parent, kind, { id, name, title, unit, low, high, decimals, read, change }) {
  const row = element("div", null, parent, kind), label = element("label", name, row);
  Object.assign(label, { htmlFor: id, title });
  const slider = element("input", null, row), field = element("input", null, row), settle = () => { field.value = read(); };
  element("span", unit, row, "unit");
  Object.assign(slider, { type: "range", min: low, max: high, step: "any" });
  slider.setAttribute("aria-label", `${name}, ${unit || "slider"}`);
  Object.assign(field, { type: "number", step: "any", id, inputMode: "decimal" });
  slider.addEventListener("input", () => change(Number(Number(slider.value).toFixed(decimals))));
  field.addEventListener("input", () => { if (field.value !== "" && Number.isFinite(field.valueAsNumber)) change(field.valueAsNumber); });
  field.addEventListener("blur", settle);
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") settle(); });
  const update = (value) => {
    slider.value = value;
    slider.setAttribute("aria-valuetext", `${number(value)} ${unit}`);
    if (document.activeElement !== field) settle();
  };
  return { row, field, settle, update };
}

function jointRow(live, joint, parent) {
  const { k, low, high } = joint, open = OPEN[joint.kind] ?? 1, own = joint.unit === "1" ? "" : joint.unit;
  const { row, field, update } = valueRow(parent, "joint", {
    id: `joint${k}`, name: plainName(joint.name), title: joint.name, unit: own, low: low ?? -open, high: high ?? open,
    decimals: 3, read: () => Number(live.q[k].toFixed(4)), change: (value) => live.move(joint, value),
  });
  if (low !== null) field.min = low;
  if (high !== null) field.max = high;
  field.title = `${low ?? "−∞"} … ${high ?? "∞"}${own ? ` ${own}` : ""}`;
  const torque = element("span", null, row, "torque"), limit = live.about.limits.effort_limit[joint.v];
  torque.title = limit == null ? "beside the largest of them" : `its limit is ${limit}`;
  const bar = element("i", null, element("span", null, torque, "track")), text = element("data", null, torque);
  torque.hidden = !live.has("gravity_torque");
  const unit = live.about.units.tau[joint.v];
  element("small", unit === "1" ? "" : unit, torque);
  return {
    joint,
    update(q, tau, full, most) {
      update(q);
      field.classList.toggle("beyond", q < (joint.low ?? -Infinity) - 1e-9 || q > (joint.high ?? Infinity) + 1e-9);
      if (torque.hidden) return;
      bar.style.transform = `scaleX(${Math.max(-1, Math.min(1, tau / full)).toFixed(3)})`;
      show(text, tau, most);
    },
  };
}

// Energies and manipulability, and the mass matrix as a picture with its numbers.
function drawValues(live, parent) {
  const box = element("div", null, parent, "values box"), list = element("dl", null, box), updates = [];
  const entry = (name, unit, title, value, beside = 1) => {
    const pair = element("div", null, list);
    pair.title = title;
    element("dt", name, pair);
    const target = element("dd", null, pair), text = element("data", null, target);
    text.dataset.of = name;
    if (unit) element("small", ` ${unit}`, target);
    updates.push(() => show(text, value(), beside));
  };
  entry("kinetic energy", "J", "½ q̇ᵀ M(q) q̇", () => live.value("kinetic_energy")[0]);
  entry("potential energy", "J", "of gravity and springs", () => live.value("potential_energy")[0]);
  if (live.has("manipulability")) entry("manipulability", "", `√det(J Jᵀ) of the tool's ${live.kernels.find("manipulability").about.choices.task}`, () => live.value("manipulability")[0]);
  if (live.isConstrained) constraintErrors(live, entry);
  if (live.has("mass_matrix")) updates.push(massMatrix(live, box));
  return () => updates.forEach((update) => update());
}

// How far constraints on positions and on velocities are from being met: rounding, as each step goes back to them.
function constraintErrors(live, entry) {
  const largest = (name) => () => live.value(name).reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  if (live.has("residual")) entry("constraint error", "", "the largest |h(q, t)|, m or rad", largest("residual"), 0);
  if (live.has("velocity_residual")) entry("velocity error", "", "the largest |A q̇ − b|, m/s or rad/s", largest("velocity_residual"), 0);
}

// Three digits, as a small cell holds them.
function brief(value) {
  const size = Math.abs(value);
  const text = size < 5e-13 ? "0" : size < 1e-3 || size >= 1e5 ? value.toExponential(0) : size >= 100 ? value.toFixed(0) : value.toPrecision(3);
  return text.replaceAll("-", "−");
}

function massMatrix(live, box) {
  const n = live.qd.length, numbers = n <= 8;
  element("h3", "Mass matrix M(q)", box);
  const table = element("table", null, element("div", null, box, "matrix"), numbers ? "" : "small"), cells = [];
  element("caption", `Rows and columns are the ${live.data.robot ? "joints" : "velocities"}, in their order; blue is positive, orange negative, stronger is larger.`, table);
  for (let i = 0; i < n; i++) {
    const row = element("tr", null, table);
    for (let j = 0; j < n; j++) {
      const cell = element("td", null, row);
      cell.title = `${plainName(live.about.velocities[i])}, ${plainName(live.about.velocities[j])}`;
      cells.push([cell, numbers ? element("data", null, cell) : null]);
    }
  }
  return () => {
    const matrix = live.value("mass_matrix"), most = Math.max(...matrix.map(Math.abs)) || 1;
    cells.forEach(([cell, text], k) => {
      const share = Math.round(72 * Math.sqrt(Math.abs(matrix[k]) / most));
      const paint = `color-mix(in srgb, var(${matrix[k] < 0 ? "--c1" : "--c0"}) ${share}%, var(--box))`;
      if (cell.dataset.paint !== paint) { cell.dataset.paint = paint; cell.style.background = paint; }
      if (!text) return;
      text.value = String(matrix[k]);
      text.textContent = brief(matrix[k]);
    });
  };
}

panel("Posture", 0, drawPosture);
panel("Posture", 10, drawValues);
