// Plots as SVG: a cursor of now, values under the pointer, curves that can be hidden, a window of time that all share.
"use strict";
const LEFT = 58, RIGHT = 10, TOP = 8, BOTTOM = 30, HEIGHT = 168;
const GRAB = 7, DRAG = 6; // pixels: around the cursor, and from a click to a drag
const LISTED = 12; // values beside the pointer
const WIDE = 640; // of a plot that is not seen, for paper

function svg(name, attributes, parent) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(node);
  return node;
}

// An element with text, which is never markup.
function element(name, text, parent, kind) {
  const node = document.createElement(name);
  if (text !== null) node.textContent = text;
  if (kind) node.className = kind;
  if (parent) parent.appendChild(node);
  return node;
}

// Round steps of 1, 2 or 5 times a power of ten.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const first = Math.ceil(low / step - 1e-9), marks = [];
  for (let k = first; k * step <= high + 1e-9 * step; k++) marks.push(k * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = (v) => (Math.abs(v) < 1e-9 * step ? "0"
    : Math.abs(v) >= 1e5 || digits > 4 ? v.toExponential(0) : v.toFixed(digits)).replaceAll("-", "−");
  return marks.map((value) => [value, text(value)]);
}

function number(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e5 || size < 1e-3) ? value.toExponential(1) : value.toFixed(3);
  return text.replace(/^-(0\.000)$/, "$1").replaceAll("-", "−");
}

// The least and the largest of curves between two samples, with a margin.
function extent(series, first, last, live) {
  let low = Infinity, high = -Infinity;
  for (const one of series) for (let i = first; i <= last; i++) {
    const v = one.y[i];
    if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
  }
  return roomy(low, high, live);
}

const largestOf = (series) => series.reduce((most, one) => one.y.reduce((m, v) => Math.max(m, Math.abs(v)), most), 0);

// A margin around the least and the largest; what moves a live robot's curve by no more than rounding is no motion.
function roomy(low, high, live) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (!(low <= high) || (live && size < 1e-9)) return [-1, 1];
  const slack = Math.max(0.06 * (high - low), live ? 1e-3 * size : 0) || 0.1 * Math.abs(high) || 1;
  return [low - slack, high + slack];
}

// A part of the time, which all plots that listen to it show.
function timeWindow() {
  let range = [0, 1], whole = [0, 1], listeners = [];
  const tell = () => listeners.forEach((listener) => listener());
  return {
    load(times) { listeners = []; whole = [times[0], times[times.length - 1]]; range = whole; },
    listen(listener) { listeners.push(listener); },
    range: () => range,
    narrowed: () => range !== whole,
    set(from, to) {
      const least = (whole[1] - whole[0]) / 500, [a, b] = from < to ? [from, to] : [to, from];
      if (b - a < least) return;
      range = [Math.max(whole[0], a), Math.min(whole[1], b)];
      tell();
    },
    by(factor, about) { // wider than the whole is the whole
      const [a, b] = range.map((end) => about + factor * (end - about));
      if (a <= whole[0] && b >= whole[1]) this.reset(); else this.set(a, b);
    },
    reset() { range = whole; tell(); },
  };
}
const zoom = timeWindow(); // of the recorded motion

function legend(chart, box, selected, draw) {
  const list = element("ul", null, box, "legend");
  return chart.series.map((one, k) => {
    const button = element("button", null, element("li", null, list));
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.title = "click hides or shows it; with Shift, it alone";
    const line = element("i", null, button, one.dashed ? "dashed" : "");
    line.style.borderColor = `var(--c${k % 8})`;
    element("b", one.name, button);
    button.addEventListener("click", (event) => {
      const alone = event.shiftKey && !(selected.size === 1 && selected.has(k));
      if (event.shiftKey) { chart.series.forEach((_, j) => (alone && j !== k ? selected.delete(j) : selected.add(j))); }
      else if (!selected.delete(k)) selected.add(k);
      list.querySelectorAll("button").forEach((b, j) => b.setAttribute("aria-pressed", String(selected.has(j))));
      draw();
    });
    return element("span", null, button);
  });
}

// More curves than colours: each eight have dashes of their own.
const dashes = (k) => [[], [9, 3], [2, 3], [9, 3, 2, 3]][Math.floor(k / 8) % 4];

