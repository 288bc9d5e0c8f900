// Parallel coordinates: an axis for every column, a line for every run; brushes select runs.
"use strict";
const study = data; // the stage below shows one motion of it at a time
const NEAR = 14, GAP = 96, TALL = 340, HEAD = 46, FOOT = 26, SIDE = 52;
const BANDS = 6; // colours from the least value to the largest

const runs = study.runs.map((run, k) => ({ run, k, failed: study.status[k] !== 0, chosen: true }));
const columns = study.columns.map((column, index) => {
  const fine = column.values.filter((v) => v !== null), distinct = new Set(fine).size;
  let low = Math.min(...fine), high = Math.max(...fine);
  if (!(low <= high)) [low, high] = [0, 1];
  if (low === high) { const slack = 0.5 * Math.abs(low) || 0.5; low -= slack; high += slack; }
  const middle = fine.toSorted((a, b) => a - b)[fine.length >> 1];
  const log = low > 0 && high > 1000 * low && middle < 0.1 * high, [from, to] = log ? [Math.log(low), Math.log(high)] : [low, high];
  return {
    ...column, index, low, high, brush: null,
    label: column.entry ? `${column.name} ${column.entry}` : column.name,
    spread: distinct < 13 && fine.length > distinct, // a few values: runs lie side by side there
    share: (v) => ((log ? Math.log(v) : v) - from) / (to - from),
    value: (share) => (log ? Math.exp(from + share * (to - from)) : from + share * (to - from)),
    marks: () => (log ? powers(low, high) : ticks(low, high, 5)),
  };
});
function powers(low, high) {
  const marks = [];
  for (let k = Math.ceil(Math.log10(low)); 10 ** k <= high * 1.001; k++)
    marks.push([10 ** k, Math.abs(k) < 4 ? String(Number((10 ** k).toPrecision(1))) : `1e${k}`.replace("-", "−")]);
  return marks.filter((_, k) => k % Math.ceil(marks.length / 6) === 0);
}
const selection = (() => {
  const listeners = [];
  function within(run) {
    return columns.every(({ values, brush }) => {
      const v = values[run.k];
      return !brush || (v !== null && v >= brush[0] && v <= brush[1]);
    });
  }
  return {
    listen(listener) { listeners.push(listener); },
    update() {
      for (const run of runs) run.chosen = within(run);
      listeners.forEach((listener) => listener());
    },
    clear() { for (const column of columns) column.brush = null; this.update(); },
    runs: () => runs.filter((run) => run.chosen),
  };
})();

