// Running plots: the last seconds of a live robot, on canvases, so that a frame costs little.
"use strict";
const KEPT = 10; // s shown
const STRIP = { height: 132, left: 52, right: 8, top: 6, bottom: 20 };

class Strip {
  constructor(title, unit, names, parent) {
    this.box = element("figure", null, parent, "strip box");
    const head = element("div", null, this.box, "head");
    element("h3", title, head);
    this.note = element("span", "", head, "faint");
    const list = element("ul", null, this.box, "legend");
    this.shown = names.map((name, k) => {
      const item = element("li", null, list);
      element("i", null, item).style.borderColor = `var(--c${k % 8})`;
      element("b", plainName(name), item);
      return element("span", "–", item);
    });
    this.canvas = element("canvas", null, this.box);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${title}, ${unit} over the last ${KEPT} seconds`);
    this.unit = unit;
    this.width = names.length;
    this.paint();
    this.clear();
    new ResizeObserver(() => { this.fit(); this.draw(); }).observe(this.canvas);
  }

  paint() {
    const style = getComputedStyle(document.documentElement), read = (name) => style.getPropertyValue(name).trim();
    this.colours = Array.from({ length: 8 }, (_, k) => read(`--c${k}`));
    Object.assign(this, { line: read("--line"), faint: read("--faint") });
  }

  clear() {
    this.times = [];
    this.rows = [];
    this.low = Infinity;
    this.high = -Infinity;
  }

  push(time, values) {
    this.times.push(time);
    this.rows.push(Float64Array.from(values));
    for (const value of values) { this.low = Math.min(this.low, value); this.high = Math.max(this.high, value); }
    // what has left the window is dropped now and then, all at once
    const gone = this.times.findIndex((t) => t >= time - KEPT);
    if (gone > 400) { this.times.splice(0, gone - 1); this.rows.splice(0, gone - 1); }
  }

  values() {
    const last = this.rows[this.rows.length - 1];
    this.shown.forEach((place, k) => { place.textContent = last ? number(Math.abs(last[k]) < 1e-12 ? 0 : last[k]) : "–"; });
  }

  fit() {
    const ratio = Math.min(2, devicePixelRatio), wide = this.canvas.clientWidth;
    this.canvas.width = Math.round(wide * ratio);
    this.canvas.height = Math.round(STRIP.height * ratio);
    this.ratio = ratio;
  }

  draw() {
    const pen = this.canvas.getContext("2d"), wide = this.canvas.width / (this.ratio ?? 1);
    if (!wide) return;
    const { left, right, top, bottom, height } = STRIP, inner = wide - left - right, tall = height - top - bottom;
    const last = this.times.length ? this.times[this.times.length - 1] : 0, from = Math.max(0, last - KEPT);
    let [low, high] = this.low <= this.high ? [this.low, this.high] : [-1, 1];
    const size = Math.max(Math.abs(low), Math.abs(high)); // rounding is no motion
    const slack = size < 1e-9 ? 1 : Math.max(0.06 * (high - low), 1e-3 * size);
    low -= slack;
    high += slack;
    const x = (t) => left + (inner * (t - from)) / KEPT, y = (v) => top + tall * (1 - (v - low) / (high - low));
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, wide, height);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.faint;
    pen.strokeStyle = this.line;
    pen.lineWidth = 1;
    pen.textAlign = "right";
    for (const [value, label] of ticks(low, high, 4)) {
      pen.beginPath();
      pen.moveTo(left, y(value));
      pen.lineTo(wide - right, y(value));
      pen.stroke();
      pen.fillText(label, left - 6, y(value) + 4);
    }
    pen.textAlign = "center";
    for (const [value, label] of ticks(from, from + KEPT, 5)) pen.fillText(label, x(value), height - 5);
    pen.save();
    pen.translate(10, top + tall / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(this.unit, 0, 0);
    pen.restore();
    this.curves(pen, x, y, from);
  }

  curves(pen, x, y, from) {
    const first = Math.max(0, this.times.findIndex((t) => t >= from) - 1);
    pen.save();
    pen.beginPath();
    pen.rect(STRIP.left, 0, this.canvas.width, STRIP.height);
    pen.clip();
    pen.lineWidth = 1.8;
    pen.lineJoin = "round";
    for (let k = 0; k < this.width; k++) {
      pen.strokeStyle = this.colours[k % 8];
      pen.setLineDash([[], [9, 3], [2, 3], [9, 3, 2, 3]][Math.floor(k / 8) % 4]);
      pen.beginPath();
      for (let i = first; i < this.times.length; i++) pen.lineTo(x(this.times[i]), y(this.rows[i][k]));
      pen.stroke();
    }
    pen.restore();
  }
}

// Positions, velocities, torques and energies; entries of one unit share a plot.
function drawStrips(live, place) {
  const { units, coordinates, velocities } = live.about, made = [];
  const joint = new Set(live.joints.map((one) => one.k));
  function group(title, symbol, names, unit, values, wanted = () => true) {
    const groups = new Map();
    names.forEach((name, k) => { if (wanted(k)) groups.set(unit[k], [...(groups.get(unit[k]) ?? []), k]); });
    for (const [label, entries] of groups)
      made.push([new Strip(title, label === "1" ? symbol : `${symbol} / ${label}`, entries.map((k) => names[k]), place), () => entries.map((k) => values[k])]);
  }
  group("Positions", "q", coordinates, units.q, live.q, (k) => joint.has(k));
  group("Velocities", "q̇", velocities, units.qd, live.qd);
  group("Torques", "τ", velocities, units.tau, live.tau);
  const { friction } = live.given, names = ["kinetic", "potential, from the start", "sum", "work done on it"];
  const energy = new Strip("Energy balance", "energy / J", friction ? [...names, "lost to friction"] : names, place);
  let potential0 = 0;
  made.push([energy, () => {
    const kinetic = live.value("kinetic_energy")[0], potential = live.value("potential_energy")[0] - potential0;
    return [kinetic, potential, kinetic + potential, live.work, ...(friction ? [live.lost()] : [])];
  }]);
  const draw = () => made.forEach(([strip]) => { strip.draw(); strip.values(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { made.forEach(([strip]) => strip.paint()); draw(); });
  let frames = 0;
  function words() {
    made.forEach(([strip]) => strip.values());
    if (!friction) energy.note.textContent = `closes to ${Math.abs(live.lost()).toExponential(0).replace("-", "−")} J`;
  }
  live.listen((why) => {
    if (why === "posed") {
      potential0 = live.value("potential_energy")[0];
      made.forEach(([strip]) => strip.clear());
    }
    if (why === "posed" || why === "moved") made.forEach(([strip, values]) => strip.push(live.time, values()));
    if (place.hidden) return;
    made.forEach(([strip]) => strip.draw());
    if (why !== "moved" || ++frames % EVERY === 0) words();
  });
  return () => {};
}

panel("Motion", 10, drawStrips);
