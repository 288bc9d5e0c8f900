// The equations with the numbers of this state beside the symbols, and their terms coloured by size.
"use strict";
const equations = (() => {
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const SYMBOL_ELEMENTS = "mi mn mo mover msub msubsup mrow"; // what a symbol with its index consists of
  const WAIT = 4; // frames between two updates

  function formula(tag, parent, name = null) {
    const node = document.createElementNS(MATHML, tag);
    if (name) node.setAttribute("class", name);
    parent.append(node);
    return node;
  }

  // Four digits.
  function figures(value) {
    const size = Math.abs(value);
    const text = size < 1e-12 ? "0" : size < 1e-3 || size >= 1e5 ? value.toExponential(2) : value.toPrecision(4);
    return text.replaceAll("-", "−");
  }

  function write(node, value, beside = 0) {
    node.value = String(value);
    const text = figures(Math.abs(value) < 1e-13 * beside ? 0 : value);
    if (node.textContent !== text) node.textContent = text;
  }

  // Colour, and a bar that is thicker for what is larger and broken for what is negative.
  function tint(node, value, most) {
    const share = most > 0 ? Math.abs(value) / most : 0, key = Math.round((value < 0 ? -20 : 20) * share);
    if (node.dataset.share === String(key)) return;
    node.dataset.share = key;
    node.classList.toggle("minus", value < 0 && key !== 0);
    node.style.setProperty("--tint", `${Math.round(34 * Math.sqrt(Math.abs(key) / 20))}%`);
    node.style.setProperty("--bar", `${(0.2 * Math.abs(key)).toFixed(1)}px`);
  }

  const largest = (lists) => lists.reduce((most, list) => list.reduce((m, v) => Math.max(m, Math.abs(v)), most), 0);

  // A row between two rows of samples, at this time of the recorded motion; null where it has none.
  function between(times, rows) {
    const [a, b, s] = locate(times, clock.now()), values = rows[a].map((u, k) => (u === null ? NaN : u + s * ((rows[b][k] ?? NaN) - u)));
    return values.every(Number.isFinite) ? values : null;
  }

  // `act` at the state that is shown: the live one, or the recorded motion's, unless there is none.
  function atState(live, recorded, act) {
    if (live.isShown) return act();
    const { q, qd } = data.states ?? {}, state = q ? [between(data.t, q), between(data.t, qd), between(recorded.t, recorded.tau)] : [null], saved = [];
    if (state.includes(null)) return null;
    const put = (view, values) => { saved.push([view, Float64Array.from(view)]); view.set(values); };
    [live.q, live.qd, live.acting].forEach((view, k) => put(view, state[k]));
    if (live.t) put(live.t, [clock.now()]);
    if (live.parameters.length) put(live.parameters, Object.values(live.about.parameters).map((value) => value ?? 0));
    try { return act(); } finally { for (const [view, values] of saved) view.set(values); }
  }

  // M q̈ + C q̇ + g = τ: a matrix and columns, torques on one scale.
  function balanceBox(live, before) {
    const units = live.data.balance;
    if (!units) return null;
    const box = element("div", null, null, "box balance worth"), n = units.length;
    before.after(box);
    element("h3", "The equation of motion at this state", box);
    const row = element("div", null, box, "sides"), parts = [];
    const part = (label, title, columns, value, scale) => {
      const block = element("figure", null, row), table = element("table", null, block), cells = [];
      table.setAttribute("aria-label", title);
      element("figcaption", label, block).title = title;
      for (let i = 0; i < n; i++) {
        const line = element("tr", null, table);
        for (let j = 0; j < columns; j++) {
          const cell = element("td", null, line, "sized");
          cell.title = `${title}: ${[i, ...(columns > 1 ? [j] : [])].map((k) => plainName(live.about.velocities[k])).join(", ")}`;
          cells.push([cell, element("data", null, cell)]);
        }
      }
      parts.push({ cells, value, scale });
    };
    const sign = (text) => element("span", text, row, "sign");
    part("M(q)", "mass matrix", n, () => live.value("mass_matrix"), "mass");
    part("q̈", "accelerations", 1, () => live.value("forward_dynamics"), "acceleration");
    sign("+");
    part("C q̇", "centrifugal and Coriolis torques", 1, () => live.value("coriolis"), "torque");
    sign("+");
    part("g(q)", "torques of gravity and springs", 1, () => live.value("gravity_torque"), "torque");
    sign("=");
    part("τ", "torques of drives, pushes and stops", 1, () => live.acting, "torque");
    if (live.data.friction && live.has("generalized_forces")) {
      sign("+");
      part("ψ", "friction and other forces without potential", 1, () => live.value("generalized_forces"), "torque");
    }
    if (live.has("constraint_force")) {
      sign("+");
      const force = () => live.kernels.call("constraint_force", { lam: live.kernels.call("forward_dynamics").lam }).f;
      part("−Aᵀλ", "forces of the constraints", 1, force, "torque");
    }
    const kinds = [...new Set(units)].filter(Boolean).join(", ");
    element("p", `${kinds ? `Torques in ${kinds}` : "Forces"}, on one scale; rows are the coordinates, in their order.`, box, "faint");
    return {
      container: box,
      update() {
        const all = () => parts.map(({ value }) => Float64Array.from(value())), { stops, isShown } = live;
        const values = stops && isShown ? stops.leant(all) : all(), most = {};
        parts.forEach(({ scale }, k) => { most[scale] = Math.max(most[scale] ?? 0, largest([values[k]])); });
        parts.forEach(({ cells, scale }, k) => cells.forEach(([cell, text], i) => {
          const value = values[k][i];
          text.value = String(value);
          text.textContent = brief(Math.abs(value) < 1e-13 * most[scale] ? 0 : value);
          tint(cell, value, most[scale]);
        }));
      },
    };
  }

  // A number and its unit in a cell of a formula.
  function worth(cell, unit) {
    const text = element("span", null, formula("mtext", cell)), value = element("data", null, text);
    if (unit) element("small", unit, text);
    return value;
  }

  // Numbers of a matrix that is printed as one: another one behind it. Of lines: a column after their labels.
  function numbersOf(container, units) {
    const entries = [], matrix = container.querySelector("mtable.matrix");
    if (!matrix) {
      for (const line of container.querySelectorAll("mtr")) {
        const cell = formula("mtd", line, "worth"), sign = formula("mtd", line, "worth"), k = Number(line.dataset.entry ?? -1);
        line.insertBefore(sign, line.children[2]);
        line.insertBefore(cell, sign);
        if (k < 0) continue;
        entries[k] = worth(cell, units[k]);
        formula("mo", sign).textContent = "=";
      }
      return entries;
    }
    const whole = formula("math", matrix.closest("math").parentNode, "worth"), row = formula("mrow", whole), alike = new Set(units).size === 1;
    whole.setAttribute("display", "block");
    matrix.closest("math").parentNode.classList.add("beside");
    formula("mo", row).textContent = "=";
    const table = formula("mtable", row, "matrix");
    for (const line of matrix.children) {
      const other = formula("mtr", table);
      for (const cell of line.children) {
        const copy = formula("mtd", other), k = Number(cell.dataset.entry ?? -1);
        const one = worth(copy, alike || k < 0 ? "" : units[k]);
        if (k < 0) write(one, 0); else entries[k] = one;
      }
    }
    if (alike && units[0]) formula("mtext", row).textContent = `\u2002${units[0]}`;
    return entries;
  }

  // One quantity; nothing is made or computed before it is seen.
  function sectionBox(live, container, number, printed) {
    if (!container || !live.has(`terms_${number}`)) return null;
    let numbers = null, terms = null;
    const box = { container, worth: null, update };
    function update() {
      if (!numbers) {
        numbers = numbersOf(container, printed.units);
        terms = Array.from(container.querySelectorAll("[data-term]"), (one) => [one, Number(one.dataset.term)]);
        terms.forEach(([one]) => one.classList.add("sized"));
      }
      const outputs = live.kernels.call(`terms_${number}`), most = new Float64Array(printed.units.length);
      printed.owners.forEach((entry, k) => { most[entry] = Math.max(most[entry], Math.abs(outputs.terms[k])); });
      numbers.forEach((one, k) => write(one, outputs.entries[k], most[k]));
      for (const [one, k] of terms) tint(one, outputs.terms[k], most[printed.owners[k]]);
      box.worth = (k) => [outputs.terms[k], most[printed.owners[k]], printed.units[printed.owners[k]]];
    }
    return box;
  }

  // What is under the pointer: a symbol and its value, a term and its share.
  function drawPointed(live, section, boxes, printed, hasNumbers) {
    const tip = element("div", null, section, "tip"), symbols = new Map(printed.symbols.map((one, k) => [one.text, k]));
    tip.hidden = true;
    function symbolAt(target) {
      let pointed = null;
      for (let one = target; one && SYMBOL_ELEMENTS.split(" ").includes(one.localName); one = one.parentElement) {
        const parts = one.localName === "msubsup" ? [...one.children].slice(0, 2) : [one];
        pointed = symbols.get(parts.map((part) => part.textContent).join("")) ?? pointed;
      }
      return pointed;
    }
    section.addEventListener("pointerover", (event) => {
      const k = symbolAt(event.target), marked = event.target.closest("[data-term]"), remarks = [];
      const box = marked && boxes.find((one) => one.worth && one.container.contains(marked));
      if (hasNumbers() && k !== null) {
        const value = atState(live, printed.recorded, () => live.value("symbols")[k]), { name, unit } = printed.symbols[k];
        if (value !== null) remarks.push(`${name} = ${figures(value)}${unit ? ` ${unit}` : ""}`);
      }
      if (hasNumbers() && box) {
        const [value, most, unit] = box.worth(Number(marked.dataset.term)), share = most > 0 ? Math.abs(value) / most : 0;
        remarks.push(`term: ${figures(value)}${unit ? ` ${unit}` : ""}, ${(100 * share).toFixed(share < 0.1 ? 1 : 0)} % of the largest`);
      }
      tip.hidden = !remarks.length;
      tip.replaceChildren();
      remarks.forEach((text) => element("div", text, tip));
      const around = section.getBoundingClientRect(), x = event.clientX - around.left;
      tip.style.left = x < around.width / 2 ? `${x + 12}px` : "auto";
      tip.style.right = x < around.width / 2 ? "auto" : `${around.width - x + 12}px`;
      tip.style.top = `${event.clientY - around.top + 18}px`;
    });
    section.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  function drawLegend(bar) {
    const legend = element("p", null, bar, "sizes worth");
    element("span", "Terms of a sum, beside its largest:", legend);
    for (const share of [1, 0.5, 0.1, -0.5, -1]) {
      const one = element("span", `${share < 0 ? "−" : ""}${Math.abs(100 * share)} %`, legend, "sized");
      tint(one, share, 1);
    }
  }

  function drawEquations(live) {
    const section = document.getElementById("equations"), printed = live.data.equations;
    if (!section || !printed) return null;
    const bar = element("div", null, null, "worths"), label = element("label", null, bar), tick = element("input", null, label);
    section.querySelector("h2").after(bar);
    tick.type = "checkbox";
    tick.id = "numbers";
    element("span", "numbers", label);
    const when = element("output", null, bar, "faint");
    drawLegend(bar);
    const boxes = [
      balanceBox(live, bar),
      ...printed.sections.map((one, k) => sectionBox(live, section.querySelector(`[data-section="${k}"]`), k, one)),
    ].filter(Boolean);
    let decided = null, pending = 0;
    const visible = new Set(), hasNumbers = () => section.classList.contains("numbers");
    function update(all) {
      const added = live.data.added && live.isShown && live.parameters.some((value) => value !== 0);
      when.textContent = live.isShown ? `of the live robot${added ? "; formulas without its payload" : ""}` : `of the recorded motion at ${clock.now().toFixed(2)} s`;
      atState(live, printed.recorded, () => {
        for (const box of boxes) if (all || (visible.has(box.container) && box.container.open !== false)) box.update();
      });
    }
    function tock() {
      pending -= 1;
      if (pending > 0) requestAnimationFrame(tock);
      else if (hasNumbers() && visible.size) update(false);
    }
    function ask() {
      tick.checked = decided ?? Boolean(live.isShown);
      section.classList.toggle("numbers", tick.checked);
      if (pending > 0 || !tick.checked || !visible.size) return;
      pending = WAIT;
      requestAnimationFrame(tock);
    }
    tick.addEventListener("change", () => { decided = tick.checked; ask(); });
    const observer = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) if (isIntersecting) visible.add(target); else visible.delete(target);
      ask();
    });
    for (const { container } of boxes) {
      observer.observe(container);
      container.addEventListener("toggle", ask);
    }
    addEventListener("beforeprint", () => { if (hasNumbers()) update(true); });
    live.listen(() => { if (live.isShown) ask(); });
    clock.listen(() => { if (!live.isShown) ask(); });
    drawPointed(live, section, boxes, printed, hasNumbers);
    return null; // it stands among the equations, not on a leaf
  }

  return { draw: drawEquations, atState };
})();

panel("Posture", 90, equations.draw);
