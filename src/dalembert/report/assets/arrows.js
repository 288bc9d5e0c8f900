// Arrows in the picture, in the world: one head for a force, two for a moment.
"use strict";
class Arrow {
  constructor(colour, heads = 1) {
    this.group = new THREE.Group();
    const paint = view.material(colour), r = 0.35 * view.radius;
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(r, r, 1, 16), paint);
    this.heads = Array.from({ length: heads }, () => new THREE.Mesh(new THREE.CylinderGeometry(0, 2.4 * r, 6 * r, 20), paint));
    this.tall = 6 * r;
    this.group.add(this.shaft, ...this.heads);
    this.group.visible = false;
    view.aids.add(this.group);
    this.along = new THREE.Vector3();
    this.up = new THREE.Vector3(0, 1, 0);
  }

  // From a point, as long as its vector, both in the world, m; nothing is drawn where it is too short to be seen.
  set(from, vector) {
    const length = this.along.set(vector[0], vector[1], vector[2]).length();
    this.group.visible = Number.isFinite(length) && length > 0.5 * this.tall;
    if (!this.group.visible) return;
    const bare = Math.max(1e-9, length - this.heads.length * this.tall);
    this.shaft.scale.set(1, bare, 1);
    this.shaft.position.set(0, bare / 2, 0);
    this.heads.forEach((head, k) => head.position.set(0, length - (k + 0.5) * this.tall, 0));
    this.group.position.set(from[0], from[1], from[2]);
    this.group.quaternion.setFromUnitVectors(this.up, this.along.divideScalar(length));
  }

  hide() {
    this.group.visible = false;
  }
}
