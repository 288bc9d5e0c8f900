// What a live robot has done since a hand posed it: every step, with all digits.
"use strict";
const LONGEST = 600; // s kept
const MOST_KEPT = 128e6; // bytes
const BLOCK = 1024; // steps that are allocated at once

class Recording {
  constructor(live) {
    this.live = live;
    this.fields = [["time", 1], ["q", live.q.length], ["qd", live.qd.length], ["tau", live.tau.length], ["acting", live.tau.length], ["work", 1], ["dissipated", 1]];
    this.width = this.fields.reduce((sum, [, size]) => sum + size, 0);
    this.most = Math.floor(Math.min(LONGEST / live.dt, MOST_KEPT / (8 * this.width))) + 1;
    live.each = () => this.keep();
    live.listen((change) => { if (change === "posed") this.begin(); });
    this.begin();
  }

  begin() {
    this.rows = 0;
    this.blocks = [];
    this.restitution = null; // of stops at limits, where there were any
    this.parameters = Float64Array.from(this.live.parameters);
    this.add();
  }

  get full() {
    return this.rows >= this.most;
  }

  // Torques of an instant are those that act from then on.
  keep() {
    const { live, parameters, width } = this, { tau } = live, before = this.rows - 1;
    if (this.full) return;
    for (let k = 0; k < parameters.length; k++) if (live.parameters[k] !== parameters[k]) return this.begin();
    const block = this.blocks[Math.floor(before / BLOCK)], at = (before % BLOCK) * width + width - 2 * tau.length - 2;
    block.set(tau, at);
    block.set(live.acting, at + tau.length);
    if (live.stops) this.restitution = live.stops.restitution;
    this.add();
  }

  add() {
    const { live, width } = this, k = this.rows % BLOCK, { q, qd, tau } = live;
    if (k === 0) this.blocks.push(new Float64Array(BLOCK * width));
    const block = this.blocks[this.blocks.length - 1];
    let at = k * width;
    block[at++] = live.time;
    block.set(q, at);
    block.set(qd, at += q.length);
    block.set(tau, at += qd.length);
    block.set(live.acting, at += tau.length);
    block[at += tau.length] = live.work;
    block[at + 1] = live.struck;
    this.rows += 1;
  }

  // {time, q, qd, tau, work, …}, row after row; `push` where something else than the drives acted, energies are the kernels'.
  columns() {
    const { live, rows, width } = this, fields = {};
    for (const [name, size] of this.fields) fields[name] = new Float64Array(rows * size);
    for (let k = 0; k < rows; k++) {
      const block = this.blocks[Math.floor(k / BLOCK)];
      let at = (k % BLOCK) * width;
      for (const [name, size] of this.fields) { fields[name].set(block.subarray(at, at + size), k * size); at += size; }
    }
    for (const name of ["work", "dissipated"]) fields[name] = fields[name].map((value, _, all) => value - all[0]);
    const q = Float64Array.from(live.q), qd = Float64Array.from(live.qd), n = q.length, m = qd.length, { t } = live, now = t && t[0];
    const energies = { kinetic: new Float64Array(rows), potential: new Float64Array(rows), ...(live.has("kinetic_energy_parts") ? { jacobi: new Float64Array(rows) } : {}) };
    for (let k = 0; k < rows; k++) {
      live.q.set(fields.q.subarray(k * n, (k + 1) * n));
      live.qd.set(fields.qd.subarray(k * m, (k + 1) * m));
      if (t) t[0] = fields.time[k];
      for (const name in energies) energies[name][k] = name === "jacobi" ? live.energy() : live.value(`${name}_energy`)[0];
    }
    live.q.set(q);
    live.qd.set(qd);
    if (t) t[0] = now;
    const { acting, ...rest } = fields, push = acting.map((all, k) => all - fields.tau[k]);
    return { ...rest, ...energies, ...(push.some((one) => one !== 0) ? { push } : {}) };
  }
}

// As a table, in the order of its head; numbers as they are.
function tableOf(recording) {
  const { live, rows } = recording, columns = recording.columns(), { table, pushed } = live.data.run;
  const names = ["time", "q", "qd", "tau", "kinetic", "potential", "work", ...(columns.push ? ["push"] : [])];
  const order = names.map((name) => [columns[name], columns[name].length / rows]), lines = [columns.push ? `${table},${pushed}` : table];
  for (let k = 0; k < rows; k++)
    lines.push(order.map(([values, size]) => values.subarray(k * size, (k + 1) * size).join(",")).join(","));
  return new Blob([lines.join("\n"), "\n"], { type: "text/csv" });
}

// As a run of the library: what the page was given of one, filled in.
function runOf(recording) {
  const { live, rows } = recording, { run, friction } = live.data, columns = recording.columns(), { kinetic, potential, jacobi, work, dissipated } = columns;
  const stored = jacobi ?? kinetic.map((one, k) => one + potential[k]);
  if (friction) delete columns.dissipated; // what friction takes is not measured: there is no balance to draw up
  else columns.balance = work.map((done, k) => done - dissipated[k] - (stored[k] - stored[0]));
  const attributes = { ...run.attrs, dt: live.dt, save_every: Int32Array.of(1), steps: Int32Array.of(rows - 1) };
  const names = Object.keys(live.about.parameters), defaults = Object.values(live.about.parameters);
  const values = Array.from(recording.parameters), changed = values.some((value, k) => value !== (defaults[k] ?? 0));
  if (changed) { // it is another system than the one whose model the page has
    delete attributes.model;
    delete attributes.model_content;
    Object.assign(attributes, run.changed);
  }
  if (changed || (names.length && !live.data.added))
    attributes.parameters = JSON.stringify(Object.fromEntries(names.map((name, k) => [name, values[k]])));
  if (recording.restitution !== null) attributes.restitution = recording.restitution;
  if (run.attrs.friction) attributes.smoothing = Array.from(live.state.width).join(", ");
  Object.assign(attributes, { status: "complete", message: recording.full ? "the page keeps no more than this" : "", source: "recorded in a page" });
  const sizes = { time: rows }, variables = [];
  for (const [name, entries] of Object.entries(run.coords)) {
    const { values, wide } = characterArray(entries);
    sizes[name] = entries.length;
    sizes[`string${wide}`] = wide;
    variables.push({ name, dims: [name, `string${wide}`], attrs: { _Encoding: "utf-8" }, values });
  }
  for (const [name, { dims, attrs }] of Object.entries(run.variables))
    if (columns[name]) variables.push({ name, dims, attrs, values: columns[name] });
  return netcdf(sizes, attributes, variables);
}
