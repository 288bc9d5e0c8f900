// A plain text field with numbered lines, of which some are marked.
"use strict";
const LINE = 19, PAD = 8; // px, as in the style sheet
const editor = (() => {
  const field = document.getElementById("text"), numbers = document.querySelector(".gutter div"), mark = document.querySelector(".mark");
  let bad = null, noted = new Map(), lines = 0, listener = () => {};

  function number() {
    const count = field.value.split("\n").length;
    if (count === lines) return;
    lines = count;
    draw();
  }
  // Numbers are text; only those that are marked are elements.
  function draw() {
    const visible = [];
    let plain = "";
    for (let k = 1; k <= lines; k++) {
      if (k !== bad && !noted.has(k)) { plain += `${k}\n`; continue; }
      const element = document.createElement(k === bad ? "b" : "i");
      element.textContent = k;
      if (noted.has(k)) element.title = noted.get(k);
      visible.push(plain, element);
      plain = "\n";
    }
    numbers.replaceChildren(...visible, plain);
    follow();
  }
  function follow() {
    numbers.parentElement.scrollTop = field.scrollTop;
    numbers.style.paddingBottom = `${field.offsetHeight - field.clientHeight + PAD}px`; // as far as the field scrolls
    mark.hidden = bad === null;
    if (bad !== null) mark.style.top = `${PAD + (bad - 1) * LINE - field.scrollTop}px`;
  }
  field.addEventListener("input", () => { number(); listener(); });
  field.addEventListener("scroll", follow);
  new ResizeObserver(follow).observe(field);
  number();
  return {
    field,
    listen(f) { listener = f; },
    text: () => field.value,
    fill(text) { field.value = text; field.scrollTop = field.scrollLeft = 0; bad = null; noted.clear(); lines = 0; number(); },
    // The line that is wrong, or null; others with what is to be said of them.
    mark(line, remarks = []) {
      bad = line;
      noted = new Map(remarks.filter((one) => one.line).map((one) => [one.line, one.text]));
      field.setAttribute("aria-invalid", String(line !== null));
      draw();
    },
    show(line) {
      const start = field.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1);
      const end = field.value.indexOf("\n", start);
      field.focus();
      field.setSelectionRange(start, end < 0 ? field.value.length : end);
      field.scrollTop = Math.max(0, (line - 1) * LINE - field.clientHeight / 2);
    },
  };
})();
