// Limits of joints as stops: located within a step, met by Newton's law q̇₊ = −e q̇₋, and leant on.
"use strict";
const HALVINGS = 50; // of a step, where a limit is met
const TIRED = 20; // events within one step, after which a joint does not bounce any more
const OUTSIDE = 1e-9; // rad or m; whoever begins farther outside is not stopped there

class Stops {
  constructor(live) {
    const size = live.qd.length;
    this.live = live;
    this.restitution = 0.3;
    this.limited = live.joints.filter((one) => one.low !== null || one.high !== null);
    this.base = new Float64Array(size);
    this.fixed = new Float64Array(size);
    this.saved = { q: new Float64Array(live.q.length), qd: new Float64Array(size), work: 0 };
  }

  step(dt) {
    const { live, base } = this;
    base.set(live.acting);
    for (let left = dt, events = 0; left > 1e-15; events++) {
      this.pushFromStops();
      this.save();
      live.glide(left);
      if (!this.passes()) break;
      const h = this.locate(left);
      left -= h;
      const before = live.energy();
      this.strike(events > TIRED);
      live.struck += before - live.energy();
    }
    this.settle();
    live.acting.set(base);
  }

  // What a function finds with the forces of the stops among all that acts at this state.
  leant(act) {
    const { live, base } = this;
    base.set(live.acting);
    this.pushFromStops();
    try { return act(); } finally { live.acting.set(base); }
  }

  save() {
    const { live, saved } = this;
    saved.q.set(live.q);
    saved.qd.set(live.qd);
    saved.work = live.work;
  }

  back() {
    const { live, saved } = this;
    live.q.set(saved.q);
    live.qd.set(saved.qd);
    live.work = saved.work;
  }

  // Whether a joint that does not rest on a stop has gone through one since the state was saved.
  passes() {
    const { live, saved } = this;
    return this.limited.some((one) => {
      if (live.rests[one.v]) return false;
      const now = live.q[one.k], was = saved.q[one.k];
      return (one.high !== null && now > one.high && was <= one.high + OUTSIDE) || (one.low !== null && now < one.low && was >= one.low - OUTSIDE);
    });
  }

  // The first instant of the step behind a stop, to which it goes.
  locate(left) {
    let low = 0, high = left;
    for (let k = 0; k < HALVINGS && low < high; k++) {
      const middle = (low + high) / 2;
      this.back();
      this.live.glide(middle);
      if (this.passes()) high = middle; else low = middle;
    }
    this.back();
    this.live.glide(high);
    return high;
  }

  side(one) {
    const q = this.live.q[one.k];
    return one.high !== null && q >= one.high && q <= one.high + OUTSIDE ? 1 : one.low !== null && q <= one.low && q >= one.low - OUTSIDE ? -1 : 0;
  }

  put(one, side) {
    this.live.q[one.k] = side > 0 ? one.high : one.low;
  }

  // As the library's own events do: the joint that goes fastest into its stop bounces first, slow ones come to rest.
  strike(tired) {
    const { live, limited, fixed, restitution } = this, { qd, rests } = live;
    const met = limited.map((one) => [one, this.side(one)]).filter(([, side]) => side);
    met.forEach(([one, side]) => this.put(one, side));
    for (let turn = 0; turn < 20 * qd.length; turn++) {
      let worst = null, into = 0, at = 0;
      for (const [one, side] of met) if (side * qd[one.v] > into) { worst = one; into = side * qd[one.v]; at = side; }
      if (!worst) break;
      const slow = tired || restitution * into < live.data.rest;
      fixed.fill(0);
      fixed[worst.v] = 1;
      const { after } = live.kernels.call("stopped", { rates: qd, fixed });
      for (let j = 0; j < qd.length; j++) qd[j] += (slow ? 1 : 1 + restitution) * (after[j] - qd[j]);
      if (slow) qd[worst.v] = 0;
      rests[worst.v] = slow ? at : 0;
    }
    for (const [one, side] of met) if (rests[one.v] && side * qd[one.v] < 0) rests[one.v] = 0;
  }

  // Stops push joints that rest on them so that they stay; one that would have to pull lets go.
  pushFromStops() {
    const { live, base, fixed } = this, { acting, rests } = live;
    acting.set(base);
    for (const one of this.limited) if (rests[one.v] && !this.side(one)) rests[one.v] = 0;
    for (let turn = 0; turn <= base.length && rests.some(Boolean); turn++) {
      rests.forEach((side, v) => { fixed[v] = side ? 1 : 0; });
      const { impulse } = live.kernels.call("stopped", { rates: live.value("forward_dynamics"), fixed });
      let worst = -1, pull = 0;
      rests.forEach((side, v) => { if (side * impulse[v] > pull) { worst = v; pull = side * impulse[v]; } });
      if (worst < 0) { impulse.forEach((force, v) => { acting[v] += force; }); return; }
      rests[worst] = 0;
    }
  }

  // What drifted within the step goes back to its stop.
  settle() {
    const { live, fixed } = this, { rests } = live;
    if (!rests.some(Boolean)) return;
    const before = live.energy();
    rests.forEach((side, v) => { fixed[v] = side ? 1 : 0; });
    for (const one of this.limited) if (rests[one.v]) this.put(one, rests[one.v]);
    live.qd.set(live.kernels.call("stopped", { rates: live.qd, fixed }).after);
    live.struck += before - live.energy();
  }
}

function drawStops(live, parent) {
  if (!live.has("stopped") || !live.has("forward_dynamics")) return null;
  const stops = new Stops(live), { box, summary } = unfolding(parent, "Joint stops", "stops"), row = element("div", null, box, "row");
  live.stops = stops;
  const label = element("label", null, row), tick = element("input", null, label);
  label.append(" stops at the joints' limits");
  Object.assign(tick, { type: "checkbox", checked: true });
  tick.addEventListener("change", () => { live.rests.fill(0); live.stops = tick.checked ? stops : null; });
  const bounce = element("label", "restitution ", row), share = element("input", null, bounce);
  bounce.title = "a joint leaves its stop with this share of the speed it came with";
  Object.assign(share, { type: "number", min: 0, max: 1, step: 0.1, value: stops.restitution });
  share.addEventListener("input", () => { if (share.checkValidity() && share.value !== "") stops.restitution = share.valueAsNumber; });
  const message = element("span", "", summary, "faint");
  return () => {
    const resting = live.stops ? stops.limited.filter((one) => live.rests[one.v]).map((one) => plainName(one.name)) : [];
    message.textContent = resting.length ? `${resting.join(", ")} at rest there` : live.struck > 1e-9 ? `took ${number(live.struck)} J` : "";
  };
}

panel("Motion", 3, drawStops);
