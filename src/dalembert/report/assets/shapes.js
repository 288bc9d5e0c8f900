// The robot as its file shows it: boxes, round shapes and meshes, in the colours of their materials.
"use strict";
const visuals = data.visuals || null; // of the page; motions that come later on the stage share them
const CREASE = Math.cos((35 * Math.PI) / 180); // faces that meet at a larger angle have an edge between them

function bytes(text) {
  const binary = atob(text), array = new Uint8Array(binary.length);
  for (let k = 0; k < binary.length; k++) array[k] = binary.charCodeAt(k);
  return array.buffer;
}

// Points and indices of a mesh: 16 bits across its box.
function unpack(mesh) {
  const steps = new Uint16Array(bytes(mesh.points)), packed = bytes(mesh.triangles);
  const points = new Float32Array(steps.length);
  for (let k = 0; k < steps.length; k++) points[k] = mesh.low[k % 3] + (mesh.span[k % 3] * steps[k]) / 65535;
  return { points, index: mesh.wide ? new Uint32Array(packed) : new Uint16Array(packed) };
}

// Area-weighted normals of triangles; at a corner those of its neighbours count that lie nearly in one plane with it.
function meshGeometry({ points, index }) {
  const count = index.length / 3, normals = new Float32Array(3 * count), units = new Float32Array(3 * count);
  for (let f = 0; f < count; f++) {
    const a = 3 * index[3 * f], b = 3 * index[3 * f + 1], c = 3 * index[3 * f + 2];
    const ux = points[b] - points[a], uy = points[b + 1] - points[a + 1], uz = points[b + 2] - points[a + 2];
    const vx = points[c] - points[a], vy = points[c + 1] - points[a + 1], vz = points[c + 2] - points[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx, size = Math.sqrt(x * x + y * y + z * z) || 1;
    normals[3 * f] = x; normals[3 * f + 1] = y; normals[3 * f + 2] = z;
    units[3 * f] = x / size; units[3 * f + 1] = y / size; units[3 * f + 2] = z / size;
  }
  const start = new Uint32Array(points.length / 3 + 1), faces = new Uint32Array(index.length);
  for (const p of index) start[p + 1]++;
  for (let p = 0; p + 1 < start.length; p++) start[p + 1] += start[p];
  const next = start.slice();
  for (let k = 0; k < index.length; k++) faces[next[index[k]]++] = Math.floor(k / 3);
  const positions = new Float32Array(3 * index.length), shade = new Float32Array(3 * index.length);
  for (let k = 0; k < index.length; k++) {
    const p = index[k], f = 3 * Math.floor(k / 3);
    let x = 0, y = 0, z = 0;
    for (let i = start[p]; i < start[p + 1]; i++) {
      const g = 3 * faces[i];
      if (units[f] * units[g] + units[f + 1] * units[g + 1] + units[f + 2] * units[g + 2] < CREASE) continue;
      x += normals[g]; y += normals[g + 1]; z += normals[g + 2];
    }
    const size = Math.sqrt(x * x + y * y + z * z) || 1;
    for (let j = 0; j < 3; j++) positions[3 * k + j] = points[3 * p + j];
    shade[3 * k] = x / size; shade[3 * k + 1] = y / size; shade[3 * k + 2] = z / size;
  }
  const geometry = new THREE.BufferGeometry(), Attribute = new THREE.SphereGeometry(1, 3, 2).getAttribute("position").constructor;
  geometry.setAttribute("position", new Attribute(positions, 3));
  geometry.setAttribute("normal", new Attribute(shade, 3));
  return geometry;
}

function boxGeometry([x, y, z]) {
  const points = [], index = [];
  for (let k = 0; k < 8; k++) points.push((((k >> 2) & 1) - 0.5) * x, (((k >> 1) & 1) - 0.5) * y, ((k & 1) - 0.5) * z);
  for (const [a, b, c, d] of [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]) index.push(a, b, c, a, c, d);
  return meshGeometry({ points, index });
}

// Geometry of a shape that is no mesh; round ones stand along y here and along z in files.
function plainGeometry({ kind, size }) {
  if (kind === "box") return boxGeometry(size);
  if (kind === "cylinder") return new THREE.CylinderGeometry(size[0], size[0], size[1], 40).rotateX(Math.PI / 2);
  if (kind === "capsule") return new THREE.CapsuleGeometry(size[0], size[1], 10, 32).rotateX(Math.PI / 2);
  const ball = new THREE.SphereGeometry(1, 40, 26);
  return kind === "sphere" ? ball.scale(size[0], size[0], size[0]) : ball.scale(...size);
}

// Put the shapes on their bodies; `fade` makes all of them see-through, `paint` gives those without a colour the page's.
function drawVisuals(owner) {
  const meshes = [], materials = new Map();
  function material(colour) {
    const key = JSON.stringify(colour);
    if (!materials.has(key)) {
      const surface = new THREE.MeshStandardMaterial({ roughness: 0.6, metalness: 0.05, side: 2 });
      if (colour) surface.color.setRGB(...colour.slice(0, 3).map((c) => Math.max(c, 0.04)), "srgb");
      materials.set(key, { surface, colour, opacity: colour ? colour[3] : 1 });
    }
    return materials.get(key).surface;
  }
  for (const shape of visuals.shapes) {
    if (shape.mesh !== undefined) meshes[shape.mesh] ??= meshGeometry(unpack(visuals.meshes[shape.mesh]));
    const solid = new THREE.Mesh(shape.mesh === undefined ? plainGeometry(shape) : meshes[shape.mesh], material(shape.colour));
    solid.position.set(...shape.pose.slice(0, 3));
    solid.quaternion.set(...shape.pose.slice(3));
    solid.castShadow = solid.receiveShadow = true;
    owner(shape.body).add(solid);
  }
  return {
    fade(share) {
      for (const { surface, opacity } of materials.values()) {
        surface.opacity = share * opacity;
        surface.transparent = surface.opacity < 1;
        surface.depthWrite = share === 1;
        surface.needsUpdate = true;
      }
    },
    paint(plain) { for (const { surface, colour } of materials.values()) if (!colour) surface.color = plain; },
  };
}
