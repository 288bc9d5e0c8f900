// The stage with its two modes, the recorded motion and the live robot, and how the latter moves by itself.
"use strict";
const SLEEP = 0.1; // s that a page catches up with at most, after it was away
const TICK = 0.01; // s of one step by hand
const EVERY = 4; // frames between two updates of numbers, which nobody reads faster
let live = null;

function pressed(text, parent, act, title) {
  const button = element("button", text, parent);
  button.type = "button";
  if (title) button.title = title;
  button.addEventListener("click", act);
  return button;
}

function choice(label, options, parent, act) {
  const select = element("select", null, parent);
  select.setAttribute("aria-label", label);
  for (const [text, value] of options) element("option", text, select).value = value;
  select.addEventListener("change", () => act(select.value));
  return select;
}

// Let go, pause, step, slow motion, reset.
function drawRun(bar, leaves) {
  const container = element("div", null, null, "run");
  bar.prepend(container);
  let running = false, speed = 1, last = null;
  const go = pressed("Let go", container, () => run(!running), "Space");
  pressed("Step", container, () => { run(false); advance(TICK); }, `${1000 * TICK} ms; right arrow`).classList.add("plain");
  pressed("Reset", container, () => live.pose(live.start.q, live.start.qd, live.start.time), "back to where it was let go").classList.add("plain");
  choice("speed", [["1×", 1], ["¼×", 0.25], ["1⁄20×", 0.05]], container, (value) => { speed = Number(value); });
  const drives = Array.from(live.laws, ([name, { label }]) => [label, name]);
  const driven = drives.length > 1 ? choice("torques", drives, container, (value) => live.choose(value)) : null;
  const time = element("output", "0.00 s", container);

  function show() { time.textContent = `${live.time.toFixed(2)} s`; }
  function advance(seconds) {
    live.advance(seconds);
    if (!live.q.every(Number.isFinite)) {
      run(false);
      live.pose(live.start.q, live.start.qd, live.start.time);
      time.textContent = "diverged";
      return;
    }
    live.tell("moved");
    show();
  }
  function run(target) {
    if (running === target) return;
    running = target;
    if (running && leaves.now() === LEAVES[0]) leaves.turn("Motion");
    last = null;
    go.textContent = running ? "Pause" : "Let go";
    if (running) requestAnimationFrame(frame);
    else live.tell("paused");
  }
  function frame(stamp) {
    if (!running) return;
    const began = performance.now();
    if (last !== null) advance(speed * Math.min(SLEEP, (stamp - last) / 1000));
    last = stamp;
    live.cost = performance.now() - began; // ms of script, without drawing the picture
    if (running) requestAnimationFrame(frame);
  }
  live.listen((change) => {
    if (change === "posed") { run(false); show(); }
    if (change === "driven" && driven) driven.value = live.drive;
  });
  live.run = run;
  return { container, run, toggle: () => run(!running), step: () => { run(false); advance(TICK); }, running: () => running };
}

// What the page says of the live robot, and when it is said again.
function drawLive(panel, bar) {
  const leaves = drawPanels(live, panel), grip = drawGrip(live, document.getElementById("arm")), control = drawRun(bar, leaves);
  const shared = drawShare(live, panel);
  embed(live, control);
  let frames = 0, pending = 0;
  live.listen((change) => {
    if (!live.isShown) return;
    if (view) view.bodies(live.value("bodies"), live.data.root);
    if (change !== "moved" || !control.running() || ++frames % EVERY === 0) { leaves.update(); shared(); }
    clearTimeout(pending); // browsers allow only so many changes of an address
    if (!control.running()) pending = setTimeout(() => { if (live.isShown) address.write(address.text(live)); }, 250);
  });
  leaves.turn(LEAVES[0]);
  return { control, grip };
}

