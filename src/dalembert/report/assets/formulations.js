// One state by every formulation: the numbers of the chosen one, and how far all are apart.
"use strict";
const OF = { inverse_dynamics: "inverse dynamics, τ", forward_dynamics: "forward dynamics, q̈", mass_matrix: "mass matrix, M" };

// ‖a − b‖ / max(‖a‖, ‖b‖, scale), by largest entries, as the table of all formulations has it.
function apart(a, b, scale) {
  let difference = 0, most = scale;
  for (let k = 0; k < a.length; k++) {
    const d = Math.abs(a[k] - b[k]);
    if (!(d <= difference)) difference = d; // NaN stays
    most = Math.max(most, Math.abs(a[k]), Math.abs(b[k]));
  }
  return difference / Math.max(most, Number.MIN_VALUE);
}

const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

function drawFormulations(live, parent) {
  if (!live.data.formulations || !live.data.forces) return null;
  const { entries, left_out: missing, tolerance } = live.data.formulations;
  const loads = loadsOf(live), { kernels } = live, box = element("div", null, parent, "forces box"), head = element("div", null, box, "head");
  element("h3", "Formulations", head);
  const listed = entries.filter((entry) => entry.quantity !== "mass_matrix");
  let chosen = listed[0];
  const label = element("label", "by ", head), select = element("select", null, label);
  select.setAttribute("aria-label", "formulation");
  for (const quantity of new Set(listed.map((entry) => entry.quantity))) {
    const group = element("optgroup", null, select);
    group.label = OF[quantity];
    for (const entry of listed.filter((one) => one.quantity === quantity)) {
      const option = element("option", entry.name, group);
      option.value = entry.kernel;
      option.title = `${entry.citation}: ${entry.summary}`;
    }
  }
  select.addEventListener("change", () => { chosen = listed.find((entry) => entry.kernel === select.value); update(); });
  const source = element("p", "", box, "faint source");
  const values = numberTable(box, "By the chosen formulation, at this state.", [["velocity"], ["value"], ["unit"]], live.about.velocities);
  const bytes = (entry) => kernels.find(entry.kernel).about.bytes;
  const table = numberTable(box, "Largest relative difference from the others, at this state; operations and bytes of code in this page.",
    [["formulation"], ["of"], ["apart"], ["×"], ["+"], ["bytes"]], entries.map((entry) => entry.name));
  entries.forEach((entry, k) => {
    const [of, , times, plus, code] = table[k];
    of.closest("tr").title = `${entry.citation}: ${entry.summary}`;
    of.textContent = entry.symbol;
    for (const [cell, count] of [[times, entry.pair[0]], [plus, entry.pair[1]], [code, bytes(entry)]]) {
      cell.value = String(count);
      cell.textContent = count.toLocaleString("en");
    }
  });
  if (missing.length) element("p", `Too large for a page, with their operations: ${missing.join(", ")}.`, box, "faint");
  const results = entries.map((entry) => new Float64Array(kernels.find(entry.kernel).about.outputs[0].shape.reduce((n, m) => n * m, 1)));
  // what cancels in a quantity: h in τ, and the acceleration without torques in q̈
  const scales = {
    inverse_dynamics: () => (live.has("bias") ? largest(live.value("bias")) : 0),
    forward_dynamics() {
      live.acting.fill(0);
      const magnitude = largest(kernels.call("forward_dynamics").qdd);
      live.acting.set(loads.tau);
      return magnitude;
    },
    mass_matrix: () => 0,
  };
  function update() {
    select.title = source.textContent = `${chosen.citation}: ${chosen.summary}.`;
    loads.at(() => {
      const scale = Object.fromEntries(Object.keys(scales).map((name) => [name, entries.some((entry) => entry.quantity === name) ? scales[name]() : 0]));
      entries.forEach((entry, k) => {
        const inputs = entry.quantity === "inverse_dynamics" ? { qdd: loads.qdd } : undefined;
        const outputs = kernels.call(entry.kernel, inputs);
        for (const name in outputs) { results[k].set(outputs[name]); break; } // λ comes second
      });
      entries.forEach((entry, k) => {
        const cell = table[k][1], others = entries.flatMap((other, j) => (j !== k && other.quantity === entry.quantity ? [apart(results[k], results[j], scale[entry.quantity])] : []));
        const far = others.reduce((a, b) => (a <= b || b !== b ? b : a), 0), good = far <= tolerance; // NaN stays
        cell.value = others.length ? String(far) : "";
        cell.textContent = others.length ? `${far === 0 ? "0" : Number.isFinite(far) ? far.toExponential(0).replace("-", "−") : "–"} ${good ? "✓" : "✗"}` : "only one";
        cell.className = !others.length ? "" : good ? "ok" : "no";
      });
      const reference = results[entries.indexOf(chosen)], most = largest(reference), units = live.about.units[chosen.quantity === "inverse_dynamics" ? "tau" : "qdd"];
      values.forEach(([cell, unit], k) => { show(cell, reference[k], Math.max(most, scale[chosen.quantity])); unit.textContent = units[k] === "1" ? "" : units[k]; });
    });
  }
  return update;
}

panel("Forces", 30, drawFormulations);
