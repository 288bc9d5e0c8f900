// Positions against velocities: how a system moves that has no picture.
"use strict";
(() => {
  const MOST = 4000, MARGIN = { left: 56, right: 12, top: 10, bottom: 30 }, HEIGHT = 260;

  function drawPhase(live, container) {
    if (data.scene || !live.joints.length) return null;
    const box = element("figure", null, container, "phase box"), head = element("div", null, box, "head");
    element("h3", "Phase portrait", head);
    const which = choice("coordinate", live.joints.map((one) => [plainName(one.name), one.k]), head, () => draw());
    const canvas = element("canvas", null, box), points = []; // [q, q̇] of all, at every frame
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "velocity over position, since it was let go");
    live.listen((change) => {
      if (change === "posed") points.length = 0;
      if (change !== "posed" && change !== "moved") return;
      points.push([Float64Array.from(live.q), Float64Array.from(live.qd)]);
      if (points.length > MOST) points.splice(0, points.length - MOST);
    });
    new ResizeObserver(() => draw()).observe(canvas);

    function draw() {
      const ratio = Math.min(2, devicePixelRatio), wide = canvas.clientWidth, pen = canvas.getContext("2d");
      if (!wide || !points.length) return;
      canvas.width = Math.round(wide * ratio);
      canvas.height = Math.round(HEIGHT * ratio);
      const joint = live.joints.find((one) => String(one.k) === which.value), own = ([q, qd]) => [q[joint.k], qd[joint.v]];
      const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(name).trim();
      const range = (k) => { const all = points.map((one) => own(one)[k]), low = Math.min(...all), high = Math.max(...all), slack = Math.max(0.08 * (high - low), 1e-3); return [low - slack, high + slack]; };
      const [x0, x1] = range(0), [y0, y1] = range(1), { left, right, top, bottom } = MARGIN;
      const x = (v) => left + ((wide - left - right) * (v - x0)) / (x1 - x0), y = (v) => top + (HEIGHT - top - bottom) * (1 - (v - y0) / (y1 - y0));
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, wide, HEIGHT);
      Object.assign(pen, { font: "11px system-ui, sans-serif", fillStyle: ink("--faint"), strokeStyle: ink("--line"), lineWidth: 1, textAlign: "right" });
      const line = (a, b, c, d) => { pen.beginPath(); pen.moveTo(a, b); pen.lineTo(c, d); pen.stroke(); };
      for (const [value, label] of ticks(y0, y1, 5)) { line(left, y(value), wide - right, y(value)); pen.fillText(label, left - 6, y(value) + 4); }
      pen.textAlign = "center";
      for (const [value, label] of ticks(x0, x1, 6)) { line(x(value), top, x(value), HEIGHT - bottom); pen.fillText(label, x(value), HEIGHT - bottom + 14); }
      const named = (symbol, unit) => (unit && unit !== "1" ? `${symbol} / ${unit}` : symbol), { units } = live.about;
      pen.fillText(named("q", units.q[joint.k]), (left + wide - right) / 2, HEIGHT - 3);
      pen.save();
      pen.translate(11, HEIGHT / 2);
      pen.rotate(-Math.PI / 2);
      pen.fillText(named("q̇", units.qd[joint.v]), 0, 0);
      pen.restore();
      Object.assign(pen, { strokeStyle: ink("--c0"), fillStyle: ink("--tip"), lineWidth: 1.6, lineJoin: "round" });
      pen.beginPath();
      for (const one of points) { const [a, b] = own(one); pen.lineTo(x(a), y(b)); }
      pen.stroke();
      const [a, b] = own(points[points.length - 1]);
      pen.beginPath();
      pen.arc(x(a), y(b), 4, 0, 2 * Math.PI);
      pen.fill();
    }
    return draw;
  }

  panel("Motion", 5, drawPhase);
})();
