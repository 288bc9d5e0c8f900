// One time for everything: the slider, the arm and the cursors of the plots.
"use strict";
let data = JSON.parse(document.getElementById("data").textContent);
const clock = (() => {
  let listeners = [], start = 0, end = 0;
  const slider = document.getElementById("time"), output = document.getElementById("now");
  const button = document.getElementById("play");
  let now = 0, playing = false, turn = 0, isHeld = false;

  function show() {
    slider.value = now;
    output.textContent = `${now.toFixed(2)} s`;
    slider.setAttribute("aria-valuetext", output.textContent);
    listeners.forEach((listener) => listener(now));
  }
  function set(time) {
    now = Math.min(end, Math.max(start, time));
    show();
  }
  function play(running) {
    const mine = ++turn; // a motion that is begun ends the one before
    let last = null;
    playing = running;
    button.textContent = playing ? "Pause" : "Play";
    function tick(stamp) {
      if (mine !== turn) return;
      if (last !== null) set(now + (stamp - last) / 1000 > end ? start : now + (stamp - last) / 1000);
      last = stamp;
      requestAnimationFrame(tick);
    }
    if (playing) requestAnimationFrame(tick);
  }
  slider.addEventListener("input", () => { play(false); set(Number(slider.value)); });
  button.addEventListener("click", () => play(!playing));
  // from one sample to another, so many further
  function step(count) {
    const times = data.t, [a, b, s] = locate(times, now), i = s < 0.5 ? a : b;
    play(false);
    set(times[Math.min(times.length - 1, Math.max(0, i + count))]);
  }
  // Space plays, arrows step, Home and End are the ends; what has keys of its own keeps them
  const OWN = "select, textarea, a, summary, button, input:not([type=range]), [contenteditable]";
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const space = event.key === " " || event.key === "Spacebar", arrow = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.target.closest(OWN) || !end || isHeld) return;
    if (space) play(!playing);
    else if (arrow) step(arrow * (event.shiftKey ? 10 : 1));
    else if (event.key === "Home") { play(false); set(start); }
    else if (event.key === "End") { play(false); set(end); }
    else return;
    event.preventDefault();
  });
  return {
    now: () => now,
    load() {
      listeners = [];
      now = start = data.t[0];
      end = data.t[data.t.length - 1];
      slider.min = start;
      slider.max = end;
      slider.step = (end - start) / 1000 || "any";
    },
    listen(listener) { listeners.push(listener); listener(now); },
    seek(time) { play(false); set(time); },
    hold(isOn) { isHeld = isOn; play(false); if (!isHeld) show(); }, // something else moves the picture
    begin() {
      const match = /^#t=([\d.]+)$/.exec(location.hash);
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      if (match) set(Number(match[1]));
      else { show(); if (!calm && !isHeld) play(true); }
    },
  };
})();

// The sample at or before a time, and how far the time is on the way to the next one.
function locate(times, time) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  const span = times[high] - times[low];
  return [low, high, span > 0 ? Math.min(1, Math.max(0, (time - times[low]) / span)) : 0];
}

// A motion on the stage, in place of the one before: times, curves and postures.
function perform(motion) {
  data = motion;
  clock.load();
  drawCharts();
  drawArm();
  clock.begin();
}