const axes = (() => {
  const container = document.getElementById("axes"), menu = document.getElementById("colour");
  const canvas = document.createElement("canvas"), picture = svg("svg", { role: "img", "aria-label": "parallel coordinates of all runs" });
  container.append(canvas, picture);
  const pen = canvas.getContext("2d"), foot = HEAD + TALL;
  let width = 0, picked = null, colourBy = columns.find((c) => !c.varied) || columns[0];
  for (const column of columns) {
    const option = document.createElement("option");
    option.value = column.index;
    option.textContent = column.label;
    menu.appendChild(option);
  }
  menu.value = colourBy.index;

  const x = (index) => SIDE + ((width - 2 * SIDE) * index) / Math.max(1, columns.length - 1);
  const y = (column, v) => foot - TALL * column.share(v);
  const value = (column, p) => column.value((foot - p) / TALL);
  // where a run meets an axis; the golden ratio spreads neighbours of equal value apart
  const meet = (column, run) => y(column, column.values[run.k]) + (column.spread ? 12 * (((run.k * 0.618034 + column.index * 0.37) % 1) - 0.5) : 0);
  const hue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function trace(run) {
    let open = false;
    pen.beginPath();
    for (const column of columns) {
      if (column.values[run.k] === null) { open = false; continue; }
      if (open) pen.lineTo(x(column.index), meet(column, run)); else pen.moveTo(x(column.index), meet(column, run));
      open = true;
    }
    pen.stroke();
  }
  function band(run, colours) {
    const v = colourBy.values[run.k];
    if (run.failed || v === null) return colours[BANDS];
    return colours[Math.min(BANDS - 1, Math.floor(BANDS * colourBy.share(v)))];
  }
  let pending = false;
  function paint() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; strokes(); });
  }
  function strokes() {
    const colours = [...Array(BANDS).keys()].map((k) => hue(`--s${k}`)).concat(hue("--bad"));
    const ratio = devicePixelRatio || 1, thick = runs.length > 400 ? 0.8 : 1.3;
    canvas.width = width * ratio;
    canvas.height = (foot + FOOT) * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${foot + FOOT}px`;
    pen.scale(ratio, ratio);
    pen.lineJoin = "round";
    pen.lineWidth = thick;
    pen.strokeStyle = hue("--floor");
    pen.globalAlpha = 0.35;
    for (const run of runs) if (!run.chosen) trace(run);
    pen.globalAlpha = runs.length > 400 ? 0.28 : 0.85;
    for (const failed of [true, false])
      for (const run of runs) if (run.chosen && run.failed === failed) { pen.strokeStyle = band(run, colours); trace(run); }
    pen.globalAlpha = 1;
    if (picked) {
      pen.lineWidth = 6; pen.strokeStyle = hue("--box"); trace(picked);
      pen.lineWidth = 3; pen.strokeStyle = hue("--ink"); trace(picked);
    }
  }

  function axis(column) {
    const at = x(column.index), group = svg("g", { class: "axis", "data-column": column.label }, picture);
    const title = svg("text", { x: at, y: 14, "text-anchor": "middle", class: column.varied ? "varied" : "came" }, group);
    const unit = column.unit ? ` / ${column.unit}` : "";
    title.textContent = short(column.entry ? column.name : column.name + unit);
    svg("title", {}, title).textContent = column.label + unit;
    if (column.entry) svg("text", { x: at, y: 29, "text-anchor": "middle" }, group).textContent = short(column.entry + unit);
    svg("line", { x1: at, x2: at, y1: HEAD, y2: foot, class: "rule" }, group);
    for (const [v, label] of column.marks()) {
      svg("line", { x1: at - 4, x2: at, y1: y(column, v), y2: y(column, v), class: "rule" }, group);
      svg("text", { x: at - 7, y: y(column, v) + 4, "text-anchor": "end", class: "mark" }, group).textContent = label;
    }
    column.mark = svg("rect", { x: at - 8, width: 16, rx: 3, class: "brush" }, group);
    const handle = svg("rect", { x: at - NEAR, y: HEAD - 8, width: 2 * NEAR, height: TALL + 16, class: "handle" }, group);
    brushing(column, handle);
    outline(column);
  }
  function short(text) { return text.length > 15 ? `${text.slice(0, 14)}…` : text; }
  function outline(column) {
    const [low, high] = column.brush || [0, 0];
    column.mark.setAttribute("visibility", column.brush ? "visible" : "hidden");
    if (!column.brush) return;
    const top = y(column, high);
    column.mark.setAttribute("y", top);
    column.mark.setAttribute("height", Math.max(2, y(column, low) - top));
  }
  function brushing(column, handle) {
    let from = null;
    const where = (event) => Math.min(foot, Math.max(HEAD, event.clientY - picture.getBoundingClientRect().top));
    handle.addEventListener("pointerdown", (event) => { from = where(event); handle.setPointerCapture(event.pointerId); });
    handle.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = where(event);
      // half a step of the screen more, so that an end can be reached
      column.brush = Math.abs(to - from) < 4 ? null : [value(column, Math.max(from, to) + 0.5), value(column, Math.min(from, to) - 0.5)];
      selection.update();
    });
    for (const end of ["pointerup", "pointercancel"])
      handle.addEventListener(end, (event) => {
        if (from !== null && Math.abs(where(event) - from) < 4) { column.brush = null; selection.update(); }
        from = null;
      });
  }

  function draw() {
    width = Math.max(container.parentElement.clientWidth, 2 * SIDE + GAP * (columns.length - 1));
    picture.replaceChildren();
    picture.setAttribute("width", width);
    picture.setAttribute("height", foot + FOOT);
    columns.forEach(axis);
    paint();
  }
  // the nearest line to a place between two axes
  function nearest(px, py) {
    let closest = null, least = 12;
    for (const run of runs) {
      if (!run.chosen) continue;
      for (let i = 0; i + 1 < columns.length; i++) {
        const [a, b] = [columns[i], columns[i + 1]], [u, v] = [a.values[run.k], b.values[run.k]];
        if (px < x(i) || px > x(i + 1) || u === null || v === null) continue;
        const s = (px - x(i)) / (x(i + 1) - x(i)), away = Math.abs(meet(a, run) * (1 - s) + meet(b, run) * s - py);
        if (away < least) [closest, least] = [run, away];
      }
    }
    return closest;
  }
  picture.addEventListener("click", (event) => {
    if (event.target.classList.contains("handle")) return;
    const box = picture.getBoundingClientRect(), run = nearest(event.clientX - box.left, event.clientY - box.top);
    if (run) pick(run);
  });
  menu.addEventListener("change", () => { colourBy = columns[menu.value]; paint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  selection.listen(() => { columns.forEach(outline); paint(); });
  new ResizeObserver(draw).observe(container.parentElement);
  draw();
  return { show(run) { picked = run; paint(); } };
})();
