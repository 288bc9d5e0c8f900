// A system in a notebook: its live page in a frame of its own, and the state that Python and the page share.
const STATE = ["q", "qd", "t"];
const PATIENCE = 30000; // ms until a page that does not come is said to be missed
const SILENT = "Python does not answer: it is busy, or this notebook was saved before its page was made. Run the cell to see it.";
let speaker = null; // the view that changes the model now; all views of a model share this script

function render({ model, el }) {
  const host = el.ownerDocument.defaultView, frame = el.ownerDocument.createElement("iframe"), note = el.ownerDocument.createElement("p");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads"); // it sees nothing of the notebook
  frame.title = `${model.get("name")}, live`;
  frame.style.cssText = "display: block; width: 100%; border: 0; border-radius: 10px";
  note.setAttribute("role", "status");
  note.style.cssText = "margin: .4rem 0; font-family: system-ui, sans-serif; opacity: .7";
  el.append(note, frame);
  const send = (message) => frame.contentWindow.postMessage({ dalembert: message }, "*"); // a sandbox has no name
  let there = false, runs = false, elsewhere = false, turn = 0, changed = new Set();

  function open() {
    const page = model.get("_page");
    frame.hidden = !page;
    note.textContent = model.get("_message") || (page ? "" : "Compiling its kernels …");
    there = false;
    if (page) { frame.srcdoc = page; return; }
    model.send({ ask: "page" });
    setTimeout(() => { if (!model.get("_page") && !model.get("_message")) note.textContent = SILENT; }, PATIENCE);
  }
  // What Python has set, once for all that it set together. Where another view moves, this one follows and does not run itself.
  function post() {
    if (elsewhere) STATE.forEach((name) => changed.add(name));
    const message = Object.fromEntries([...changed].map((name) => [name, model.get(name)]));
    if (elsewhere) message.running = runs = false;
    elsewhere = false;
    changed = new Set();
    send({ ...message, turn: ++turn });
  }
  function set(name) {
    if (speaker === frame) return;
    if (there && !changed.size) queueMicrotask(post);
    if (speaker) elsewhere = there;
    changed.add(name);
  }
  // It begins where Python, or another view of it, has it; so does a page that was loaded again, as notebooks do when they move a cell.
  function begin() {
    there = true;
    elsewhere = false;
    STATE.forEach((name) => changed.add(name));
    if (Object.keys(model.get("parameters")).length) changed.add("parameters");
    if (runs) changed.add("running");
    post();
  }
  function hear({ source, data }) {
    const state = data && data.dalembert;
    if (source !== frame.contentWindow || !state) return;
    note.textContent = state.error ? `The page refused it: ${state.error}.` : "";
    if (!state.q) return;
    if (!state.turn) return begin(); // it has heard nothing yet
    if (state.turn !== turn) return; // nor the last
    speaker = frame;
    try {
      runs = state.running;
      for (const name of [...STATE, "parameters", "running"]) model.set(name, state[name]);
      model.save_changes();
    } finally {
      speaker = null;
    }
  }
  const tall = () => { frame.style.height = `${model.get("height")}px`; };
  const heard = [["change:_page", open], ["change:_message", () => { note.textContent = model.get("_message"); }], ["change:height", tall]];
  for (const name of [...STATE, "running", "parameters"]) heard.push([`change:${name}`, () => set(name)]);
  heard.forEach(([event, act]) => model.on(event, act));
  host.addEventListener("message", hear);
  tall();
  open();
  return () => {
    heard.forEach(([event, act]) => model.off(event, act));
    host.removeEventListener("message", hear);
  };
}

export default { render };
