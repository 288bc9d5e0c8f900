// What the viewer uses of three.js; README.md says how three.min.js is made of it.
export {
  AmbientLight, ArrowHelper, BufferGeometry, CapsuleGeometry, CircleGeometry, Color,
  CylinderGeometry, DirectionalLight, Float32BufferAttribute, Fog, GridHelper, Group,
  HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, PCFShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion, Scene,
  ShadowMaterial, SphereGeometry, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
