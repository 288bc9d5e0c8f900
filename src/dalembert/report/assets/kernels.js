// The programs of a system, as WebAssembly inside the page: see `System.wasm`.
"use strict";
class Kernels {
  // From a module in base64, as it is or compressed by gzip, as a page carries it.
  static async fromBase64(text) {
    let bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    if (bytes[0] === 0x1f && bytes[1] === 0x8b)
      bytes = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    const module = await WebAssembly.compile(bytes);
    return new Kernels(module, await WebAssembly.instantiate(module));
  }

  constructor(module, instance) {
    const [section] = WebAssembly.Module.customSections(module, "dalembert");
    if (!section) throw new Error("this WebAssembly module is none of dalembert's");
    this.about = JSON.parse(new TextDecoder().decode(section));
    if (this.about.format !== 1) throw new Error(`the module's format ${this.about.format} is not known here`);
    const { memory, ...exported } = instance.exports;
    const view = (port) => new Float64Array(memory.buffer, port.at, port.shape.reduce((n, m) => n * m, 1));
    const views = (ports) => Object.assign(Object.create(null), Object.fromEntries(ports.map((port) => [port.name, view(port)])));
    this.functions = new Map();
    for (const [name, about] of Object.entries(this.about.functions)) {
      const { state = [], inputs, outputs = [] } = about, ports = [...state, ...inputs, ...outputs];
      const addresses = [...(about.numbers ?? []).map(() => 0), ...ports.map((port) => port.at)];
      this.functions.set(name, { about, addresses, run: exported[name], inputs: views([...state, ...inputs]), outputs: views(outputs) });
    }
    this.reset();
  }

  // All inputs zero, the neutral posture, and parameters at their defaults.
  reset() {
    for (const { inputs } of this.functions.values()) {
      for (const [name, view] of Object.entries(inputs)) {
        view.fill(0);
        if (name === "q") view.set(this.about.neutral);
        if (name === "parameters") view.set(Object.values(this.about.parameters).map((value) => value ?? 0));
      }
    }
  }

  find(name) {
    const entry = this.functions.get(name);
    if (!entry) throw new Error(`there is no function '${name}'; there are: ${[...this.functions.keys()].join(", ")}`);
    return entry;
  }

  write(name, inputs, arrays) {
    for (const key in arrays) {
      const view = inputs[key], values = arrays[key];
      if (!view) throw new Error(`${name} has no input '${key}'; it has: ${Object.keys(inputs).join(", ")}`);
      if (values.length !== view.length) throw new Error(`${name}: '${key}' has ${view.length} numbers, not ${values.length}`);
      if (values !== view) view.set(values);
    }
  }

  // Outputs as arrays in the module's memory, the same ones every time; inputs not given stay as they are,
  // and those of one name are shared by all functions. Nothing is allocated.
  call(name, arrays) {
    const entry = this.find(name);
    this.write(name, entry.inputs, arrays);
    entry.run.apply(null, entry.addresses);
    return entry.outputs;
  }

  // The state (q, qd) after so many steps of dt, in the same place.
  roll(name, steps, dt, arrays) {
    const entry = this.find(name);
    this.write(name, entry.inputs, arrays);
    entry.addresses[0] = steps;
    entry.addresses[1] = dt;
    entry.run.apply(null, entry.addresses);
    return entry.inputs;
  }
}

// A system let go: whole steps as time goes by, under the torques in `state.tau`.
class Motion {
  constructor(kernels, dt = 1e-3) {
    this.kernels = kernels;
    this.rollout = kernels.find("rollout");
    this.state = this.rollout.inputs;
    this.dt = dt;
    this.closes = kernels.functions.has("close"); // constraints on positions
    this.isConstrained = kernels.functions.has("project_velocity"); // and on velocities
    this.origin = 0; // s, when it began
    this.smooth();
    this.count = this.left = 0;
  }

  // Over which velocities Coulomb friction rises; with parameters it follows from what they are now.
  smooth() {
    const { smoothing } = this.rollout.about, open = this.kernels.functions.has("rise");
    if (!smoothing) return;
    const rises = open ? this.kernels.call("rise").rise : smoothing.rise;
    rises.forEach((rise, j) => { this.state.width[j] = Math.max(smoothing.least, rise * this.dt); });
  }

  get time() {
    return this.origin + this.count * this.dt;
  }

  // Move on by some seconds; a page that was asleep does not catch up with more than `most` steps.
  advance(seconds, most = 1000) {
    this.left += seconds;
    const due = Math.floor(this.left / this.dt + 1e-9), steps = Math.min(due, most);
    this.left = steps < due ? 0 : this.left - steps * this.dt;
    this.step(steps);
  }

  // Constraints are left by the error of a step: two of Newton's bring it back to rounding.
  step(steps) {
    if (!this.isConstrained) this.kernels.roll("rollout", steps, this.dt);
    else for (let k = 0; k < steps; k++) { this.kernels.roll("rollout", 1, this.dt); this.back(2); }
    this.count += steps;
  }

  back(steps) {
    for (let k = 0; this.closes && k < steps; k++) this.state.q.set(this.kernels.call("close").q);
    if (this.isConstrained) this.state.qd.set(this.kernels.call("project_velocity").qd);
  }

  // Kinetic and potential energy where it is now, J; Jacobi's energy where coordinates move by themselves.
  energy() {
    if (this.kernels.functions.has("kinetic_energy_parts")) {
      const { T2, T0 } = this.kernels.call("kinetic_energy_parts");
      return T2[0] - T0[0] + this.kernels.call("potential_energy").U[0];
    }
    const kinetic = this.kernels.call("kinetic_energy").K[0];
    return kinetic + this.kernels.call("potential_energy").U[0];
  }
}
