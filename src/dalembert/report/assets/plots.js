// Plots as SVG: axes, curves, a legend with the values of now, and a cursor that can be dragged.
"use strict";
const LEFT = 58, RIGHT = 10, TOP = 8, BOTTOM = 30, HEIGHT = 168;

function svg(name, attributes, parent) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(made);
  return made;
}

// Round steps of 1, 2 or 5 times a power of ten.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
  const first = Math.ceil(low / step - 1e-9), found = [];
  for (let k = first; k * step <= high + 1e-9 * step; k++) found.push(k * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = (v) => (Math.abs(v) < 1e-9 * step ? "0"
    : Math.abs(v) >= 1e5 || digits > 4 ? v.toExponential(0) : v.toFixed(digits)).replaceAll("-", "−");
  return found.map((value) => [value, text(value)]);
}

function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e5 || size < 1e-3) ? value.toExponential(1) : value.toFixed(3);
  return text.replace(/^-(0\.000)$/, "$1").replaceAll("-", "−");
}

function extent(series) {
  let low = Infinity, high = -Infinity;
  for (const one of series) for (const v of one.y) if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); }
  if (!(low <= high)) return [-1, 1];
  const slack = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
  return [low - slack, high + slack];
}

function plot(chart, parent) {
  const box = document.createElement("figure");
  box.className = "chart box";
  box.style.margin = "0 0 .8rem";
  box.innerHTML = '<h3></h3><ul class="legend"></ul>';
  box.querySelector("h3").textContent = chart.title;
  const values = chart.series.map((one, k) => {
    const item = document.createElement("li");
    item.innerHTML = `<i style="border-color: var(--c${k % 8})"></i><b></b><span></span>`;
    item.querySelector("b").textContent = one.name;
    item.querySelector("b").style.fontWeight = "500";
    if (one.dashed) item.querySelector("i").className = "dashed";
    box.querySelector(".legend").appendChild(item);
    return item.querySelector("span");
  });
  const picture = svg("svg", { height: HEIGHT, role: "img", "aria-label": `${chart.title}, ${chart.unit} over time` }, box);
  parent.appendChild(box);
  const times = data.t, [low, high] = extent(chart.series);
  let cursor = null, x = null, now = times[0];

  function draw() {
    const width = Math.max(220, picture.clientWidth), inner = width - LEFT - RIGHT, tall = HEIGHT - TOP - BOTTOM;
    const first = times[0], span = times[times.length - 1] - first || 1;
    x = { to: (t) => LEFT + (inner * (t - first)) / span, from: (p) => first + ((p - LEFT) / inner) * span };
    const y = (v) => TOP + tall * (1 - (v - low) / (high - low));
    picture.replaceChildren();
    for (const [value, label] of ticks(low, high, 5)) {
      svg("line", { class: Math.abs(value) < 1e-12 ? "zero" : "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }, picture);
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, picture).textContent = label;
    }
    for (const [value, label] of ticks(first, first + span, Math.max(3, inner / 90)))
      svg("text", { x: x.to(value), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, picture).textContent = label;
    svg("text", { x: LEFT + inner / 2, y: HEIGHT - 2, "text-anchor": "middle" }, picture).textContent = "time / s";
    svg("text", { x: 11, y: TOP + tall / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${TOP + tall / 2})` }, picture).textContent = chart.unit;
    chart.series.forEach((one, k) => {
      let path = "", pen = "M";
      one.y.forEach((v, i) => {
        if (v === null) { pen = "M"; return; }
        if (one.held && pen === "L") path += `H${x.to(times[i]).toFixed(1)}`;
        path += `${pen}${x.to(times[i]).toFixed(1)} ${y(v).toFixed(1)}`;
        pen = "L";
      });
      svg("path", { d: path, style: `stroke: var(--c${k % 8})`, class: one.dashed ? "dashed" : "" }, picture);
    });
    cursor = svg("line", { class: "cursor", y1: TOP, y2: TOP + tall }, picture);
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
      values[k].textContent = u === null || v === null ? "–" : number(u + s * (v - u));
    });
  }
  const seek = (event) => clock.seek(x.from(event.clientX - picture.getBoundingClientRect().left));
  picture.addEventListener("pointerdown", (event) => { picture.setPointerCapture(event.pointerId); seek(event); });
  picture.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  new ResizeObserver(draw).observe(picture);
  draw();
  clock.listen(point);
}

function drawCharts() {
  const place = document.getElementById("charts");
  place.replaceChildren();
  data.charts.forEach((chart) => plot(chart, place));
}
