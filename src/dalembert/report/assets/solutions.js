// Every posture that puts the tool where it is: a button and a ghost for each, by the library's own algebra.
"use strict";
const EXACT = 1e-5; // residual of a candidate, rad and parts of the arm's size: it is a posture
const EQUAL = 1e-5; // rad or m: postures nearer than that are one
const FAINT = 0.2, STRONG = 0.6; // opacity of a ghost, and of the one that is pointed at

// An angle turned to the side of another, and then within the limits of its joint; NaN where it cannot be.
function turnedWithin(value, near, { kind, low, high }) {
  const turn = 2 * Math.PI;
  let x = value;
  if (kind === "angle") {
    x += turn * Math.round((near - x) / turn);
    if (high !== null && x > high) x -= turn * Math.ceil((x - high) / turn - 1e-12);
    if (low !== null && x < low) x += turn * Math.ceil((low - x) / turn - 1e-12);
  }
  const outside = (low !== null && x < low - 1e-9) || (high !== null && x > high + 1e-9);
  return outside ? NaN : x;
}

// The postures of the tool's present pose: {inside, outside}, those within the limits and the number of others.
function posturesOf(live) {
  const target = Float64Array.from(toolOf(live).pose()), { q, residual } = live.kernels.call("branches", { T: target });
  const n = live.q.length, inside = [];
  let outside = 0;
  for (let k = 0; k < residual.length; k++) {
    if (!(residual[k] < EXACT)) continue;
    const posture = Float64Array.from(q.subarray(k * n, k * n + n));
    for (const joint of live.joints) posture[joint.k] = turnedWithin(posture[joint.k], live.q[joint.k], joint);
    if (posture.some(Number.isNaN)) outside++;
    else if (!inside.some((one) => farthest(one, posture) < EQUAL)) inside.push(posture);
  }
  return { inside, outside };
}

const farthest = (a, b) => a.reduce((most, x, k) => Math.max(most, Math.abs(x - b[k])), 0);

// Ghosts of the postures: the one pointed at stands out.
class Ghosts {
  constructor() {
    this.all = [];
  }

  show(live, postures) {
    const saved = Float64Array.from(live.q);
    while (this.all.length < postures.length) this.all.push(new Ghost(["--c2"], FAINT));
    this.all.forEach((ghost, k) => {
      ghost.all.visible = k < postures.length && postures[k] !== null;
      if (!ghost.all.visible) return;
      live.q.set(postures[k]);
      ghost.pose(live.value("bodies"));
    });
    live.q.set(saved);
    view.render();
  }

  point(k) {
    this.all.forEach((ghost, j) => ghost.paints.forEach((paint) => { paint.opacity = j === k ? STRONG : FAINT; }));
    view.render();
  }

  // Which ghost is seen at a pixel, −1 where the robot itself, or nothing, is.
  under(event) {
    const distance = (groups) => bodyUnder(event, groups)?.distance ?? Infinity, own = distance(view.groups);
    const distances = this.all.map((ghost) => (ghost.all.visible ? distance(ghost.groups) : Infinity));
    const nearest = Math.min(...distances);
    return nearest < own ? distances.indexOf(nearest) : -1;
  }
}

function drawSolutions(live, parent) {
  if (!live.has("branches") || !live.has("poses") || !everyJoint(live)) return null;
  const box = element("div", null, parent, "solutions box"), head = element("div", null, box, "head");
  element("h3", "All solutions", head).title = "every posture that puts the tool where it is now";
  const count = element("span", "", head, "faint"), label = element("label", null, head), tick = element("input", null, label);
  count.setAttribute("role", "status");
  tick.type = "checkbox";
  label.append(" show in the picture");
  label.hidden = !view;
  const row = element("div", null, box, "row"), buttons = [], ghosts = view ? new Ghosts() : null;
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "postures of the tool's pose");
  let postures = [];
  const take = (k) => { if (postures[k]) live.pose(postures[k]); };
  const point = (k) => { if (ghosts && tick.checked) ghosts.point(k); };
  // buttons stay where they are as long as their number does, so that the focus does too
  function number(size) {
    while (buttons.length > size) buttons.pop().remove();
    while (buttons.length < size) {
      const k = buttons.length, button = pressed(String(k + 1), row, () => take(k));
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => point(k));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => point(-1));
      buttons.push(button);
    }
  }
  function update() {
    const { inside, outside } = posturesOf(live);
    postures = inside;
    number(inside.length);
    const own = inside.findIndex((one) => farthest(one, live.q) < EQUAL);
    buttons.forEach((button, k) => {
      button.setAttribute("aria-pressed", String(k === own));
      button.setAttribute("aria-label", `posture ${k + 1} of ${inside.length}`);
      button.title = live.joints.map((joint) => `${plainName(joint.name)} ${inside[k][joint.k].toFixed(2).replace("-", "−")}`).join(", ");
    });
    const text = `${inside.length} within the limits${outside ? `, ${outside} beyond` : ""}`;
    if (count.textContent !== text) count.textContent = text;
    if (ghosts) ghosts.show(live, tick.checked ? inside.map((one, k) => (k === own ? null : one)) : []);
  }
  tick.addEventListener("change", update);
  if (view) {
    let down = null; // where the pointer went down: a click that turns the picture is none
    view.canvas.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
    view.canvas.addEventListener("click", (event) => {
      if (!tick.checked || !live.isShown || !down || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > APART) return;
      const k = ghosts.under(event);
      if (k >= 0) take(k);
    });
  }
  // where another leaf is open the ghosts follow, too
  live.listen(() => { if (parent.hidden && tick.checked && live.isShown) update(); });
  return update;
}

panel("Posture", 5, drawSolutions);