// The figure around a plot: its title, its legend, and the way back to the whole time.
function framed(chart, parent, draw) {
  const box = element("figure", null, parent, "chart box"), head = element("div", null, box, "head");
  element("h3", chart.title, head);
  const back = element("button", "Whole time", head, "back");
  back.type = "button";
  back.hidden = true;
  const selected = new Set(chart.series.keys());
  return { box, head, back, selected, values: legend(chart, box, selected, draw) };
}

function plot(chart, parent) {
  const frame = framed(chart, parent, () => drawing.draw());
  const drawing = plotted(chart, frame, { times: data.t, zoom, clock });
}

let clips = 0;
// The curves of a chart in their figure, over these times; what is done to them goes with `remove`.
function plotted(chart, { box, back, selected, values }, { times, zoom, clock }) {
  const picture = svg("svg", { height: HEIGHT, role: "img", tabindex: 0,
    "aria-label": `${chart.title}, ${chart.unit} over time. Drag zooms, Escape shows the whole time, + and − zoom, a click goes to that instant.` }, box);
  const tip = element("div", null, box, "tip"), id = `inside${clips++}`, gone = new AbortController();
  const most = largestOf(chart.series), format = (value) => number(Math.abs(value) < 1e-12 * most ? 0 : value); // rounding is nothing
  tip.hidden = true;
  let cursor = null, marks = null, x = null, y = null, now = times[0];

  function curve(one, first, last) {
    let path = "", pen = "M";
    for (let i = first; i <= last; i++) {
      const v = one.y[i];
      if (v === null) { pen = "M"; continue; }
      if (one.stepped && pen === "L") path += `H${x.to(times[i]).toFixed(1)}`;
      path += `${pen}${x.to(times[i]).toFixed(1)} ${y(v).toFixed(1)}`;
      pen = "L";
    }
    return path;
  }
  function draw() {
    const width = Math.max(220, picture.clientWidth || WIDE), inner = width - LEFT - RIGHT, tall = HEIGHT - TOP - BOTTOM;
    const [from, to] = zoom.range(), span = to - from || 1, visible = chart.series.filter((_, k) => selected.has(k));
    const first = locate(times, from)[0], last = locate(times, to)[1], [low, high] = extent(visible, first, last, chart.live);
    x = { to: (t) => LEFT + (inner * (t - from)) / span, from: (p) => from + ((p - LEFT) / inner) * span, width };
    y = (v) => TOP + tall * (1 - (v - low) / (high - low));
    back.hidden = !zoom.narrowed();
    tip.hidden = true;
    picture.replaceChildren();
    picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const clip = svg("clipPath", { id }, picture);
    svg("rect", { x: LEFT, y: 0, width: inner, height: HEIGHT }, clip);
    for (const [value, label] of ticks(low, high, 5)) {
      svg("line", { class: Math.abs(value) < 1e-12 ? "zero" : "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }, picture);
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, picture).textContent = label;
    }
    for (const [value, label] of ticks(from, from + span, Math.max(3, inner / 90)))
      svg("text", { x: x.to(value), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, picture).textContent = label;
    svg("text", { x: LEFT + inner / 2, y: HEIGHT - 2, "text-anchor": "middle" }, picture).textContent = "time / s";
    svg("text", { x: 11, y: TOP + tall / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${TOP + tall / 2})` }, picture).textContent = chart.unit;
    const inside = svg("g", { "clip-path": `url(#${id})` }, picture);
    chart.series.forEach((one, k) => {
      if (!selected.has(k)) return;
      const dash = one.dashed ? "6 4" : dashes(k).join(" ");
      svg("path", { d: curve(one, first, last), style: `stroke: var(--c${k % 8})`, "stroke-dasharray": dash }, inside);
    });
    cursor = svg("line", { class: "cursor", y1: TOP, y2: TOP + tall }, inside);
    marks = svg("g", { class: "marks" }, picture);
    point(now);
  }
  function point(time) {
    now = time;
    if (!cursor) return;
    cursor.setAttribute("x1", x.to(time));
    cursor.setAttribute("x2", x.to(time));
    const [a, b, s] = locate(times, time);
    chart.series.forEach((one, k) => {
      const [u, v] = [one.y[a], one.y[b]];
      values[k].textContent = u === null || v === null ? "–" : format(u + s * (v - u));
    });
  }

  // the sample nearest to the pointer: dots on the curves, and its values, the nearest curve first
  function hover(px, py) {
    const [a, b, s] = locate(times, x.from(px)), i = s < 0.5 ? a : b, at = x.to(times[i]);
    const values = chart.series.map((one, k) => ({ one, k, v: one.y[i] })).filter(({ k, v }) => selected.has(k) && v !== null);
    values.sort((p, q) => Math.abs(y(p.v) - py) - Math.abs(y(q.v) - py));
    marks.replaceChildren();
    tip.hidden = !values.length || at < LEFT - 1 || at > x.width - RIGHT + 1;
    if (tip.hidden) return;
    svg("line", { class: "hair", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }, marks);
    for (const { k, v } of values) svg("circle", { cx: at, cy: y(v), r: 3.2, style: `fill: var(--c${k % 8})` }, marks);
    tip.replaceChildren();
    element("b", `t = ${number(times[i])} s`, tip);
    for (const { one, k, v } of values.slice(0, LISTED)) {
      const row = element("div", null, tip);
      element("i", null, row).style.borderColor = `var(--c${k % 8})`;
      element("span", one.name, row);
      element("em", format(v), row);
    }
    if (values.length > LISTED) element("div", `and ${values.length - LISTED} more`, tip);
    const around = box.getBoundingClientRect(), own = picture.getBoundingClientRect(), aside = own.left - around.left + at;
    tip.style.left = at > x.width / 2 ? "auto" : `${aside + 10}px`;
    tip.style.right = at > x.width / 2 ? `${around.width - aside + 10}px` : "auto";
    tip.style.top = `${own.top - around.top + 4}px`;
  }
  function leave() { tip.hidden = true; if (marks) marks.replaceChildren(); }

  let press = null; // {from, seeking, band}: a button or finger that is down
  const pointer = (event) => { const r = picture.getBoundingClientRect(); return [(event.clientX - r.left) * (x.width / r.width), event.clientY - r.top]; };
  const within = (px) => Math.min(x.width - RIGHT, Math.max(LEFT, px));
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [px] = pointer(event);
    press = { from: within(px), seeking: Math.abs(px - x.to(now)) <= GRAB, band: null };
    picture.setPointerCapture(event.pointerId);
    leave();
  });
  picture.addEventListener("pointermove", (event) => {
    const [px, py] = pointer(event);
    if (!press) { hover(px, py); return; }
    if (press.seeking) { clock.seek(x.from(px)); return; }
    const to = within(px);
    if (!press.band && Math.abs(to - press.from) > DRAG) press.band = svg("rect", { class: "band", y: TOP, height: HEIGHT - TOP - BOTTOM }, picture);
    if (press.band) {
      press.band.setAttribute("x", Math.min(to, press.from));
      press.band.setAttribute("width", Math.abs(to - press.from));
    }
  });
  picture.addEventListener("pointerup", (event) => {
    if (!press) return;
    const [px] = pointer(event), { from, band, seeking } = press;
    press = null;
    if (band) { band.remove(); zoom.set(x.from(from), x.from(within(px))); } else if (!seeking) clock.seek(x.from(px));
  });
  picture.addEventListener("pointercancel", () => { if (press && press.band) press.band.remove(); press = null; leave(); });
  picture.addEventListener("pointerleave", () => { if (!press) leave(); });
  picture.addEventListener("dblclick", () => zoom.reset());
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Escape") zoom.reset();
    else if (event.key === "+" || event.key === "=") zoom.by(0.5, now);
    else if (event.key === "-") zoom.by(2, now);
    else return;
    event.preventDefault();
  });
  back.addEventListener("click", () => { zoom.reset(); picture.focus(); }, { signal: gone.signal });
  zoom.listen(draw);
  const sized = new ResizeObserver(draw);
  sized.observe(picture);
  draw();
  clock.listen(point);
  return { draw, remove() { gone.abort(); sized.disconnect(); picture.remove(); tip.remove(); back.hidden = true; } };
}

function drawCharts() {
  const container = document.getElementById("charts");
  container.replaceChildren();
  zoom.load(data.t);
  data.charts.forEach((chart) => plot(chart, container));
}
