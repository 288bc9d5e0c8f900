// A page inside another page tells it where the robot is, and is moved by it, in messages {dalembert: {…}}.
"use strict";
const OFTEN = 1000 / 30; // ms from one message to the next, at least

// The state that a message asks for; an Error where it is not one of this robot.
function askedState(live, request) {
  const result = {}, sizes = { q: live.q.length, qd: live.qd.length };
  for (const name in sizes) {
    const values = request[name];
    if (values === undefined || values === null) continue;
    if (!Array.isArray(values) || values.length !== sizes[name] || !values.every(Number.isFinite))
      throw new Error(`${name} must be ${sizes[name]} finite numbers`);
    result[name] = Float64Array.from(values);
  }
  if (request.t !== undefined && request.t !== null) {
    if (!Number.isFinite(request.t)) throw new Error("t must be a finite number");
    result.t = request.t;
  }
  if (request.parameters) {
    const names = Object.keys(live.about.parameters), values = Float64Array.from(live.parameters);
    for (const [name, value] of Object.entries(request.parameters)) {
      const k = names.indexOf(name);
      if (k < 0) throw new Error(`there is no parameter '${name}'${names.length ? `; there are: ${names.join(", ")}` : ""}`);
      if (!Number.isFinite(value)) throw new Error(`parameter '${name}' must be a finite number`);
      values[k] = value;
    }
    result.parameters = values;
  }
  return result;
}

// Parameters first, then a posture: at rest unless velocities are given, where it is unless positions are.
function takeState(live, { q, qd, t, parameters }) {
  const settings = parameters ? Settings.of(live) : null, reason = settings ? settings.refusal(parameters) : null;
  const there = q || qd ? { q: q ?? live.q.slice(), qd: qd ?? (q ? null : live.qd.slice()), p: parameters ?? live.parameters.slice() } : null;
  const message = reason ?? (there && address.impossible(live, there));
  if (message !== null) throw new Error(message);
  if (settings) settings.put(parameters);
  if (q || qd || t !== undefined) live.pose(q ?? Float64Array.from(live.q), qd ?? (q ? null : Float64Array.from(live.qd)), t ?? 0);
}

// Whoever is the parent may hear the state and move the robot, nothing else: from inside, a page that may stand in a notebook, a file
// or any site cannot know its parent's name, and where a robot stands is no secret. Others than the parent are not heard.
function embed(live, control) {
  const outer = window.parent;
  if (outer === window) return;
  const send = (message) => outer.postMessage({ dalembert: message }, "*");
  let last = -Infinity, pending = 0, known = {}, turn = 0; // what the parent knows, and which of its messages came last
  function state() {
    const { q, qd, time, parameters, about } = live;
    const named = Object.fromEntries(Object.keys(about.parameters).map((name, k) => [name, parameters[k]]));
    return { q: Array.from(q), qd: Array.from(qd), t: time, running: control.running(), parameters: named };
  }
  // Only what the parent has not said itself: two pages that follow one another would go back and forth.
  function tell() {
    const now = state();
    pending = 0;
    if (JSON.stringify(now) === JSON.stringify(known)) return;
    last = performance.now();
    known = now;
    send({ ...now, turn });
  }
  live.listen((change) => {
    if (change !== "turned" && live.isShown && !pending) pending = setTimeout(tell, Math.max(0, last + OFTEN - performance.now()));
  });
  addEventListener("message", ({ source, data: content }) => {
    const request = content && content.dalembert;
    if (source !== outer || !request || typeof request !== "object") return;
    if (Number.isInteger(request.turn)) turn = request.turn;
    try {
      takeState(live, askedState(live, request));
      if (typeof request.running === "boolean") control.run(request.running);
      for (const name in known) known[name] = name === "parameters" ? { ...known[name], ...request[name] } : request[name] ?? known[name];
    } catch (error) {
      send({ error: error.message, ...(known = state()), turn }); // it stands as before, whatever was asked for
    }
  });
}
