// Times modules of dalembert, and MuJoCo's own if it is there, in one run of Node: node wasm.mjs task.json
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const task = JSON.parse(readFileSync(process.argv[2], "utf8"));
const STATES = 1000;

const sizeOf = (port) => port.shape.reduce((a, b) => a * b, 1);

function ours(folder, robot, quantity) {
  const bytes = readFileSync(`${folder}/${robot}_${quantity}.wasm`);
  const module = new WebAssembly.Module(bytes);
  const section = WebAssembly.Module.customSections(module, "dalembert")[0];
  const said = JSON.parse(new TextDecoder().decode(section));
  const { memory, ...functions } = new WebAssembly.Instance(module).exports;
  const { inputs, outputs, batch } = said.functions[quantity];
  const ports = [...inputs, ...outputs];
  memory.grow(1 + Math.ceil((ports.reduce((n, p) => n + sizeOf(p), 0) * 8 * STATES) / 65536));
  const places = [];
  let heap = said.heap;
  for (const port of ports) {
    places.push(heap);
    heap += 8 * sizeOf(port) * STATES;
  }
  const view = (at, n) => new Float64Array(memory.buffer, at, n);
  const given = task.states[robot][quantity];
  inputs.forEach((port, i) => {
    view(port.at, sizeOf(port)).set(given[i]);
    for (let k = 0; k < STATES; k++) view(places[i] + 8 * k * sizeOf(port), sizeOf(port)).set(given[i]);
  });
  const [one, many] = [functions[quantity], functions[batch]];
  const at = ports.map((port) => port.at);
  // calls as a page writes them, with the arguments spelled out
  const call = new Function("f", `return () => f(${at.join(", ")})`)(one);
  const all = new Function("f", `return () => f(${[STATES, ...places].join(", ")})`)(many);
  const result = () => Array.from(view(outputs[0].at, sizeOf(outputs[0])));
  return { call, all, result };
}

async function peer(robot) {
  const load = (await import(pathToFileURL(task.mujoco).href)).default;
  const mujoco = await load();
  const model = mujoco.MjModel.from_xml_string(task.mjcf[robot]);
  const data = new mujoco.MjData(model);
  const tau = new mujoco.DoubleBuffer(model.nv);
  const set = (name, values) => data[name].set(values);
  return {
    inverse_dynamics: {
      start: ([q, qd, qdd]) => (set("qpos", q), set("qvel", qd), set("qacc", qdd)),
      call: () => mujoco.mj_inverse(model, data),
      result: () => Array.from(data.qfrc_inverse),
    },
    // what of mj_inverse the torques take
    "inverse_dynamics, its stages": {
      start: ([q, qd, qdd]) => (set("qpos", q), set("qvel", qd), set("qacc", qdd)),
      call: () => {
        mujoco.mj_kinematics(model, data);
        mujoco.mj_comPos(model, data);
        mujoco.mj_comVel(model, data);
        mujoco.mj_rne(model, data, 1, tau);
      },
      result: () => Array.from(tau.GetView()),
    },
    forward_dynamics: {
      start: ([q, qd, f]) => (set("qpos", q), set("qvel", qd), set("qfrc_applied", f)),
      call: () => mujoco.mj_forward(model, data),
      result: () => Array.from(data.qacc),
    },
  };
}

function slice(call) {
  // as many calls as take 2 ms
  let n = 1;
  for (;;) {
    const start = performance.now();
    for (let i = 0; i < n; i++) call();
    if (performance.now() - start > 2) return n;
    n *= 2;
  }
}

const rows = [];
for (const robot of Object.keys(task.states)) {
  const mujoco = task.mujoco ? await peer(robot) : {};
  for (const quantity of Object.keys(task.states[robot])) {
    const mine = ours(task.folder, robot, quantity);
    const candidates = { one: mine.call, batch: mine.all };
    const results = { one: mine.result };
    for (const name of Object.keys(mujoco).filter((key) => key.startsWith(quantity))) {
      mujoco[name].start(task.states[robot][quantity]);
      candidates[name] = mujoco[name].call;
      results[name] = mujoco[name].result;
    }
    const best = {};
    const counts = {};
    for (const [name, call] of Object.entries(candidates)) {
      for (let i = 0; i < 3000; i++) call(); // until the compiler has optimised it
      counts[name] = slice(call);
      best[name] = Infinity;
    }
    for (let round = 0; round < task.rounds; round++) {
      for (const [name, call] of Object.entries(candidates)) {
        const start = performance.now();
        for (let i = 0; i < counts[name]; i++) call();
        best[name] = Math.min(best[name], ((performance.now() - start) * 1e6) / counts[name]);
      }
    }
    best.batch /= STATES;
    const found = Object.fromEntries(Object.entries(results).map(([k, f]) => [k, f()]));
    rows.push({ robot, quantity, best, found });
  }
}
console.log(JSON.stringify({ node: process.version, rows }));
