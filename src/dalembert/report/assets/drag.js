// The tool, moved by hand in the picture: steps of the library's inverse kinematics follow the pointer.
"use strict";
const STEPS = 60; // of inverse kinematics for each move of the pointer

// Where the tool is, in the world, and the posture that brings it elsewhere.
function toolOf(live) {
  const { about } = live.kernels.find("poses"), at = 16 * about.frames.indexOf("tool"), target = new Float64Array(16);
  return {
    pose: () => live.value("poses").subarray(at, at + 16),
    moveTo(point) {
      target.set(this.pose());
      [3, 7, 11].forEach((k, j) => { target[k] = point[j]; });
      live.kernels.roll("reach", STEPS, live.kernels.find("reach").about.gain, { target });
      live.pose(Float64Array.from(live.q));
    },
  };
}

// The point of a plane {point, normal} under a pixel: o + s d with n·(o + s d − p) = 0.
function pointUnder(event, plane) {
  const { origin, direction } = rayUnder(event), along = direction.dot(plane.normal);
  if (Math.abs(along) < 1e-6) return null;
  const s = plane.point.clone().sub(origin).dot(plane.normal) / along;
  return s > 0 ? origin.clone().addScaledVector(direction, s) : null;
}

// From the reader's eye through a pixel.
function rayUnder(event) {
  const frame = view.canvas.getBoundingClientRect(), origin = view.camera.position, direction = new THREE.Vector3();
  direction.set(((event.clientX - frame.left) / frame.width) * 2 - 1, 1 - ((event.clientY - frame.top) / frame.height) * 2, 0.5);
  return { origin, direction: direction.unproject(view.camera).sub(origin).normalize() };
}

// The plane through a point that faces the reader.
function planeThrough(point) {
  const normal = new THREE.Vector3();
  view.camera.getWorldDirection(normal);
  return { normal, point: point.clone() };
}

// Where a point of the world is in the picture, px.
function pixelOf(point, container, at) {
  at.copy(point).project(view.camera);
  return [(0.5 + 0.5 * at.x) * container.clientWidth, (0.5 - 0.5 * at.y) * container.clientHeight];
}

function drawGrip(live, container) {
  if (!view || !live.has("reach") || !live.has("poses") || live.joints.length < live.q.length) return { there: false, show() {} };
  const grip = element("div", null, container, "grip"), tool = toolOf(live), at = new THREE.Vector3(), projection = new THREE.Vector3();
  grip.title = "drag the tool";
  grip.hidden = true;
  let grasp = null; // the plane through the tool, facing the reader, in which it is moved
  const here = () => { const T = tool.pose(); return at.set(T[3], T[7], T[11]); };
  view.after(() => {
    if (grip.hidden) return;
    const [x, y] = pixelOf(here(), container, projection);
    grip.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  });
  grip.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const plane = planeThrough(here()), grasped = pointUnder(event, plane);
    if (!grasped) return;
    grasp = { ...plane, aside: plane.point.clone().sub(grasped) }; // the tool does not jump to the pointer
    grip.setPointerCapture(event.pointerId);
    grip.classList.add("held");
    view.keep();
    event.preventDefault();
  });
  grip.addEventListener("pointermove", (event) => {
    const point = grasp && pointUnder(event, grasp);
    if (point) tool.moveTo(point.add(grasp.aside).toArray());
  });
  const drop = () => { grasp = null; grip.classList.remove("held"); };
  grip.addEventListener("pointerup", drop);
  grip.addEventListener("pointercancel", drop);
  return { there: true, show(isVisible) { grip.hidden = !isVisible; view.render(); } };
}
