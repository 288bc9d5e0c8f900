// Running plots: the last seconds of a live robot. While it moves they are drawn on canvases, so that a frame costs
// little; where it rests they are plots as of any motion, with values under the pointer and a window of time.
"use strict";
const WINDOW = 10; // s shown
const REST = 300; // ms without motion

// One time for all plots of a robot that rests.
function stillClock() {
  let listeners = [], now = 0;
  const seek = (time) => { now = time; listeners.forEach((listener) => listener(now)); };
  return { load(time) { listeners = []; now = time; }, seek, listen(listener) { listeners.push(listener); listener(now); } };
}

class Strip {
  constructor(title, unit, names, parent) {
    this.chart = { title, unit, live: true, series: names.map((name) => ({ name: plainName(name) })) };
    this.frame = framed(this.chart, parent, () => (this.still ?? this).draw());
    this.box = this.frame.box;
    this.box.classList.add("strip");
    this.note = element("span", "", this.frame.head, "faint");
    this.canvas = element("canvas", null, this.box);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${title}, ${unit} over the last ${WINDOW} seconds`);
    this.width = names.length;
    this.still = null; // the plot of a robot that rests
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
  }

  push(time, values) {
    this.times.push(time);
    this.rows.push(Float64Array.from(values));
    // what has left the window is dropped now and then, all at once
    const gone = this.times.findIndex((t) => t >= time - WINDOW);
    if (gone > 400) { this.times.splice(0, gone - 1); this.rows.splice(0, gone - 1); }
  }

  // The time at the left edge, and the first sample to be drawn.
  begin() {
    const last = this.times.length ? this.times[this.times.length - 1] : 0, from = Math.max(0, last - WINDOW);
    return [from, Math.max(0, this.times.findIndex((t) => t >= from) - 1)];
  }

  values() {
    const last = this.rows[this.rows.length - 1];
    this.frame.values.forEach((cell, k) => { cell.textContent = last ? number(Math.abs(last[k]) < 1e-12 ? 0 : last[k]) : "–"; });
  }

  // As a plot of what there is, or as a canvas again.
  rest(window, clock) {
    this.move();
    if (!this.rows.length) return;
    const [, first] = this.begin(), rows = this.rows.slice(first);
    const series = this.chart.series.map((one, k) => ({ ...one, y: rows.map((row) => row[k]) }));
    this.still = plotted({ ...this.chart, series }, this.frame, { times: this.times.slice(first), zoom: window, clock });
    this.canvas.hidden = true;
  }

  move() {
    if (this.still) this.still.remove();
    this.still = null;
    this.canvas.hidden = false;
  }

  fit() {
    const ratio = Math.min(2, devicePixelRatio), wide = this.canvas.clientWidth;
    this.canvas.width = Math.round(wide * ratio);
    this.canvas.height = Math.round(HEIGHT * ratio);
    this.ratio = ratio;
  }

  bounds(first) {
    let low = Infinity, high = -Infinity;
    for (let i = first; i < this.rows.length; i++)
      for (const k of this.frame.selected) { const v = this.rows[i][k]; if (v < low) low = v; if (v > high) high = v; }
    return roomy(low, high, true);
  }

  draw() {
    const pen = this.canvas.getContext("2d"), wide = this.canvas.width / (this.ratio ?? 1);
    if (!wide) return;
    const inner = wide - LEFT - RIGHT, tall = HEIGHT - TOP - BOTTOM, [from, first] = this.begin(), [low, high] = this.bounds(first);
    const x = (t) => LEFT + (inner * (t - from)) / WINDOW, y = (v) => TOP + tall * (1 - (v - low) / (high - low));
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, wide, HEIGHT);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.faint;
    pen.strokeStyle = this.line;
    pen.lineWidth = 1;
    pen.textAlign = "right";
    for (const [value, label] of ticks(low, high, 5)) {
      pen.beginPath();
      pen.moveTo(LEFT, y(value));
      pen.lineTo(wide - RIGHT, y(value));
      pen.stroke();
      pen.fillText(label, LEFT - 6, y(value) + 4);
    }
    pen.textAlign = "center";
    for (const [value, label] of ticks(from, from + WINDOW, Math.max(3, inner / 90))) pen.fillText(label, x(value), HEIGHT - BOTTOM + 15);
    pen.fillText("time / s", LEFT + inner / 2, HEIGHT - 2);
    pen.save();
    pen.translate(11, TOP + tall / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(this.chart.unit, 0, 0);
    pen.restore();
    this.curves(pen, x, y, first);
  }

  curves(pen, x, y, first) {
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, 0, this.canvas.width, HEIGHT);
    pen.clip();
    pen.lineWidth = 1.9;
    pen.lineJoin = "round";
    for (const k of this.frame.selected) {
      pen.strokeStyle = this.colours[k % 8];
      pen.setLineDash(dashes(k));
      pen.beginPath();
      for (let i = first; i < this.times.length; i++) pen.lineTo(x(this.times[i]), y(this.rows[i][k]));
      pen.stroke();
    }
    pen.restore();
  }
}

// Strips of a leaf become plots when the robot rests, and on paper; called after what pushes values.
function restful(live, container, strips) {
  const span = timeWindow(), clock = stillClock();
  let pending = 0;
  function rest() {
    clearTimeout(pending);
    const [from] = strips[0].begin();
    span.load([from, from + WINDOW]);
    clock.load(live.time);
    strips.forEach((strip) => strip.rest(span, clock));
  }
  addEventListener("beforeprint", () => { if (live.isShown) rest(); });
  live.listen((change) => {
    clearTimeout(pending);
    if (change === "posed" || change === "moved") strips.forEach((strip) => { if (strip.still) strip.move(); });
    if (container.hidden) return;
    if (change === "paused" || change === "turned") rest(); else pending = setTimeout(rest, REST); // a step by hand is no pause
  });
}

// Positions, velocities, torques, powers and energies; entries of one unit share a plot.
function drawStrips(live, container) {
  const { units, coordinates, velocities } = live.about, pairs = [];
  const joint = new Set(live.joints.map((one) => one.k));
  function group(title, symbol, names, unit, values, include = () => true) {
    const groups = new Map();
    names.forEach((name, k) => { if (include(k)) groups.set(unit[k], [...(groups.get(unit[k]) ?? []), k]); });
    for (const [label, entries] of groups)
      pairs.push([new Strip(title, !label || label === "1" ? symbol : `${symbol} / ${label}`, entries.map((k) => names[k]), container), () => { const all = values(); return entries.map((k) => all[k]); }]);
  }
  group("Positions", "q", coordinates, units.q, () => live.q, (k) => joint.has(k));
  group("Velocities", "q̇", velocities, units.qd, () => live.qd);
  const { friction } = live.data, struck = live.has("stopped"), names = ["kinetic", "potential, from the start", "sum", "work done on it"];
  const energy = new Strip("Energy balance", "energy / J", [...names, ...(struck ? ["taken by stops"] : []), ...(friction ? [friction] : [])], container);
  let potential0 = 0;
  pairs.push([energy, () => {
    const kinetic = live.value("kinetic_energy")[0], potential = live.value("potential_energy")[0] - potential0;
    return [kinetic, potential, live.energy() - potential0, live.work, ...(struck ? [live.struck] : []), ...(friction ? [live.lost()] : [])];
  }]);
  group("Torques", "τ", velocities, units.tau, () => live.tau);
  group("Power of the drives", "τ q̇", velocities, velocities.map(() => "W"), () => live.power());
  const drawAll = () => pairs.forEach(([strip]) => (strip.still ?? strip).draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { pairs.forEach(([strip]) => strip.paint()); drawAll(); });
  let frames = 0;
  function words() {
    pairs.forEach(([strip]) => strip.values());
    if (!friction) energy.note.textContent = `closes to ${Math.abs(live.lost()).toExponential(0).replace("-", "−")} J`;
  }
  live.listen((change) => {
    if (change === "posed") {
      potential0 = live.value("potential_energy")[0];
      pairs.forEach(([strip]) => strip.clear());
    }
    if (change === "posed" || change === "moved") pairs.forEach(([strip, values]) => strip.push(live.time, values()));
    if (container.hidden) return;
    pairs.forEach(([strip]) => strip.draw());
    if (change !== "moved" || ++frames % EVERY === 0) words();
  });
  restful(live, container, pairs.map(([strip]) => strip));
  return () => {};
}

panel("Motion", 10, drawStrips);
