// Pushes: a link pulled by the pointer as by a spring, or a force typed in; the library says what it does to the joints.
"use strict";
const SMOOTH = 0.05; // s: the damper of the spring, over its stiffness
const APART = 4; // px that a pointer moves before it pulls

class Push {
  constructor(live) {
    const { inputs, outputs } = live.kernels.find("push"), { bodies, middles, weight } = live.data.push;
    Object.assign(this, { live, inputs, outputs, bodies, middles, weight, acts: false, until: Infinity });
    this.usual = weight / (view ? view.size : 1); // N/m: the robot's weight over its size
    this.strength = 1;
    live.forces.push(this);
    live.listen((change) => { if (change === "posed") this.drop(); });
  }

  get stiffness() {
    return this.strength * this.usual;
  }

  grasp(body, at) {
    const { grasped, grasped_at, push_force, push_stiffness } = this.inputs;
    grasped.fill(0);
    grasped[body] = 1;
    grasped_at.set(at);
    push_force.fill(0);
    push_stiffness.fill(0);
  }

  // From the grasped point toward a point of the world.
  pull(pointer) {
    this.inputs.pointer.set(pointer);
    this.inputs.push_stiffness[0] = this.stiffness;
    this.inputs.push_damping[0] = SMOOTH * this.stiffness;
    this.until = Infinity;
    this.acts = true;
  }

  // A force along the world's axes on the middle of a body, N, for some seconds.
  give(body, force, seconds) {
    this.grasp(body, this.middles[body]);
    this.inputs.push_force.set(force);
    this.inputs.push_damping[0] = 0;
    this.until = this.live.count + Math.round(seconds / this.live.dt);
    this.acts = this.until > this.live.count;
  }

  // Torques of the joints, N m or N, at this state.
  value() {
    const { tau } = this.live.kernels.call("push");
    if (this.live.count + 1 >= this.until) this.acts = false; // this step is its last one
    return tau;
  }

  drop() {
    this.acts = false;
  }
}

// The nearest of some bodies under the pointer: its number, the point in the world and its distance; null where there is none.
function bodyUnder(event, groups) {
  const ray = rayUnder(event), hits = [], eye = { ray, near: 0, far: Infinity };
  function look(one, body) {
    if (!one.visible) return;
    const before = hits.length;
    if (one.isMesh) one.raycast(eye, hits);
    for (let k = before; k < hits.length; k++) hits[k].body = body;
    one.children.forEach((child) => look(child, body));
  }
  groups.forEach(look);
  return hits.length ? hits.reduce((near, one) => (one.distance < near.distance ? one : near)) : null;
}

// The body under the pointer and the point of it, in its own frame and in the world; null where there is none.
function linkUnder(event) {
  const hit = bodyUnder(event, view.groups);
  return hit && { body: hit.body, point: hit.point, at: view.groups[hit.body].worldToLocal(hit.point.clone()) };
}

