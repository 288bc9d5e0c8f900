// Every named parameter as a slider, and two settings of them side by side.
"use strict";
const DENSITY = 7850; // kg/m³, of steel: a payload is drawn as a ball of it

function drawParameters(live, container) {
  const settings = Settings.of(live);
  if (!settings) return null;
  const box = element("div", null, container, "parameters box"), head = element("div", null, box, "head"), bar = element("div", null, box, "settings");
  element("h3", "Parameters", head);
  pressed("Reset", head, () => { message.textContent = ""; settings.put(settings.defaults); }, "all as the robot was given").classList.add("back");
  const tick = element("input", null, element("label", null, bar));
  tick.type = "checkbox";
  tick.parentElement.append(" compare two settings");
  const group = element("span", null, bar, "choose");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "the setting of the live robot; the other is seen through");
  const buttons = SETTINGS.map((name, k) => pressed(name, group, () => settings.choose(k), `sliders and the solid robot are setting ${name}`));
  tick.addEventListener("change", () => { settings.compare(tick.checked); live.tell("changed"); });
  if (live.data.added)
    element("p", "This robot names no parameters. Here its tool can carry a point mass, and any friction it has can be scaled; the tables below stay as given.", box, "faint");
  const message = element("p", "", null, "refused"), rows = settings.rows.map((row, k) => parameterRow(settings, row, k, box, message));
  box.appendChild(message);
  message.setAttribute("role", "status");
  const load = live.data.added && view ? drawLoad(live, settings) : () => {};
  live.listen(load);
  return () => {
    tick.checked = settings.both;
    group.hidden = !settings.both;
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === settings.mine)));
    rows.forEach((update, k) => update(settings.values[settings.mine][k]));
  };
}

function parameterRow(settings, { name, low, high, value: initial, unit, least }, k, parent, message) {
  const now = () => settings.values[settings.mine][k];
  function change(value) {
    const refusal = settings.set(k, value);
    message.textContent = refusal ? `${refusal[0].toUpperCase()}${refusal.slice(1)}. It stays at ${number(now())}${unit ? ` ${unit}` : ""}.` : "";
    if (refusal) update(now());
    field.classList.toggle("beyond", refusal !== null);
  }
  const { row, field, settle, update } = valueRow(parent, "parameter", {
    id: `parameter${k}`, name, title: name, unit, low, high, decimals: Math.min(20, Math.max(0, 3 - Math.floor(Math.log10(high)))), change,
    read: () => { field.classList.remove("beyond"); return Number(now().toPrecision(6)); },
  });
  field.title = `given as ${initial}${unit ? ` ${unit}` : ""}`;
  if (least != null) field.min = least;
  const back = pressed("↺", row, () => { change(initial); settle(); }, `back to ${number(initial)}`);
  back.classList.add("plain");
  back.setAttribute("aria-label", `${name} as it was given`);
  return (value) => { update(value); back.disabled = value === initial; };
}

// The page's own payload as a ball of steel at the tool, of the other robot too.
function drawLoad(live, settings) {
  const tool = toolOf(live), load = settings.rows.findIndex((row) => row.name === "payload"), paints = [view.material("--tip"), view.material("--tip", { transparent: true, opacity: 0.42, depthWrite: false })];
  const balls = paints.map((paint) => new THREE.Mesh(new THREE.SphereGeometry(1, 40, 26), paint));
  view.aids.add(...balls);
  function locate(ball, mass) {
    const T = tool.pose();
    ball.visible = mass > 0;
    ball.position.set(T[3], T[7], T[11]);
    ball.scale.setScalar(Math.max(Math.cbrt((3 * mass) / (4 * Math.PI * DENSITY)), 1e-6));
  }
  return () => {
    locate(balls[0], settings.values[settings.mine][load]);
    if (settings.both) settings.beside(() => locate(balls[1], settings.values[settings.mine][load]));
    else balls[1].visible = false;
  };
}

