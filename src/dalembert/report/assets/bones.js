// A robot's skeleton: parts fixed to bodies, and rods between a sliding joint's zero and where it is.
"use strict";
class Bones {
  // `groups` are the bodies, −1 is the world; `paint(part)` is its material.
  constructor(scene, world, groups, paint) {
    const add = (parent, paint) => {
      const mesh = new THREE.Mesh(new THREE.BufferGeometry(), paint);
      mesh.castShadow = mesh.receiveShadow = true;
      parent.add(mesh);
      return mesh;
    };
    Object.assign(this, { groups, stretched: null });
    this.parts = scene.parts.map((part) => ({ part, mesh: add(part.body < 0 ? world : groups[part.body], paint(part)) }));
    this.rods = scene.sliders.map((slider) => {
      const mesh = add(world, paint({ kind: "link" }));
      mesh.geometry = new THREE.CylinderGeometry(slider.r, slider.r, 1, 28);
      return { slider, mesh, from: new THREE.Vector3().fromArray(slider.a) };
    });
    this.parts.forEach(({ part, mesh }) => Bones.lay(mesh, part, part.a, part.b));
  }

  // A part from a to b in its body's frame.
  static lay(mesh, part, a, b) {
    const from = new THREE.Vector3(...a), up = new THREE.Vector3(0, 1, 0), along = new THREE.Vector3(...b).sub(from), length = along.length();
    mesh.geometry.dispose();
    mesh.geometry = length < 1e-9 ? new THREE.SphereGeometry(part.r, 32, 20)
      : part.kind === "link" ? new THREE.CapsuleGeometry(part.r, length, 8, 28)
      : new THREE.CylinderGeometry(part.r, part.r, length, 36);
    mesh.position.copy(from).addScaledVector(along, 0.5);
    if (length > 1e-9) mesh.quaternion.setFromUnitVectors(up, along.normalize());
  }

  // Parts as long as parameters make them: `slopes` has the six numbers (a, b) of a part for each parameter that moves it.
  stretch(derivatives, change) {
    this.stretched = derivatives;
    for (const [index, moved] of Object.entries(derivatives)) {
      const k = Number(index), rod = this.rods[k - this.parts.length], one = rod ?? this.parts[k];
      const ends = rod ? [...rod.slider.a, 0, 0, 0] : [...one.part.a, ...one.part.b];
      for (const [j, derivative] of Object.entries(moved)) derivative.forEach((s, i) => { ends[i] += s * change[j]; });
      if (rod) rod.from.fromArray(ends);
      else Bones.lay(one.mesh, one.part, ends.slice(0, 3), ends.slice(3));
    }
  }

  // As long as they were.
  relax() {
    if (this.stretched) this.stretch(Object.fromEntries(Object.keys(this.stretched).map((k) => [k, {}])), []);
    this.stretched = null;
  }

  // Rods follow their bodies; `seen(body)` says whether one is drawn.
  settle(isVisible = () => true) {
    const a = new THREE.Vector3(), b = new THREE.Vector3(), up = new THREE.Vector3(0, 1, 0);
    this.groups.forEach((body) => body.updateMatrixWorld());
    for (const { mesh, slider, from } of this.rods) {
      a.copy(from);
      if (slider.parent >= 0) this.groups[slider.parent].localToWorld(a);
      b.copy(this.groups[slider.child].position).sub(a);
      const length = b.length();
      mesh.visible = length > 1e-6 && isVisible(slider.child);
      mesh.position.copy(a).addScaledVector(b, 0.5);
      if (length > 1e-6) mesh.quaternion.setFromUnitVectors(up, b.divideScalar(length));
      mesh.scale.set(1, Math.max(length, 1e-6), 1);
    }
  }

  // Which parts are drawn, as `seen(body)` says.
  show(isVisible) {
    for (const { mesh, part } of this.parts) mesh.visible = isVisible(part.body);
    for (const { mesh, slider } of this.rods) mesh.visible = isVisible(slider.child);
  }
}

// Bodies go to poses (bodies, 4, 4), row after row.
function placeBodies(groups, poses) {
  const initial = groups[0].matrix.clone();
  groups.forEach((body, k) => {
    initial.fromArray(poses, 16 * k).transpose();
    body.position.setFromMatrixPosition(initial);
    body.quaternion.setFromRotationMatrix(initial);
  });
}