// In the picture: an arrow with its newtons, and the pointer that pulls.
function drawPull(live, push, container) {
  if (!view) return;
  const arrow = new Arrow("--c1"), label = element("output", "", container, "force"), projected = new THREE.Vector3(), tip = new THREE.Vector3();
  label.hidden = true;
  label.setAttribute("aria-live", "off"); // it changes with every frame
  let plane = null, close = false;
  function show() {
    const { acts, outputs, inputs, weight } = push;
    label.hidden = !acts || !live.isShown;
    if (label.hidden) { arrow.hide(); view.render(); return; }
    live.kernels.call("push");
    const { force, point } = outputs, scale = (0.5 * view.size) / weight;
    const far = inputs.push_stiffness[0] ? inputs.pointer.map((x, k) => x - point[k]) : force.map((x) => scale * x);
    arrow.set(point, far);
    tip.set(point[0] + far[0], point[1] + far[1], point[2] + far[2]);
    label.value = `${Math.hypot(...force).toPrecision(3)} N`;
    view.render();
  }
  live.listen(show);
  view.after(() => {
    if (label.hidden) return;
    const [x, y] = pixelOf(tip, container, projected);
    label.style.transform = `translate(${Math.min(x + 10, container.clientWidth - 80).toFixed(1)}px, ${Math.max(4, y - 26).toFixed(1)}px)`;
  });
  // before the view is turned: whoever grasps a link does not turn it
  container.addEventListener("pointerdown", (event) => {
    if (!live.isShown || event.button !== 0 || event.target !== view.canvas) return;
    // a finger scrolls the page past the picture until it is meant
    if (event.pointerType === "touch" && document.activeElement !== container) return;
    const link = linkUnder(event);
    if (!link) return;
    event.stopPropagation();
    container.focus({ preventScroll: true });
    plane = { ...planeThrough(link.point), from: [event.clientX, event.clientY], pulls: false };
    push.drop();
    push.grasp(link.body, link.at.toArray());
    container.setPointerCapture(event.pointerId);
    container.classList.add("grasping");
    view.keep();
  }, { capture: true });
  container.addEventListener("touchstart", (event) => { if (plane) event.preventDefault(); }, { passive: false });
  container.addEventListener("pointermove", (event) => {
    if (!plane) { hover(event); return; }
    plane.pulls ||= Math.hypot(event.clientX - plane.from[0], event.clientY - plane.from[1]) > APART;
    const point = plane.pulls && pointUnder(event, plane);
    if (!point) return;
    push.pull(point.toArray());
    live.run(true);
    show();
  });
  const drop = () => {
    if (!plane) return;
    plane = null;
    container.classList.remove("grasping");
    push.drop();
    show();
  };
  container.addEventListener("pointerup", drop);
  container.addEventListener("pointercancel", drop);
  live.listen((change) => { if (change === "posed") drop(); });
  function hover(event) {
    if (close || event.buttons || !live.isShown || event.pointerType === "touch") return;
    close = true;
    requestAnimationFrame(() => { close = false; container.classList.toggle("graspable", event.target === view.canvas && live.isShown && !!linkUnder(event)); });
  }
}

// The same without a pointer: a body, a force and a time.
function drawPush(live, parent) {
  if (!live.has("push")) return null;
  const push = new Push(live), { box } = unfolding(parent, "Push", "push");
  live.push = push;
  if (view) drawPull(live, push, document.getElementById("arm"));
  const form = element("form", null, box, "row");
  const bodies = choice("body that is pushed", push.bodies.map((name, k) => [name, k]), form, () => {});
  bodies.value = push.bodies.length - 1;
  const field = (label, value, unit, least) => {
    const container = element("label", null, form), input = element("input", null, container);
    Object.assign(input, { type: "number", step: "any", value, required: true, inputMode: "decimal", ...(least === undefined ? {} : { min: least }) });
    input.setAttribute("aria-label", label);
    element("small", unit, container);
    return input;
  };
  const size = Number((0.2 * push.weight).toPrecision(1));
  const force = ["x", "y", "z"].map((axis, k) => field(`force along ${axis}, N`, k === 1 ? size : 0, `N ${axis}`));
  const seconds = field("for how long, s", 0.2, "s", 0);
  const go = element("button", "Push", form, "back");
  go.title = "at the centre of mass of the body, along the axes of the world; the motion begins if it stands";
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    push.give(Number(bodies.value), force.map((one) => one.valueAsNumber), seconds.valueAsNumber);
    live.run(true);
  });
  if (view) drawStrength(push, box);
  return () => {};
}

function drawStrength(push, box) {
  const row = element("label", null, box, "row strength"), slider = element("input", null, row), message = element("output", null, row);
  row.prepend("strength of the pull ");
  Object.assign(slider, { type: "range", min: -1, max: 1, step: 0.05, value: 0 });
  row.title = `a spring from the grasped point to the pointer, F = k (x − p) − ${SMOOTH} s · k ṗ`;
  const update = () => {
    push.strength = 10 ** slider.valueAsNumber;
    message.value = `${push.stiffness.toPrecision(3)} N/m`;
    slider.setAttribute("aria-valuetext", message.value);
  };
  slider.addEventListener("input", update);
  update();
}

panel("Motion", 2, drawPush);
