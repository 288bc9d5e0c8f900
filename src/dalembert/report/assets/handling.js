// How the picture is handled: the page scrolls past it with wheel and finger until it is meant.
"use strict";
const TURN = Math.PI / 18;
let onPaper = () => {}; // what the picture does when printing begins (true) and when it has ended

function handling(place, canvas, controls, camera, up, signal) {
  // one finger up or down scrolls the page, sideways it turns; two turn and zoom
  canvas.style.touchAction = "pan-y";
  const hint = element("div", "Click the picture, or hold Ctrl, to zoom with the wheel", place, "hint");
  hint.hidden = true;
  let waiting = 0;
  canvas.addEventListener("pointerdown", () => place.focus({ preventScroll: true }), { signal });
  place.addEventListener("wheel", (event) => {
    if (event.ctrlKey || document.activeElement === place) return;
    event.stopPropagation(); // the page scrolls on
    hint.hidden = false;
    clearTimeout(waiting);
    waiting = setTimeout(() => { hint.hidden = true; }, 1200);
  }, { signal, capture: true, passive: true });

  function turn(axis, angle) {
    const q = new THREE.Quaternion().setFromAxisAngle(axis, angle);
    camera.position.sub(controls.target).applyQuaternion(q).add(controls.target);
    controls.update();
  }
  place.addEventListener("keydown", (event) => {
    const aside = new THREE.Vector3().crossVectors(up, camera.position.clone().sub(controls.target)).normalize();
    const turns = { ArrowLeft: [up, -TURN], ArrowRight: [up, TURN], ArrowUp: [aside, -TURN], ArrowDown: [aside, TURN] };
    const nearer = { "+": 0.85, "=": 0.85, "-": 1 / 0.85 }[event.key];
    if (event.target !== place) return;
    if (event.key === "Escape") place.blur();
    else if (event.shiftKey && turns[event.key]) turn(...turns[event.key]);
    else if (nearer) { camera.position.sub(controls.target).multiplyScalar(nearer).add(controls.target); controls.update(); }
    else return;
    event.preventDefault();
  }, { signal });
}

// Paper shows everything: what is folded opens, and closes again.
let folded = [];
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((one) => { one.open = true; });
  onPaper(true);
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  folded.forEach((one) => { one.open = false; });
  document.querySelectorAll("img.paper").forEach((one) => one.remove());
  onPaper(false);
});