// What both robots are, where each of them is, in two columns with their difference.
function drawComparison(live, container) {
  const settings = Settings.of(live);
  if (!settings) return null;
  const box = element("div", null, container, "comparison box"), table = element("table", null, element("div", null, box, "wide"));
  const first = element("tr", null, element("thead", null, table)), body = element("tbody", null, table), rows = [];
  for (const text of ["", ...SETTINGS, "B − A"]) element("th", text, first).scope = "col";
  const line = (label, unit, kernel, k) => {
    const row = element("tr", null, body), name = element("th", label, row);
    name.scope = "row";
    if (unit && unit !== "1") element("small", ` ${unit}`, name);
    rows.push({ kernel, k, cells: [0, 1, 2].map(() => element("data", null, element("td", null, row))) });
  };
  const n = live.qd.length, joints = live.about.velocities, units = live.about.units.tau;
  const group = (title) => { const cell = element("th", title, element("tr", null, body, "group")); cell.colSpan = 4; cell.scope = "rowgroup"; };
  if (live.has("gravity_torque")) { group("Gravity torque"); joints.forEach((name, k) => line(plainName(name), units[k], "gravity_torque", k)); }
  if (live.has("mass_matrix")) { group("Diagonal of M(q)"); joints.forEach((name, k) => line(plainName(name), "", "mass_matrix", k * n + k)); }
  group("Energy");
  line("kinetic", "J", "kinetic_energy", 0);
  line("potential", "J", "potential_energy", 0);
  const curves = drawCurves(live, settings, container);
  const kernels = [...new Set(rows.map((row) => row.kernel))];
  const all = () => Object.fromEntries(kernels.map((kernel) => [kernel, Float64Array.from(live.value(kernel))]));
  live.listen((change) => { if (change !== "moved") box.hidden = curves.hidden = !settings.both; });
  box.hidden = curves.hidden = true;
  return () => {
    if (!settings.both) return;
    const mine = all(), other = settings.beside(all), [a, b] = settings.mine === 0 ? [mine, other] : [other, mine];
    for (const { kernel, k, cells } of rows) {
      const values = [a[kernel][k], b[kernel][k], b[kernel][k] - a[kernel][k]], beside = Math.max(...a[kernel].map(Math.abs), ...b[kernel].map(Math.abs));
      cells.forEach((cell, j) => show(cell, values[j], beside));
    }
  };
}

// One coordinate of both robots, since they were let go.
function drawCurves(live, settings, container) {
  const part = element("div", null, container, "curves"), strips = [], bar = element("div", null, part, "head");
  const options = live.joints.map((joint, j) => [plainName(joint.name), j]);
  const energy = () => live.value("kinetic_energy")[0];
  options.push(["kinetic energy", options.length]);
  choice("what is plotted of both", options, bar, (value) => { strips.forEach((one, j) => { one.strip.box.hidden = j !== Number(value); }); draw(); });
  live.joints.forEach((joint) => {
    const unit = joint.unit === "1" ? "q" : `q / ${joint.unit}`;
    strips.push({ strip: new Strip(plainName(joint.name), unit, SETTINGS, part), value: () => live.q[joint.k] });
  });
  strips.push({ strip: new Strip("Kinetic energy", "K / J", SETTINGS, part), value: energy });
  strips.forEach(({ strip }, j) => { strip.box.hidden = j !== 0; });
  const draw = () => { for (const { strip } of strips) if (!strip.box.hidden) { strip.draw(); strip.values(); } };
  const values = () => strips.map((one) => one.value());
  live.listen((change) => {
    if (!settings.both || !live.isShown) return;
    if (change === "posed") strips.forEach(({ strip }) => strip.clear());
    if (change === "posed" || change === "moved") {
      const mine = values(), other = settings.beside(values), pair = settings.mine === 0 ? [mine, other] : [other, mine];
      strips.forEach(({ strip }, j) => strip.push(live.time, [pair[0][j], pair[1][j]]));
    }
    if (!container.hidden && (change !== "moved" || live.count % 2 === 0)) draw();
  });
  restful(live, container, strips.map(({ strip }) => strip));
  return part;
}

panel("Parameters", 0, drawParameters);
panel("Parameters", 10, drawComparison);
