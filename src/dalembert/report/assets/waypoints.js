// Drives with a goal: a posture that is held, and way-points that are passed by computed torque.
"use strict";
const BANDWIDTH = 10; // rad/s of the errors: ë + 2 ω ė + ω² e = 0
const LEG = 2; // s from one way-point to the next, unless another time is typed
const SAME = 1e-6; // rad or m, nearer than that a way-point is where the robot is already
const DOTS = 80; // of the tool's way in the picture

drive("hold", "posture held", (live) => {
  if (!live.has("hold") || !everyJoint(live)) return null;
  const { goal, bandwidth } = live.kernels.find("hold").inputs;
  bandwidth[0] = BANDWIDTH;
  return { begin: () => goal.set(live.q), torques: () => live.kernels.call("hold").tau };
});

drive("follow", "along way-points", (live) => {
  if (!live.has("follow") || !everyJoint(live)) return null;
  live.path = new Path(live);
  return { begin: () => live.path.begin(), torques: () => live.path.torques() };
});

// Way-points, and the motion of least jerk from where the robot is through all of them.
class Path {
  constructor(live) {
    Object.assign(this, { live, points: [], watchers: [], most: live.data.path_points - 1, from: 0, duration: 0 });
    this.inputs = live.kernels.find("path").inputs;
    this.followed = live.kernels.find("follow");
  }

  get full() {
    return this.points.length >= this.most;
  }

  // Other way-points; whoever shows them is told.
  change(edit) {
    edit(this.points);
    if (this.live.drive === "follow") this.begin();
    this.watchers.forEach((watcher) => watcher());
  }

  add() {
    this.change((points) => points.push({ q: Array.from(this.live.q), seconds: LEG }));
  }

  // At rest at the first and the last point, whose place is kept in all that are not used.
  begin() {
    const { live, inputs } = this, size = live.q.length, here = Array.from(live.q);
    const there = this.points.filter((one, k) => k > 0 || one.q.some((x, j) => Math.abs(x - here[j]) > SAME));
    const stops = [{ q: here, seconds: 0 }, ...there], last = stops.length - 1;
    let time = 0;
    for (let k = 0; k <= this.most; k++) {
      const { q, seconds } = stops[Math.min(k, last)];
      time += k > last ? 1 : seconds;
      if (k === last) this.duration = time;
      inputs.path_times[k] = time;
      inputs.path_points.set(q, k * size);
      inputs.path_passed[k] = k > 0 && k < last ? 1 : 0;
    }
    this.followed.inputs.path_rows.set(live.kernels.call("path").rows);
    this.from = live.count;
  }

  torques() {
    return this.at((this.live.count - this.from) * this.live.dt).tau;
  }

  // Torques and errors q − q_d of this state, were it that time.
  at(time) {
    this.followed.inputs.path_time[0] = time;
    return this.live.kernels.call("follow");
  }

  error() {
    return this.at((this.live.count - this.from) * this.live.dt).error;
  }
}

// The tool's way and the way-points on it; the state is put back afterwards.
function pathPicture(live) {
  if (!view || !live.has("poses")) return { draw() {}, hide() {} };
  const group = new THREE.Group(), paint = view.material("--c2"), at = 16 * live.kernels.find("poses").about.frames.indexOf("tool");
  view.world.add(group);
  function toolAt(q) {
    live.q.set(q);
    const T = live.value("poses").subarray(at, at + 16);
    return new THREE.Vector3(T[3], T[7], T[11]);
  }
  function hide() {
    group.children.slice().forEach((one) => { group.remove(one); one.geometry.dispose(); });
    view.render();
  }
  function draw() {
    hide();
    const { path } = live, saved = Float64Array.from(live.q);
    if (!path.points.length || at < 0) return;
    path.begin();
    const postures = Array.from({ length: DOTS + 1 }, (_, k) => path.at((path.duration * k) / DOTS).error.map((e, j) => saved[j] - e));
    const positions = postures.map(toolAt), marks = path.points.map((one) => toolAt(one.q));
    live.q.set(saved);
    for (const point of marks) {
      const ball = new THREE.Mesh(new THREE.SphereGeometry(0.5 * view.radius, 20, 14), paint);
      ball.position.copy(point);
      group.add(ball);
    }
    const apart = positions.filter((point, k) => k === 0 || point.distanceTo(positions[k - 1]) > 1e-4 * view.size);
    if (apart.length > 2)
      group.add(new THREE.Mesh(new THREE.TubeGeometry(new THREE.CatmullRomCurve3(apart), 2 * apart.length, 0.12 * view.radius, 8), paint));
    view.render();
  }
  return { draw, hide };
}

function drawPath(live, parent) {
  const { path } = live;
  if (!path) return null;
  const { box, summary } = unfolding(parent, "Way-points", "way"), count = element("span", "", summary, "faint"), picture = pathPicture(live);
  const list = element("ol", null, box, "points"), row = element("div", null, box, "row");
  const button = (text, act, title) => { const control = pressed(text, row, act, title); control.classList.add("back"); return control; };
  const add = button("Add this posture", () => path.add());
  const go = button("Follow", () => {
    live.pose(live.q);
    live.choose("follow");
    live.run(true);
  }, "from here at rest through all of them, with the least jerk, driven by computed torque");
  const clear = button("Clear", () => path.change((points) => { points.length = 0; }));
  const speed = element("label", "bandwidth ", row), omega = element("input", null, speed);
  element("small", "rad/s", speed);
  Object.assign(omega, { type: "number", min: 0, max: 200, step: "any", value: BANDWIDTH });
  speed.title = "ω of posture held and way-points: errors go as ë + 2 ω ė + ω² e = 0 where the model is exact";
  omega.addEventListener("input", () => { if (omega.checkValidity() && omega.value !== "") path.followed.inputs.bandwidth[0] = omega.valueAsNumber; });
  function changed() {
    list.replaceChildren();
    path.points.forEach((one, k) => pointRow(live, one, k, list));
    count.textContent = path.points.length || "";
    if (path.points.length) box.open = true;
    add.disabled = path.full;
    add.title = add.disabled ? `there is room for ${path.most}` : "the posture as it is now, as the last of them";
    go.disabled = clear.disabled = !path.points.length;
    picture.draw();
  }
  path.watchers.push(changed);
  live.listen((cause) => { if (cause === "posed") picture.draw(); });
  changed();
  return drawErrors(live, parent);
}

