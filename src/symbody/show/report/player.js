// Plays the motion of a report in MeshCat's viewer: poses in, a control bar, nothing from the network.
"use strict";
(function () {
  const figure = document.getElementById("animation");
  if (!figure) return;
  const part = (name) => figure.querySelector("." + name);
  const data = JSON.parse(document.getElementById("animation-data").textContent);
  const THREE = MeshCat.THREE;
  const pane = part("pane");

  let viewer;
  try {
    viewer = new MeshCat.Viewer(pane);
  } catch (error) {
    part("stage").hidden = true;
    part("bar").hidden = true;
    part("failure").hidden = false;
    part("failure").textContent = "This browser cannot draw in three dimensions (WebGL): " + error.message;
    return;
  }
  viewer.gui.domElement.style.display = "none"; // the control bar below takes its place
  viewer.set_3d_pane_size = function () {
    const w = pane.clientWidth, h = pane.clientHeight;
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.renderer.setSize(w, h);
    this.set_dirty();
  };

  // -- the scene. MeshCat's own axes are z up, seen by a camera whose y is up: (x, y, z) appears at (x, z, -y).

  const low = new THREE.Vector3(...data.low), high = new THREE.Vector3(...data.high);
  const centre = low.clone().add(high).multiplyScalar(0.5);
  const reach = data.follow ? data.extent : Math.max(high.distanceTo(low) / 2, data.extent / 2);
  const groundHeight = data.ground ? low.z - 0.03 * data.extent : low.z - 0.3 * data.extent;

  function put(path, object) {
    viewer.set_object(path, object);
    return object;
  }

  const dark = window.matchMedia("screen and (prefers-color-scheme: dark)");
  let accompany = () => {};

  function setStage() {
    viewer.set_property(["Background"], "top_color", dark.matches ? [0.08, 0.1, 0.12] : [1, 1, 1]);
    viewer.set_property(["Background"], "bottom_color", dark.matches ? [0.17, 0.2, 0.23] : [0.9, 0.92, 0.94]);
    viewer.set_property(["Lights"], "visible", false);
    put(["report", "sky"], new THREE.HemisphereLight(0xffffff, 0xb8c0c8, 0.75));
    const sun = new THREE.DirectionalLight(0xffffff, 0.45);
    sun.position.set(centre.x + 1.2 * reach, centre.y - 1.5 * reach, centre.z + 3 * reach);
    sun.target.position.copy(centre);
    sun.castShadow = data.ground;
    sun.shadow.mapSize.set(2048, 2048);
    Object.assign(sun.shadow.camera, {
      left: -2 * reach, right: 2 * reach, top: 2 * reach, bottom: -2 * reach, near: 0.1 * reach, far: 8 * reach,
    });
    put(["report", "sun"], sun);
    put(["report", "target"], sun.target);
    const step = niceStep(reach / 3);
    // a model that travels takes its piece of ground and its light along (see `accompany`)
    const cells = 2 * Math.ceil((data.follow ? 5 : 2.5) * reach / step);
    const grid = raster(cells, step);
    grid.position.set(Math.round(centre.x / step) * step, Math.round(centre.y / step) * step, groundHeight);
    put(["Grid"], grid);
    const moving = [];
    if (data.ground) {
      const floor = new THREE.Mesh(new THREE.PlaneGeometry(cells * step, cells * step),
        new THREE.ShadowMaterial({ opacity: dark.matches ? 0.4 : 0.16 }));
      floor.position.set(centre.x, centre.y, groundHeight - 1e-3 * reach);
      floor.receiveShadow = true;
      put(["report", "floor"], floor);
      moving.push(floor);
    }
    accompany = (place) => {
      const at = (value) => Math.round(value / step) * step;
      grid.position.set(at(place.x), at(place.y), groundHeight);
      moving.forEach((floor) => floor.position.set(place.x, place.y, groundHeight - 1e-3 * reach));
      sun.position.set(place.x + 1.2 * reach, place.y - 1.5 * reach, centre.z + 3 * reach);
      sun.target.position.set(place.x, place.y, centre.z);
    };
    const axes = new THREE.AxesHelper(0.15 * data.extent);
    axes.quaternion.setFromRotationMatrix(upright);
    put(["Axes"], axes);
  }

  // Lines of one cell each: drawn by software, long lines that pass behind the eye vanish.
  function raster(cells, step) {
    const points = [], colours = [], half = cells / 2;
    const thin = new THREE.Color(dark.matches ? 0x3c4650 : 0xd3d9de), axis = new THREE.Color(dark.matches ? 0x66717c : 0x9aa4ae);
    for (let i = -half; i <= half; i++) {
      const colour = i === 0 && !data.follow ? axis : thin;
      for (let j = -half; j < half; j++) {
        points.push(i, j, 0, i, j + 1, 0, j, i, 0, j + 1, i, 0);
        for (let k = 0; k < 4; k++) colours.push(colour.r, colour.g, colour.b);
      }
    }
    const lines = new THREE.BufferGeometry();
    lines.setAttribute("position", new THREE.Float32BufferAttribute(points.map((x) => x * step), 3));
    lines.setAttribute("color", new THREE.Float32BufferAttribute(colours, 3));
    return new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ vertexColors: true, toneMapped: false }));
  }

  function niceStep(length) {
    const power = Math.pow(10, Math.floor(Math.log10(length)));
    return power * [5, 2, 1].find((k) => k * power <= length);
  }

  const u = data.upright;
  const upright = new THREE.Matrix4().set(u[0], u[1], u[2], 0, u[3], u[4], u[5], 0, u[6], u[7], u[8], 0, 0, 0, 0, 1);
  const turnUpright = new THREE.Quaternion().setFromRotationMatrix(upright);

  // -- bodies

  function geometry(shape) {
    const s = shape.size;
    switch (shape.kind) {
      case "box": return new THREE.BoxGeometry(s[0], s[1], s[2]);
      case "sphere": return new THREE.SphereGeometry(s[0], 32, 20);
      case "plate": {
        const plate = new THREE.BufferGeometry();
        plate.setAttribute("position", new THREE.Float32BufferAttribute(s, 3));
        plate.computeVertexNormals();
        return plate;
      }
      case "ellipsoid": return new THREE.SphereGeometry(0.5, 32, 20).scale(s[0], s[1], s[2]);
      default: return new THREE.CylinderGeometry(s[0], s[0], s[1], 32).rotateX(Math.PI / 2);
    }
  }

  function material(shape) {
    return new THREE.MeshPhongMaterial({
      color: shape.colour || "#b9c0c7", shininess: 30, specular: 0x222222,
      transparent: shape.opacity < 1, opacity: shape.opacity, depthWrite: shape.opacity === 1,
      side: shape.kind === "plate" ? THREE.DoubleSide : THREE.FrontSide,
    });
  }

  function addShape(path, shape) {
    const matrix = new THREE.Matrix4().fromArray(shape.matrix);
    if (shape.kind === "mesh") {
      matrix.scale(new THREE.Vector3(...shape.size));
      addMesh(path, shape, matrix);
      return;
    }
    const meshes = [new THREE.Mesh(geometry(shape), material(shape))];
    if (shape.kind === "capsule") {
      for (const end of [-0.5, 0.5]) {
        const cap = new THREE.Mesh(new THREE.SphereGeometry(shape.size[0], 32, 20), meshes[0].material);
        cap.position.z = end * shape.size[1];
        meshes.push(cap);
      }
    }
    const group = new THREE.Group();
    for (const mesh of meshes) {
      mesh.castShadow = mesh.receiveShadow = true;
      group.add(mesh);
    }
    matrix.decompose(group.position, group.quaternion, group.scale);
    put(path, group);
  }

  function addMesh(path, shape, matrix) {
    const file = data.meshes[shape.mesh];
    const content = file.format === "stl" ? bytes(file.data) : file.data;
    const form = { uuid: "g", type: "_meshfile_geometry", format: file.format, data: content };
    const own = { uuid: "o", type: "_meshfile_object", format: file.format, data: content, resources: file.pictures };
    const painted = { uuid: "o", type: "Mesh", geometry: "g", material: "m" };
    const colour = new THREE.Color(shape.colour || "#b9c0c7").getHex();
    const paint = { uuid: "m", type: "MeshPhongMaterial", color: colour, shininess: 30, specular: 0x222222,
      opacity: shape.opacity, transparent: shape.opacity < 1 };
    const object = Object.assign(shape.colour ? painted : own, { matrix: matrix.toArray() });
    viewer.set_object_from_json(path, {
      metadata: { version: 4.5, type: "Object" },
      geometries: shape.colour ? [form] : [], materials: shape.colour ? [paint] : [], object: object,
    });
  }

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; k++) out[k] = raw.charCodeAt(k);
    return out;
  }

  const groups = data.bodies.map((shapes, k) => {
    const path = ["report", "body" + k];
    shapes.forEach((shape, i) => addShape(path.concat("part" + i), shape));
    const axes = new THREE.AxesHelper(0.1 * data.extent);
    axes.visible = false;
    put(path.concat("axes"), axes);
    return { group: viewer.scene_tree.find(path).object, axes: axes };
  });
  // -- what joins two points: made along z with the length of the first instant, and stretched from there

  function paint(colour) {
    return new THREE.MeshPhongMaterial({ color: colour, shininess: 30, specular: 0x222222 });
  }

  function coil(radius, length, colour) {
    const turns = Math.min(Math.max(Math.round(length / (1.6 * radius)), 4), 14), points = [];
    for (let k = 0; k <= 16 * turns; k++) {
      const share = k / (16 * turns), angle = 2 * Math.PI * turns * share;
      const z = length * (0.06 + 0.88 * share);
      points.push(new THREE.Vector3(radius * Math.cos(angle), radius * Math.sin(angle), z));
    }
    return new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), 16 * turns, 0.14 * radius, 8);
  }

  function bar(radius, from, to) {
    const shape = new THREE.CylinderGeometry(radius, radius, to - from, 20);
    return shape.rotateX(Math.PI / 2).translate(0, 0, (from + to) / 2);
  }

  function linkParts({ kind, radius, length, colour }) {
    if (kind === "link" || kind === "rod") return [[bar(radius, 0, length), colour]];
    const parts = kind === "damper" ? [] : [[coil(radius, length, colour), colour]];
    if (kind === "spring") {
      parts.push([bar(0.14 * radius, 0, 0.06 * length), colour], [bar(0.14 * radius, 0.94 * length, length), colour]);
    } else {
      parts.push([bar(0.5 * radius, 0, 0.58 * length), "#5b6470"], [bar(0.22 * radius, 0.58 * length, length), "#aab2ba"]);
    }
    return parts;
  }

  const links = data.links.map((link, k) => {
    const group = new THREE.Group();
    for (const [shape, colour] of linkParts(link)) {
      const mesh = new THREE.Mesh(shape, paint(colour));
      mesh.castShadow = mesh.receiveShadow = true;
      group.add(mesh);
    }
    return { group: put(["report", "link" + k], group), ends: link.ends, first: link.length, length: link.length };
  });
  const start = new THREE.Vector3(), end = new THREE.Vector3(), along = new THREE.Vector3(0, 0, 1);

  function place(point, where) {
    if (where.body < 0) return point.fromArray(where.point).applyMatrix4(upright);
    const { group } = groups[where.body];
    return point.fromArray(where.point).applyQuaternion(group.quaternion).add(group.position);
  }

  function stretch(link) {
    place(start, link.ends[0]);
    link.length = place(end, link.ends[1]).distanceTo(start);
    const safe = Math.max(link.length, 1e-9 * link.first);
    link.group.position.copy(start);
    link.group.quaternion.setFromUnitVectors(along, end.sub(start).divideScalar(safe));
    link.group.scale.set(1, 1, safe / link.first);
  }

  data.world.forEach((shape, i) => addShape(["report", "world", "part" + i], shape));
  viewer.scene_tree.find(["report", "world"]).object.quaternion.copy(turnUpright);
  setStage();

  // -- time

  const t = data.t, first = t[0], last = t[t.length - 1];
  const poses = new Float32Array(bytes(data.poses).buffer);
  const from = new THREE.Quaternion(), to = new THREE.Quaternion();
  const here = new THREE.Vector3(), mean = new THREE.Vector3(), before = new THREE.Vector3();
  let time = first, playing = false, lastTick = 0;
  // a short run plays in about five seconds, a long one in half a minute, others in their own time
  const span = last - first, digits = Math.min(Math.max(2, Math.ceil(2 - Math.log10(Math.max(span, 1e-9)))), 7);
  const speeds = Array.from(part("speed").options, (option) => Number(option.value));
  const wish = span > 0 && span < 2 ? span / 5 : span > 30 ? span / 30 : 1;
  const best = speeds.reduce((a, b) => (Math.abs(Math.log(b / wish)) < Math.abs(Math.log(a / wish)) ? b : a));
  part("speed").value = String(best);
  // plots over time, each with a line at the instant that is shown
  const cursors = Array.from(document.querySelectorAll(".timed"), (box) => {
    const number = (name) => Number(box.dataset[name]);
    return { line: box.querySelector(".cursor"),
      box: { left: number("left"), right: number("right"), first: number("first"), last: number("last") } };
  });

  function show(wanted) {
    time = Math.min(Math.max(wanted, first), last);
    let k = 0, end = t.length - 1; // t[k] <= time < t[k + 1]
    while (end - k > 1) {
      const middle = (k + end) >> 1;
      if (t[middle] <= time) k = middle; else end = middle;
    }
    const next = Math.min(k + 1, t.length - 1);
    const share = next > k ? (time - t[k]) / (t[next] - t[k]) : 0;
    mean.set(0, 0, 0);
    groups.forEach(({ group }, b) => {
      const i = 7 * (k * groups.length + b), j = 7 * (next * groups.length + b);
      group.position.fromArray(poses, i).lerp(here.fromArray(poses, j), share).applyMatrix4(upright);
      group.quaternion.copy(from.fromArray(poses, i + 3).slerp(to.fromArray(poses, j + 3), share)).premultiply(turnUpright);
      mean.add(group.position);
    });
    if (groups.length) mean.divideScalar(groups.length);
    links.forEach(stretch);
    if (data.follow) accompany(mean);
    if (part("follow").checked) follow();
    before.copy(mean);
    part("time").value = time;
    part("clock").textContent = time.toFixed(digits) + " / " + last.toFixed(digits) + " s";
    cursors.forEach(({ line, box }) => {
      const share = (time - box.first) / (box.last - box.first);
      line.hidden = !(share >= 0 && share <= 1);
      line.style.left = 100 * (box.left + share * (box.right - box.left)) + "%";
    });
    figure.dataset.time = time;
    viewer.set_dirty();
  }

  function follow() {
    const shift = new THREE.Vector3(mean.x - before.x, mean.z - before.z, -(mean.y - before.y));
    viewer.camera.position.add(shift);
    viewer.controls.target.add(shift);
  }

  function tick(now) {
    if (!playing) return;
    const wanted = time + ((now - lastTick) / 1000) * Number(part("speed").value);
    lastTick = now;
    if (wanted < last) show(wanted);
    else if (part("repeat").checked) show(first);
    else { show(last); pause(); }
    requestAnimationFrame(tick);
  }

  function play() {
    if (playing || last <= first) return;
    if (time >= last) show(first);
    playing = true;
    lastTick = performance.now();
    part("icon").setAttribute("d", "M3 2h4v12H3zM9 2h4v12H9z");
    requestAnimationFrame(tick);
  }

  function pause() {
    playing = false;
    part("icon").setAttribute("d", "M4 2l10 6-10 6z");
  }

  // -- the view

  function home() {
    const aim = data.follow ? mean : centre;
    viewer.camera.fov = 40;
    viewer.camera.near = reach / 200;
    viewer.camera.far = 200 * reach;
    viewer.set_3d_pane_size();
    const view = (data.face ? facing() : data.above ? new THREE.Vector3(0.12, 0.85, 0.5) : new THREE.Vector3(0.56, 0.32, 0.76)).normalize();
    viewer.controls.target.set(aim.x, aim.z, -aim.y);
    viewer.camera.position.copy(viewer.controls.target).addScaledVector(view, fittingDistance(view));
    viewer.set_dirty();
  }

  // A planar mechanism is seen straight on, from the side that has the viewer's right on the right.
  function facing() {
    const [x, y, z] = data.face;
    const towards = new THREE.Vector3(x, z, -y);
    return Math.abs(towards.y) > 0.99 ? new THREE.Vector3(0, 1, 0.001) : towards;
  }

  // How far away the camera stands so that all corners of the box around the motion are seen.
  function fittingDistance(view) {
    const half = data.follow ? new THREE.Vector3(1, 1, 1).multiplyScalar(0.5 * data.extent)
      : high.clone().sub(low).multiplyScalar(0.5);
    const right = new THREE.Vector3(0, 1, 0).cross(view).normalize(), up = view.clone().cross(right);
    const tall = 0.9 * Math.tan((viewer.camera.fov * Math.PI) / 360), wide = tall * viewer.camera.aspect;
    let distance = 0;
    for (let k = 0; k < 8; k++) {
      const sign = (bit) => (k & bit ? 1 : -1);
      const corner = new THREE.Vector3(sign(1) * half.x, sign(2) * half.z, sign(4) * half.y);
      const need = Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(up)) / tall);
      distance = Math.max(distance, corner.dot(view) + need);
    }
    return distance;
  }

  // the wheel scrolls the page until the view has been clicked
  viewer.controls.enableZoom = false;
  pane.addEventListener("pointerdown", () => { viewer.controls.enableZoom = true; });
  part("stage").addEventListener("mouseleave", () => { viewer.controls.enableZoom = false; });
  pane.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    if (playing) pause(); else play();
  });
  part("play").addEventListener("click", () => (playing ? pause() : play()));
  part("time").addEventListener("input", (event) => { pause(); show(Number(event.target.value)); });
  part("home").addEventListener("click", home);
  part("axes").addEventListener("change", (event) => {
    groups.forEach(({ axes }) => { axes.visible = event.target.checked; });
    viewer.set_dirty();
  });
  window.addEventListener("beforeprint", () => { part("still").src = viewer.capture_image(); });

  Object.assign(part("time"), { min: first, max: last });
  part("follow").checked = data.follow;
  if (last <= first) part("bar").classList.add("at-rest");
  viewer.set_3d_pane_size();
  show(first);
  home();
  // for scripts of others, and for tests
  window.symbodyAnimation = {
    show, play, pause, home, viewer,
    time: () => time, playing: () => playing,
    links: () => links.map(({ group, length }) => ({ start: group.position.toArray(), length })),
    positions: () => groups.map(({ group }) => group.position.toArray()),
  };
})();
