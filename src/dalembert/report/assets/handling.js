// How the picture is handled: the page scrolls past it with wheel and finger until it is meant.
"use strict";
const TURN = Math.PI / 18;
const EDGE = 0.86; // of the picture, that a live robot keeps within
const FARTHEST = 3; // times as far off as at first; it would be too small to see beyond
let onPaper = () => {}; // what the picture does when printing begins (true) and when it has ended

function handling(container, canvas, controls, camera, up, signal) {
  // one finger up or down scrolls the page, sideways it turns; two turn and zoom
  canvas.style.touchAction = "pan-y";
  const hint = element("div", "Click the picture, or hold Ctrl, to zoom with the wheel", container, "hint");
  hint.hidden = true;
  let pending = 0;
  canvas.addEventListener("pointerdown", () => container.focus({ preventScroll: true }), { signal });
  container.addEventListener("wheel", (event) => {
    if (event.ctrlKey || document.activeElement === container) return;
    event.stopPropagation(); // the page scrolls on
    hint.hidden = false;
    clearTimeout(pending);
    pending = setTimeout(() => { hint.hidden = true; }, 1200);
  }, { signal, capture: true, passive: true });

  function turn(axis, angle) {
    const q = new THREE.Quaternion().setFromAxisAngle(axis, angle);
    camera.position.sub(controls.target).applyQuaternion(q).add(controls.target);
    controls.update();
  }
  container.addEventListener("keydown", (event) => {
    const aside = new THREE.Vector3().crossVectors(up, camera.position.clone().sub(controls.target)).normalize();
    const turns = { ArrowLeft: [up, -TURN], ArrowRight: [up, TURN], ArrowUp: [aside, -TURN], ArrowDown: [aside, TURN] };
    const nearer = { "+": 0.85, "=": 0.85, "-": 1 / 0.85 }[event.key];
    if (event.target !== container) return;
    if (event.key === "Escape") container.blur();
    else if (event.shiftKey && turns[event.key]) turn(...turns[event.key]);
    else if (nearer) { camera.position.sub(controls.target).multiplyScalar(nearer).add(controls.target); controls.update(); }
    else return;
    event.preventDefault();
  }, { signal });
}

// The camera goes farther off, and toward the middle of what is seen, until bodies and the ends of their parts, [body, point],
// are inside; `away` is from where it looks to where it was at first.
function keepInside(camera, controls, bodies, ends, away) {
  const at = new THREE.Vector3(), far = at.clone(), right = at.clone(), above = at.clone(), tangent = Math.tan((Math.PI / 360) * camera.fov);
  camera.matrixWorld.extractBasis(right, above, far);
  for (let turn = 0, length = 0; turn < 100 && length < FARTHEST * away.length(); turn++) {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    const take = () => {
      const { x, y } = at.project(camera);
      [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
    };
    for (const body of bodies) { at.copy(body.position); take(); }
    for (const [body, end] of ends) { at.fromArray(end).applyQuaternion(body.quaternion).add(body.position); take(); }
    if (!(Math.max(-x0, x1, -y0, y1) > EDGE)) return;
    length = far.copy(camera.position).sub(controls.target).length();
    const aside = 0.05 * length * tangent;
    controls.target.addScaledVector(right, aside * camera.aspect * (x0 + x1)).addScaledVector(above, aside * (y0 + y1));
    camera.position.copy(controls.target).addScaledVector(far, 1.02);
    camera.updateMatrixWorld();
  }
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
