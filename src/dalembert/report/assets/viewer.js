// The moving mechanism, drawn by three.js: parts are fixed to bodies, bodies follow the clock.
"use strict";
let clearArm = () => {};
// The picture that is shown. bodies(T, root) places the bodies and goes along with one, after(f) calls f with each frame,
// keep() holds the camera, beside(groups) takes another robot into the picture; aids (seen while the robot is live) and groups (one of each body) take what others draw,
// in materials of the page's colours.
let view = null;
function drawArm() {
  clearArm();
  clearArm = () => {};
  const container = document.getElementById("arm"), scene = data.scene;
  view = null;
  if (!container) return;
  container.replaceChildren();
  if (!scene) return;
  const gone = new AbortController(), { signal } = gone;
  const vector = (a) => new THREE.Vector3(a[0], a[1], a[2]);
  const colour = (name) => new THREE.Color(getComputedStyle(document.documentElement).getPropertyValue(name).trim());

  function supported() {
    try { return !!document.createElement("canvas").getContext("webgl2"); } catch { return false; }
  }
  if (!supported()) {
    element("div", "This browser draws no 3-D pictures (WebGL 2 is off). The plots still follow the slider.", container, "notice");
    return;
  }

  const renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true });
  renderer.setPixelRatio(Math.min(2, devicePixelRatio));
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFShadowMap;
  container.appendChild(renderer.domElement);
  const world = new THREE.Scene();

  // up is against gravity; flat mechanisms without gravity are seen from above
  const low = vector(scene.low), high = vector(scene.high), extent = high.clone().sub(low);
  const size = Math.max(extent.x, extent.y, extent.z);
  const gravity = vector(scene.gravity), flat = extent.z < 0.05 * size;
  const up = gravity.length() > 1e-9 ? gravity.clone().normalize().negate() : new THREE.Vector3(0, flat ? 1 : 0, flat ? 0 : 1);
  const centre = low.clone().add(high).multiplyScalar(0.5);

  const camera = new THREE.PerspectiveCamera(32, 1, 0.02 * size, 40 * size);
  camera.up.copy(up);
  const aside = flat && Math.abs(up.z) < 0.5 ? new THREE.Vector3(0.25, 0, 1) : new THREE.Vector3(0.62, -0.95, 0);
  aside.addScaledVector(up, -aside.dot(up));
  if (aside.length() < 1e-6) aside.set(1, 0, 0);
  const direction = aside.normalize().addScaledVector(up, 0.34).normalize();

  const floor = Math.min(...scene.floor.map((corner) => vector(corner).dot(up))) - scene.radius * (flat ? 2.5 : 0);
  const ground = new THREE.Group();
  ground.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  ground.position.copy(centre).addScaledVector(up, floor - centre.dot(up));
  world.add(ground);
  const home = ground.position.clone();
  const cell = 10 ** Math.round(Math.log10(size / 4));
  const grid = new THREE.GridHelper(cell * Math.ceil((2.6 * size) / cell), Math.ceil((2.6 * size) / cell));
  grid.material.transparent = true;
  grid.material.opacity = 0.55;
  ground.add(grid);
  const shade = new THREE.Mesh(new THREE.PlaneGeometry(6 * size, 6 * size), new THREE.ShadowMaterial({ opacity: 0.16 }));
  shade.rotation.x = -Math.PI / 2;
  shade.receiveShadow = true;
  ground.add(shade);

  world.add(new THREE.HemisphereLight(0xffffff, 0x8899aa, 1.6));
  const lamp = new THREE.DirectionalLight(0xffffff, 2.4);
  lamp.position.copy(centre).addScaledVector(direction, 1.2 * size).addScaledVector(up, 2.2 * size)
    .addScaledVector(new THREE.Vector3().crossVectors(up, direction), -1.1 * size);
  lamp.target.position.copy(centre);
  lamp.castShadow = true;
  lamp.shadow.mapSize.set(1024, 1024);
  Object.assign(lamp.shadow.camera, { left: -1.6 * size, right: 1.6 * size, top: 1.6 * size, bottom: -1.6 * size, near: 0.1 * size, far: 8 * size });
  lamp.shadow.radius = 4;
  lamp.shadow.bias = -0.0005;
  lamp.shadow.normalBias = 0.006 * size;
  world.add(lamp, lamp.target);

  const materials = {};
  for (const kind of ["link", "drum", "rail", "tip", "ball"])
    materials[kind] = new THREE.MeshStandardMaterial({ roughness: 0.55, metalness: 0.08 });
  const trail = new THREE.MeshStandardMaterial({ roughness: 0.8 });
  const rim = new THREE.MeshStandardMaterial({ roughness: 0.6 }), glasses = [];

  const bodies = scene.bodies.map(() => { const body = new THREE.Group(); world.add(body); return body; });
  const owner = (index) => (index < 0 ? world : bodies[index]);
  const dressed = visuals && drawVisuals(owner);
  const inertia = document.getElementById("inertia"), inside = document.getElementById("skeleton");
  const bare = (body) => !dressed || inside.checked || visuals.bare.includes(body); // its skeleton is seen
  const bones = new Bones(scene, world, bodies, (part) => materials[part.kind]);
  const corners = scene.tool_path.map(vector).filter((p, k, all) => k === 0 || p.distanceTo(all[k - 1]) > 1e-4 * size);
  const toolPath = new THREE.Group(), aids = new THREE.Group();
  world.add(toolPath, aids);
  if (corners.length > 2) {
    const tube = new THREE.TubeGeometry(new THREE.CatmullRomCurve3(corners), 2 * corners.length, 0.13 * scene.radius, 8);
    toolPath.add(new THREE.Mesh(tube, trail));
  }
  // three rims and a breath of glass, the thinner the larger: a light link with a large inertia must not hide the robot
  const ellipsoids = scene.ellipsoids.map((one) => {
    const group = new THREE.Group(), axes = one.axes.map((a) => Math.max(a, 1e-3 * size));
    const share = Math.min(1, Math.max(0.3, (0.2 * size) / Math.max(...axes)));
    const glass = new THREE.MeshStandardMaterial({ transparent: true, opacity: 0.2 * share, roughness: 0.4, depthWrite: false });
    glasses.push(glass);
    const ball = new THREE.Mesh(new THREE.SphereGeometry(1, 48, 32), glass);
    ball.scale.set(...axes);
    group.add(ball);
    for (const [i, j] of [[0, 1], [1, 2], [2, 0]]) {
      const points = Array.from({ length: 48 }, (_, k) => {
        const point = [0, 0, 0], angle = (2 * Math.PI * k) / 48;
        point[i] = axes[i] * Math.cos(angle);
        point[j] = axes[j] * Math.sin(angle);
        return vector(point);
      });
      group.add(new THREE.Mesh(new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points, true), 96, 0.1 * scene.radius * share, 6, true), rim));
    }
    group.position.copy(vector(one.centre));
    group.quaternion.set(...one.turn);
    group.visible = false;
    owner(one.body).add(group);
    return group;
  });

  const controls = new THREE.OrbitControls(camera, renderer.domElement);
  controls.target.copy(centre);
  handling(container, renderer.domElement, controls, camera, up, signal);
  const followers = [], tinted = [];
  let pending = false;
  function render() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; if (!signal.aborted) { renderer.render(world, camera); followers.forEach((one) => one()); } });
  }
  controls.addEventListener("change", render);

  // a robot that travels stays in view: camera, lamp and floor go along with it
  const origin = new THREE.Vector3(), onScreen = new THREE.Vector3(), across = new THREE.Vector3();
  let anchor = null; // where a live robot that is held by nothing was first seen
  function follow(root) {
    if (root >= 0 && scene.follow < 0) anchor ??= bodies[root].position.clone();
    const moved = root < 0 ? onScreen.clone().negate() : bodies[root].position.clone().sub(scene.follow < 0 ? anchor : origin).sub(onScreen);
    if (!moved.lengthSq()) return;
    onScreen.add(moved);
    for (const one of [camera.position, controls.target, lamp.position, lamp.target.position]) one.add(moved);
    // by whole cells, so that the grid stands still
    across.copy(onScreen).addScaledVector(up, -onScreen.dot(up)).applyQuaternion(ground.quaternion.clone().invert());
    across.set(cell * Math.round(across.x / cell), 0, cell * Math.round(across.z / cell)).applyQuaternion(ground.quaternion);
    ground.position.copy(home).add(across);
  }
  const from = new THREE.Quaternion(), to = new THREE.Quaternion(), a = new THREE.Vector3();
  function pose(time) {
    const [i, j, s] = locate(scene.t, time), p = scene.poses[i], n = scene.poses[j];
    bodies.forEach((body, k) => {
      const o = 7 * k;
      body.position.set(p[o], p[o + 1], p[o + 2]).lerp(a.set(n[o], n[o + 1], n[o + 2]), s);
      from.set(p[o + 3], p[o + 4], p[o + 5], p[o + 6]);
      to.set(n[o + 3], n[o + 4], n[o + 5], n[o + 6]);
      body.quaternion.copy(from.slerp(to, s)).normalize();
    });
    settle(true, scene.follow);
  }
  // poses (bodies, 4, 4), row after row, in place of the recorded ones
  function placed(poses, root) {
    placeBodies(bodies, poses);
    settle(false, root);
    widen();
  }
  // a live robot stays in the picture, unless the reader has chosen another view
  let chosen = false, others = []; // bodies of another robot that is to be in it too
  controls.addEventListener("start", () => { chosen = true; });
  const ends = scene.parts.filter((part) => part.body >= 0).flatMap((part) => [part.a, part.b].map((end) => [bodies[part.body], end]));
  const widen = () => { if (!chosen) keepInside(camera, controls, [...bodies, ...others], ends, away0); };
  function settle(recorded, root) {
    toolPath.visible = recorded;
    aids.visible = !recorded;
    if (recorded) bones.relax();
    bones.settle(bare);
    follow(root);
    render();
  }

  function paint() {
    for (const kind in materials) materials[kind].color = colour(`--${kind === "ball" ? "drum" : kind}`);
    trail.color = colour("--tip");
    for (const [one, name] of tinted) one.color = colour(name);
    if (dressed) dressed.paint(colour("--link"));
    for (const glass of [rim, ...glasses]) glass.color = colour("--c2");
    grid.material.color = colour("--floor");
    grid.material.vertexColors = false;
    grid.material.needsUpdate = true;
    render();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint, { signal });

  // the whole motion fits, whichever way the picture is narrow
  function fit() {
    const width = container.clientWidth, height = container.clientHeight;
    if (!width || !height || document.documentElement.classList.contains("printing")) return;
    renderer.setSize(width, height);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
    render();
  }
  const tangent = Math.tan((Math.PI / 360) * camera.fov), aspect = container.clientWidth / container.clientHeight || 1;
  const right = new THREE.Vector3().crossVectors(up, direction).normalize(), above = new THREE.Vector3().crossVectors(direction, right);
  // as near as all of the motion allows, and the middle of what is seen in the middle of the picture
  const outside = scene.outside.map((p) => vector(p).sub(centre)), margin = 1.5 * scene.radius, middle = new THREE.Vector3();
  let away = 0;
  for (let turn = 0; turn < 4; turn++) {
    const span = (along) => { const distances = outside.map((p) => p.clone().sub(middle).dot(along)); return [Math.min(...distances), Math.max(...distances)]; };
    for (const along of [right, above]) { const [least, most] = span(along); middle.addScaledVector(along, (least + most) / 2); }
  }
  for (const p of outside) {
    p.sub(middle);
    const wide = Math.max((Math.abs(p.dot(right)) + margin) / aspect, Math.abs(p.dot(above)) + margin);
    away = Math.max(away, p.dot(direction) + wide / tangent);
  }
  centre.add(middle);
  controls.target.copy(centre);
  camera.position.copy(centre).addScaledVector(direction, 1.06 * away);
  camera.lookAt(centre);
  const away0 = camera.position.clone().sub(centre);
  function restore() {
    chosen = false;
    camera.position.copy(controls.target.copy(centre).add(onScreen)).add(away0);
    controls.update();
    render();
  }
  const again = element("button", "Reset view", container, "again");
  again.type = "button";
  again.addEventListener("click", restore, { signal });
  renderer.domElement.addEventListener("dblclick", restore, { signal });
  const observer = new ResizeObserver(fit);
  observer.observe(container);
  // what is inside shows through the robot's own shapes
  function dress() {
    ellipsoids.forEach((one) => { one.visible = inertia.checked; });
    bones.show(bare);
    if (dressed) dressed.fade(inside.checked ? 0.22 : inertia.checked ? 0.4 : 1);
    render();
  }
  for (const box of [inertia, inside]) if (box) box.addEventListener("change", dress, { signal });
  dress();
  clearArm = () => {
    gone.abort();
    onPaper = () => {};
    observer.disconnect();
    controls.dispose();
    renderer.dispose();
    renderer.forceContextLoss(); // browsers allow only a few of them
  };
  // paper cannot show a canvas: it gets a picture of this instant, in the colours of the light page
  onPaper = (printing) => {
    paint();
    renderer.render(world, camera);
    if (!printing) return;
    const picture = element("img", null, container, "paper");
    picture.src = renderer.domElement.toDataURL("image/png");
    const time = typeof live === "object" && live && live.isShown ? live.time : clock.now();
    picture.alt = `The mechanism at ${time.toFixed(2)} s`;
  };
  // as it is now, so many pixels to one of the page, on a canvas of its own
  function picture(ratio) {
    const usual = renderer.getPixelRatio(), surface = document.createElement("canvas"), { domElement: drawn } = renderer;
    renderer.setPixelRatio(ratio);
    renderer.render(world, camera);
    Object.assign(surface, { width: drawn.width, height: drawn.height });
    surface.getContext("2d").drawImage(drawn, 0, 0);
    renderer.setPixelRatio(usual);
    render();
    return surface;
  }
  function material(name, more = {}) {
    const surface = new THREE.MeshStandardMaterial({ roughness: 0.55, color: colour(name), ...more });
    tinted.push([surface, name]);
    return surface;
  }
  view = {
    camera, canvas: renderer.domElement, world, aids, groups: bodies, bones, size, radius: scene.radius, material, bodies: placed, render, picture,
    after: (follower) => { followers.push(follower); }, keep: () => { chosen = true; },
    beside: (groups) => { others = groups; },
  };
  paint();
  fit();
  controls.update();
  clock.listen(pose);
}
