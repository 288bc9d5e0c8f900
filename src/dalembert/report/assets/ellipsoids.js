// Ellipsoids at the tool: how fast it can be, and how heavy it feels.
"use strict";

// {values, axes} of a symmetric (3, 3) matrix, row after row: rising eigenvalues, and unit vectors. By Jacobi's rotations.
function symmetricAxes(matrix) {
  const A = Array.from(matrix), V = [1, 0, 0, 0, 1, 0, 0, 0, 1];
  for (let sweep = 0; sweep < 12; sweep++) {
    for (const [p, q] of [[0, 1], [0, 2], [1, 2]]) {
      if (A[3 * p + q] === 0) continue;
      const angle = 0.5 * Math.atan2(2 * A[3 * p + q], A[4 * q] - A[4 * p]), c = Math.cos(angle), s = Math.sin(angle);
      const turn = (M, i, j) => { const x = M[i], y = M[j]; M[i] = c * x - s * y; M[j] = s * x + c * y; };
      for (let k = 0; k < 3; k++) turn(A, 3 * k + p, 3 * k + q);
      for (let k = 0; k < 3; k++) turn(A, 3 * p + k, 3 * q + k);
      for (let k = 0; k < 3; k++) turn(V, 3 * k + p, 3 * k + q);
    }
  }
  const order = [0, 1, 2].sort((i, j) => A[4 * i] - A[4 * j]), rounding = 1e-14 * Math.max(...[0, 4, 8].map((k) => Math.abs(A[k])));
  return { values: order.map((k) => (Math.abs(A[4 * k]) < rounding ? 0 : A[4 * k])), axes: order.map((k) => [V[k], V[3 + k], V[6 + k]]) };
}

const ELLIPSOIDS = [
  {
    name: "velocity", colour: "--c2", unit: "m", title: "where the velocity of the tool ends if those of the joints have length one: J q̇ with q̇ᵀ q̇ = 1",
    text: "radii", number: (value) => Math.sqrt(Math.max(0, value)),
  },
  {
    name: "inertia", colour: "--c5", unit: "kg", title: "where the velocity of the tool ends with the kinetic energy ½ J: J q̇ with q̇ᵀ M q̇ = 1. It is long where the tool feels light",
    text: "felt masses", number: (value) => (value > 0 ? 1 / value : Infinity),
  },
];

// Glass around the tool with the axes inside.
class Ellipsoid {
  constructor(colour) {
    this.group = new THREE.Group();
    const glass = view.material(colour, { transparent: true, opacity: 0.3, depthWrite: false, roughness: 0.35 });
    this.ball = new THREE.Mesh(new THREE.SphereGeometry(1, 48, 32), glass);
    const r = 0.16 * view.radius, paint = view.material(colour);
    this.bars = [0, 1, 2].map(() => new THREE.Mesh(new THREE.CylinderGeometry(r, r, 1, 12), paint));
    this.group.add(this.ball, ...this.bars);
    this.frame = this.group.matrix.clone();
    view.aids.add(this.group);
  }

  // At a point, with radii along three axes that are square to each other.
  set(point, radii, axes) {
    const flat = 0.004 * view.size, up = new THREE.Vector3(0, 1, 0), [x, y] = axes.map((axis) => new THREE.Vector3(...axis));
    this.group.position.set(...point);
    this.frame.makeBasis(x, y, x.clone().cross(y));
    this.ball.quaternion.setFromRotationMatrix(this.frame);
    this.ball.scale.set(...radii.map((radius) => Math.max(radius, flat)));
    this.bars.forEach((bar, k) => {
      bar.scale.set(1, Math.max(2 * radii[k], 1e-6), 1);
      bar.quaternion.setFromUnitVectors(up, new THREE.Vector3(...axes[k]));
    });
  }
}

function drawEllipsoids(live, parent) {
  if (!live.has("ellipsoids") || !live.has("poses")) return null;
  const box = element("div", null, parent, "ellipsoids box"), tool = toolOf(live), shapes = [];
  element("h3", "Ellipsoids at the tool", box);
  const roots = (name) => symmetricAxes(live.kernels.call("ellipsoids")[name]).values.map((value) => Math.sqrt(Math.max(0, value)));
  for (const kind of ELLIPSOIDS) {
    const row = element("div", null, box, "ellipsoid"), label = element("label", null, row);
    label.title = kind.title;
    const tick = element("input", null, label), words = element("span", kind.text, row, "faint");
    tick.type = "checkbox";
    tick.disabled = !view;
    words.title = kind.title;
    element("span", kind.name, label).style.setProperty("--own", `var(${kind.colour})`);
    const numbers = [0, 1, 2].map(() => element("data", null, row));
    element("small", kind.unit, row);
    // as long as fits the first posture, and in this scale from then on
    const scale = view ? (0.17 * view.size) / Math.max(...roots(kind.name), 1e-9) : 0;
    const shape = { kind, tick, numbers, scale, drawn: null };
    tick.addEventListener("change", () => draw(shape));
    shapes.push(shape);
  }
  function draw(shape, principal = symmetricAxes(live.kernels.call("ellipsoids")[shape.kind.name])) {
    if (!view) return;
    if (shape.tick.checked) shape.drawn ??= new Ellipsoid(shape.kind.colour);
    if (!shape.drawn) return;
    shape.drawn.group.visible = shape.tick.checked;
    const T = tool.pose(), most = 1.5 * view.size;
    const radii = principal.values.map((value) => Math.min(most, shape.scale * Math.sqrt(Math.max(0, value))));
    if (shape.tick.checked) shape.drawn.set([T[3], T[7], T[11]], radii, principal.axes);
    view.render();
  }
  live.listen(() => { if (live.isShown) for (const shape of shapes) if (shape.tick.checked) draw(shape); });
  return () => {
    for (const { kind, numbers } of shapes) {
      const { values } = symmetricAxes(live.kernels.call("ellipsoids")[kind.name]);
      values.reverse().forEach((value, k) => { show(numbers[k], kind.number(value)); if (numbers[k].value === "Infinity") numbers[k].textContent = "∞"; });
    }
  };
}

panel("Posture", 20, drawEllipsoids);
