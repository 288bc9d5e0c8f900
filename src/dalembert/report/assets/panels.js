// What is said of a live robot, on leaves of one panel: each script adds its own.
"use strict";
const PANELS = []; // {leaf, order, draw}
const LEAVES = ["Posture", "Motion", "Forces", "Parameters"];

// `draw(live, box)` makes the elements and gives back what shows the present state, or null where there is nothing to show.
function panel(leaf, order, draw) {
  PANELS.push({ leaf, order, draw });
}

// What is handled now and then: folded, side by side before the rest of its leaf.
function unfolding(parent, title, kind) {
  const row = parent.querySelector(":scope > .tools") ?? element("div", null, parent, "tools");
  const box = element("details", null, row, `${kind} box`), summary = element("summary", null, box);
  element("h3", title, summary);
  return { box, summary };
}

// Tabs over leaves; only what is seen is kept up to date.
function drawPanels(live, parent) {
  const bar = element("div", null, parent, "leaves"), leaves = [];
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", "what is shown");
  for (const name of LEAVES) {
    const box = element("div", null, parent, "leaf");
    const updates = PANELS.filter((one) => one.leaf === name).sort((a, b) => a.order - b.order).map((one) => one.draw(live, box)).filter(Boolean);
    if (!box.childElementCount) { box.remove(); continue; }
    const tab = element("button", name, bar), id = `leaf${leaves.length}`;
    Object.assign(tab, { type: "button", id: `tab-${id}` });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", id);
    Object.assign(box, { id, role: "tabpanel" });
    box.dataset.name = name; // its heading on paper, which shows all leaves
    box.setAttribute("aria-labelledby", tab.id);
    const leaf = { name, tab, box, updates };
    tab.addEventListener("click", () => turn(name));
    leaves.push(leaf);
  }
  bar.addEventListener("keydown", (event) => {
    const aside = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!aside) return;
    const k = (leaves.findIndex((leaf) => leaf.name === now) + aside + leaves.length) % leaves.length;
    turn(leaves[k].name);
    leaves[k].tab.focus();
    event.preventDefault();
  });
  let now = null;
  const update = () => { for (const leaf of leaves) if (leaf.name === now) leaf.updates.forEach((one) => one()); };
  function turn(name) {
    now = name;
    for (const leaf of leaves) {
      const chosen = leaf.name === name;
      leaf.box.hidden = !chosen;
      leaf.tab.setAttribute("aria-selected", String(chosen));
      leaf.tab.tabIndex = chosen ? 0 : -1;
    }
    update();
    live.tell("turned");
  }
  addEventListener("beforeprint", () => { if (live.isShown) for (const leaf of leaves) leaf.updates.forEach((one) => one()); });
  return { update, turn, now: () => now };
}