function switchModes(panel, bar) {
  const stage = document.querySelector(".stage"), charts = document.getElementById("charts");
  const modes = element("div", null, null, "modes"), recorded = ["play", "time", "now"].map((id) => document.getElementById(id));
  const lead = document.querySelector("#motion > p"), leadText = data.alone ? lead.textContent : `${lead.textContent} Press Live to move it yourself.`.trim();
  modes.setAttribute("role", "group");
  modes.setAttribute("aria-label", "what moves the robot");
  stage.before(modes);
  lead.textContent = leadText;
  const plain = new Set(view ? view.world.children : []), { control, grip } = drawLive(panel, bar);
  // what the live robot adds to the picture is not there beside the recorded one
  function addedSeen(visible) {
    for (const one of view ? view.world.children : []) {
      if (plain.has(one)) continue;
      if (!visible) one.userData.seen = one.visible;
      one.visible = visible && (one.userData.seen ?? one.visible);
    }
  }
  const buttons = [pressed("Recorded motion", modes, () => choose(false)), pressed("Live", modes, () => choose(true))];
  function choose(isLive) {
    if (live.isShown !== isLive) addedSeen(isLive);
    live.isShown = isLive;
    control.run(false);
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(isLive === (k === 1))));
    recorded.forEach((one) => { one.hidden = isLive; });
    control.container.hidden = panel.hidden = !isLive;
    charts.hidden = isLive;
    lead.textContent = isLive ? `${invitation(grip.there)} ${live.data.left}`.trim() : leadText;
    clock.hold(isLive);
    grip.show(isLive);
    if (isLive) live.pose(live.start.q, live.start.qd, live.start.time);
    else if (location.hash.startsWith("#q=")) address.write(location.pathname + location.search);
  }
  if (data.states) {
    const from = pressed("From this instant", null, () => {
      const state = recordedState(clock.now());
      if (!state) return;
      live.begin(state.q, state.qd, state.time);
      choose(true);
    }, "live from the recorded instant that is shown");
    recorded[2].after(from);
    recorded.push(from);
    from.classList.add("from");
  }
  addEventListener("keydown", (event) => {
    if (!live.isShown || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (event.target.closest("select, textarea, a, summary, button:not([role=tab]), input:not([type=range]), [contenteditable]")) return;
    if (event.key === " ") control.toggle(); // also where a slider or a tab was used last: it is nothing to them
    else if (event.key === "ArrowRight" && !event.target.closest("input")) control.step();
    else return;
    event.preventDefault();
  });
  return choose;
}

// What a reader can do, in one line.
function invitation(grips) {
  const hands = ["Move a slider", ...(grips ? ["drag the tool"] : []), ...(view && live.push ? ["pull a link"] : [])], last = hands.pop();
  const light = data.scene && Math.hypot(...data.scene.gravity) < 1e-9;
  return `${hands.length ? `${hands.join(", ")} or ${last}` : last}. `
    + (light ? "There is no gravity here: pull a link to set it in motion. " : "Let go, and gravity moves it. ")
    + `Space starts and stops, → steps. ${live.stops ? "Joints stop at their limits; contacts do not act." : "Joint limits and contacts do not act."}`;
}

// The recorded state nearest to a time; null where it is not finite.
function recordedState(now) {
  const [i, j, share] = locate(data.t, now), k = share < 0.5 ? i : j, q = data.states.q[k], qd = data.states.qd[k];
  return [...q, ...qd].every(Number.isFinite) ? { q, qd, time: data.t[k] } : null;
}

async function goLive() {
  const stage = document.querySelector(".stage"), bar = document.querySelector(".view .controls");
  const message = element("p", "", null, "faint"), say = (text) => { message.textContent = text; stage.before(message); };
  if (typeof WebAssembly !== "object") {
    say("This browser does not compute here (WebAssembly is off): the recorded motion is all there is.");
    return;
  }
  try {
    live = new Live(await Kernels.fromBase64(data.live.module), data.live);
  } catch (error) {
    say(`The live robot could not begin: ${error.message}`);
    return;
  }
  const panel = element("div", null, null, "live");
  panel.id = "live";
  panel.hidden = true;
  document.getElementById("charts").after(panel);
  message.setAttribute("role", "status");
  const choose = switchModes(panel, bar);
  function follow(hash) {
    try {
      const request = address.read(live, hash);
      if (request) { message.remove(); address.take(live, request); choose(true); }
      return request !== null;
    } catch (error) {
      say(error.message);
      return false;
    }
  }
  const begun = follow(location.hash);
  if (!begun && data.alone) choose(true);
  else if (!begun) {
    live.isShown = false;
    document.querySelector(".modes button").setAttribute("aria-pressed", "true");
    document.querySelector(".modes button + button").setAttribute("aria-pressed", "false");
    document.querySelector(".controls .run").hidden = true;
  }
  // not location.hash: a state written meanwhile may have replaced the address that was entered
  addEventListener("hashchange", (event) => follow(new URL(event.newURL).hash));
  performance.mark("live"); // ready to be moved
}