function pointRow(live, one, k, list) {
  const item = element("li", null, list, "row"), label = element("label", `${k + 1}.  after `, item), time = element("input", null, label);
  element("small", "s", label);
  Object.assign(time, { type: "number", min: 0.01, step: "any", value: one.seconds, inputMode: "decimal" });
  time.setAttribute("aria-label", `seconds before way-point ${k + 1}`);
  time.addEventListener("change", () => { if (time.checkValidity() && time.value !== "") live.path.change(() => { one.seconds = time.valueAsNumber; }); });
  const text = element("span", one.q.map((x) => x.toFixed(2).replace("-", "−")).join("  "), item, "faint");
  text.title = live.joints.map((joint) => plainName(joint.name)).join(", ");
  const gone = pressed("×", item, () => live.path.change((points) => points.splice(k, 1)), `remove way-point ${k + 1}`);
  gone.classList.add("back");
  gone.setAttribute("aria-label", gone.title);
}

// Torques beside the limits of the drives, and how far the robot is off its way.
function drawErrors(live, parent) {
  const limits = live.about.limits.effort_limit, limited = limits.some((limit) => limit !== null);
  const efforts = limited ? drawEfforts(live, parent, limits) : null, strips = [];
  for (const unit of new Set(live.joints.map((one) => one.unit))) {
    const own = live.joints.filter((one) => one.unit === unit);
    strips.push([new Strip("Error on the way", unit === "1" ? "q − q_d" : `q − q_d / ${unit}`, own.map((one) => one.name), parent), own]);
  }
  restful(live, parent, strips.map(([strip]) => strip));
  const follows = () => live.drive === "follow";
  live.listen((cause) => {
    strips.forEach(([strip]) => { strip.box.hidden = !follows(); });
    if (cause === "posed" || cause === "driven") strips.forEach(([strip]) => strip.clear());
    if (cause !== "moved" || !follows()) return;
    const error = live.path.error();
    strips.forEach(([strip, own]) => {
      strip.push(live.time, own.map((one) => error[one.k]));
      if (!parent.hidden) strip.draw();
    });
  });
  return () => {
    if (follows()) strips.forEach(([strip]) => { if (!strip.still) strip.values(); });
    if (efforts) efforts();
  };
}

function drawEfforts(live, parent, limits) {
  const box = element("div", null, parent, "efforts box"), head = element("div", null, box, "head"), most = new Float64Array(limits.length);
  element("h3", "Torques beside the drives' limits", head);
  const note = element("span", "", head, "faint"), list = element("dl", null, box);
  const rows = live.joints.filter((one) => limits[one.v] !== null).map((one) => {
    const row = element("div", null, list);
    element("dt", plainName(one.name), row).title = one.name;
    const cell = element("dd", null, row, "torque"), bar = element("i", null, element("span", null, cell, "track"));
    return { one, row, bar, text: element("data", null, cell), limit: limits[one.v], unit: element("small", live.about.units.tau[one.v], cell) };
  });
  box.hidden = true;
  live.listen((cause) => {
    if (cause === "posed" || cause === "driven") { most.fill(0); box.hidden = live.drive === "none"; }
    if (cause === "moved") live.tau.forEach((torque, k) => { most[k] = Math.max(most[k], Math.abs(torque)); });
  });
  return () => {
    for (const { one, row, bar, text, limit } of rows) {
      const torque = live.tau[one.v];
      show(text, torque);
      bar.style.transform = `scaleX(${Math.max(-1, Math.min(1, torque / limit)).toFixed(3)})`;
      row.classList.toggle("beyond", Math.abs(torque) > limit);
      row.title = `limit ${limit}, so far at most ${number(most[one.v])}`;
    }
    const passed = rows.filter(({ one, limit }) => most[one.v] > limit).map(({ one }) => plainName(one.name));
    note.textContent = passed.length ? `passed by ${passed.join(", ")}` : "";
    note.classList.toggle("beyond", passed.length > 0);
  };
}

// The same button where a posture is made.
function drawAdd(live, parent) {
  const { path } = live;
  if (!path) return null;
  const head = parent.querySelector(".posture .head"), message = element("span", "", null, "faint"), add = pressed("Add as way-point", null, () => path.add());
  add.classList.add("back");
  head.lastElementChild.before(message, add);
  const changed = () => {
    add.disabled = path.full;
    add.title = `the robot passes way-points under Motion; there is room for ${path.most}`;
    message.textContent = path.points.length ? `${path.points.length} of ${path.most}, followed under Motion` : "";
  };
  path.watchers.push(changed);
  changed();
  return () => {};
}

panel("Posture", 1, drawAdd);
panel("Motion", 4, drawPath);
