// What follows a selection: its size, the distributions, the table of runs, and the run that was picked.
"use strict";
const TABLE_ROWS = 40, BINS = 24;

function digits(v) {
  if (v === null) return "–";
  const text = Math.abs(v) >= 1e6 ? v.toExponential(3).replace(/\.?0*e\+/, "e") : String(Number(v.toPrecision(4)));
  return text.replaceAll("-", "−");
}

function histogram(column, parent) {
  const box = element("figure", null, parent, "chart box"), wide = 260, tall = 96, left = 8;
  element("h3", column.label + (column.unit ? ` / ${column.unit}` : ""), box);
  const note = element("p", "", box, "faint");
  const picture = svg("svg", { viewBox: `0 0 ${wide + 2 * left} ${tall + 20}`, role: "img", "aria-label": `distribution of ${column.label}` }, box);
  const bin = (v) => Math.min(BINS - 1, Math.floor(BINS * column.share(v)));
  const count = (several) => {
    const bins = new Array(BINS).fill(0);
    for (const run of several) { const v = column.values[run.k]; if (v !== null) bins[bin(v)]++; }
    return bins;
  };
  const every = count(runs), step = wide / BINS;
  const bars = [every, every].map((counts, layer) => counts.map((_, k) =>
    svg("rect", { x: left + k * step + 0.5, width: step - 1, class: layer ? "own" : "all" }, picture)));
  svg("line", { x1: left, x2: left + wide, y1: tall, y2: tall, class: "zero" }, picture);
  for (const [v, label] of column.marks())
    svg("text", { x: left + wide * column.share(v), y: tall + 15, "text-anchor": "middle" }, picture).textContent = label;
  // each layer by its own largest bar: shapes compare, however few runs are selected
  const fill = (layer, counts) => counts.forEach((n, k) => {
    const height = (n / Math.max(1, ...counts)) * (tall - 4);
    bars[layer][k].setAttribute("y", tall - height);
    bars[layer][k].setAttribute("height", height);
  });
  fill(0, every);
  function follow() {
    const several = selection.runs(), values = several.map((run) => column.values[run.k]).filter((v) => v !== null).sort((a, b) => a - b);
    fill(1, count(several));
    const at = (share) => values[Math.round(share * (values.length - 1))];
    note.textContent = values.length ? `${digits(values[0])} … median ${digits(at(0.5))} … ${digits(at(1))}` : "no value in the selection";
  }
  selection.listen(follow);
  follow();
}

function tableOfRuns(container) {
  const several = selection.runs(), moves = (run) => !!study.motions[run.run];
  const listed = [...several.filter(moves), ...several.filter((run) => !moves(run))].slice(0, TABLE_ROWS);
  container.replaceChildren();
  if (several.length > TABLE_ROWS) element("p", `${TABLE_ROWS} of ${several.length.toLocaleString("en")} selected runs, those with a motion first.`, container, "faint");
  if (!several.length) element("p", "No run is selected.", container, "faint");
  const box = element("div", null, container, "wide box"), list = element("table", null, box);
  const head = element("tr", null, element("thead", null, list));
  ["run", ...columns.map((column) => column.label)].forEach((text) => element("th", text, head, "n"));
  const body = element("tbody", null, list);
  for (const run of listed) {
    const row = element("tr", null, body, run.failed ? "failed" : "");
    const button = element("button", `${study.motions[run.run] ? "▶ " : ""}${run.run}`, element("td", null, row, "n"), "run");
    button.type = "button";
    button.dataset.run = run.run;
    columns.forEach((column) => element("td", digits(column.values[run.k]), row, "n"));
  }
  marked();
}

let current = null;
function marked() {
  for (const button of document.querySelectorAll("button.run"))
    button.closest("tr")?.classList.toggle("picked", current !== null && Number(button.dataset.run) === current.run);
}

// The run with a motion whose given values are nearest, as shares of their axes.
function nearby(run) {
  const inputs = columns.filter((column) => column.varied);
  const far = (other) => inputs.reduce((sum, c) => sum + (c.share(c.values[run.k]) - c.share(c.values[other.k])) ** 2, 0);
  return runs.filter((other) => study.motions[other.run]).reduce((best, other) => (best && far(best) <= far(other) ? best : other), null);
}

// Show a run: its line, its values, and its motion if the page has it.
function pick(run) {
  current = run;
  axes.show(run);
  marked();
  const motion = study.motions[run.run], reason = study.reasons[run.run];
  const inputs = columns.filter((c) => c.varied).map((c) => `${c.label} ${digits(c.values[run.k])}`).join(", ");
  const cause = reason ? ` Failed: ${reason}.` : "", none = motion ? "" : " This page has no motion of it. ";
  const message = document.getElementById("picked"), like = motion ? null : nearby(run);
  message.textContent = `Run ${run.run}: ${inputs}.${cause}${none}`;
  if (like) element("button", `See the most similar run that has one, ${like.run}.`, message, "run").dataset.run = like.run;
  document.getElementById("stage").hidden = !motion;
  if (motion) perform(motion);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.run");
  if (!button) return;
  const run = runs.find((one) => one.run === Number(button.dataset.run));
  if (run) pick(run);
  else document.getElementById("picked").textContent = `Run ${button.dataset.run} is not among those drawn.`;
  document.getElementById("motion").scrollIntoView({ block: "start" });
});
document.getElementById("all").addEventListener("click", () => selection.clear());

(() => {
  const container = document.getElementById("table"), chosen = document.getElementById("chosen");
  columns.filter((column) => !column.varied).forEach((column) => histogram(column, document.getElementById("histograms")));
  const follow = () => {
    const count = selection.runs().length;
    chosen.textContent = `${count.toLocaleString("en")} of ${runs.length.toLocaleString("en")} runs selected`;
    tableOfRuns(container);
  };
  selection.listen(follow);
  follow();
  const first = runs.find((run) => study.motions[run.run] && !run.failed) || runs.find((run) => study.motions[run.run]);
  if (first) pick(first);
  else {
    document.getElementById("stage").hidden = true;
    document.getElementById("picked").textContent = "Pick a run to see its values.";
  }
})();
