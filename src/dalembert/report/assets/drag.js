// The tool, moved by hand in the picture: steps of the library's inverse kinematics follow the pointer.
"use strict";
const STEPS = 60; // of inverse kinematics for each move of the pointer

// Where the tool is, in the world, and the posture that brings it elsewhere.
function toolOf(live) {
  const { said } = live.kernels.find("poses"), at = 16 * said.frames.indexOf("tool");
  const gain = live.kernels.find("reach").said.gain, target = new Float64Array(16);
  return {
    pose: () => live.value("poses").subarray(at, at + 16),
    reach(point) {
      target.set(this.pose());
      [3, 7, 11].forEach((k, j) => { target[k] = point[j]; });
      live.kernels.roll("reach", STEPS, gain, { target });
      live.pose(Float64Array.from(live.q));
    },
  };
}

function drawGrip(live, place) {
  if (!view || !live.has("reach") || !live.has("poses") || live.joints.length < live.q.length) return { there: false, show() {} };
  const grip = element("div", null, place, "grip"), tool = toolOf(live), at = new THREE.Vector3(), ray = new THREE.Vector3();
  grip.title = "drag the tool";
  grip.hidden = true;
  let held = null; // the plane through the tool, facing the reader, in which it is moved
  const here = () => { const T = tool.pose(); return at.set(T[3], T[7], T[11]); };
  view.after(() => {
    if (grip.hidden) return;
    const seen = here().project(view.camera), x = (0.5 + 0.5 * seen.x) * place.clientWidth, y = (0.5 - 0.5 * seen.y) * place.clientHeight;
    grip.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  });
  // the point of the plane under a pixel: o + s d with n·(o + s d − p) = 0
  function under(event) {
    const frame = view.canvas.getBoundingClientRect(), { camera } = view;
    ray.set(((event.clientX - frame.left) / frame.width) * 2 - 1, 1 - ((event.clientY - frame.top) / frame.height) * 2, 0.5);
    ray.unproject(camera).sub(camera.position).normalize();
    const along = ray.dot(held.normal);
    if (Math.abs(along) < 1e-6) return null;
    const s = held.point.clone().sub(camera.position).dot(held.normal) / along;
    return s > 0 ? camera.position.clone().addScaledVector(ray, s) : null;
  }
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const normal = new THREE.Vector3();
    view.camera.getWorldDirection(normal);
    held = { normal, point: here().clone(), aside: new THREE.Vector3() };
    const grasped = under(event);
    if (!grasped) { held = null; return; }
    held.aside.copy(held.point).sub(grasped); // the tool does not jump to the pointer
    grip.setPointerCapture(event.pointerId);
    grip.classList.add("held");
    view.keep();
    event.preventDefault();
  });
  grip.addEventListener("pointermove", (event) => {
    const point = held && under(event);
    if (point) tool.reach(point.add(held.aside).toArray());
  });
  const drop = () => { held = null; grip.classList.remove("held"); };
  grip.addEventListener("pointerup", drop);
  grip.addEventListener("pointercancel", drop);
  return { there: true, show(wanted) { grip.hidden = !wanted; view.render(); } };
}
