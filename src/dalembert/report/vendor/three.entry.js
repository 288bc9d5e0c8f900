// What the viewer uses of three.js; README.md says how three.min.js is made of it.
export {
  BufferGeometry, CapsuleGeometry, CatmullRomCurve3, Color, CylinderGeometry, DirectionalLight,
  GridHelper, Group, HemisphereLight, Mesh, MeshStandardMaterial, PCFShadowMap, PerspectiveCamera,
  PlaneGeometry, Quaternion, Scene, ShadowMaterial, SphereGeometry, TubeGeometry, Vector3,
  WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
