// A system in a notebook: its live page in a frame of its own, and the state that Python and the page share.
const STATE = ["q", "qd", "t"];

function render({ model, el }) {
  const place = el.ownerDocument.defaultView, frame = el.ownerDocument.createElement("iframe"), said = el.ownerDocument.createElement("p");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads"); // it sees nothing of the notebook
  frame.title = `${model.get("name")}, live`;
  frame.style.cssText = "display: block; width: 100%; border: 0; border-radius: 10px";
  said.setAttribute("role", "status");
  said.style.cssText = "margin: .4rem 0; font-family: system-ui, sans-serif; opacity: .7";
  el.append(said, frame);
  const send = (message) => frame.contentWindow.postMessage({ dalembert: message }, "*"); // a sandbox has no name
  let own = false, there = false, runs = false, changed = new Set();

  function open() {
    const page = model.get("_page");
    frame.hidden = !page;
    said.textContent = model.get("_said") || (page ? "" : "Compiling its kernels …");
    there = false;
    if (page) frame.srcdoc = page; else model.send({ ask: "page" });
  }
  // what Python has set, once for all that it set together
  function post() {
    const message = Object.fromEntries([...changed].map((name) => [name, model.get(name)]));
    changed = new Set();
    if (Object.keys(message).length) send(message);
  }
  function set(name) {
    if (own) return;
    if (there && !changed.size) queueMicrotask(post);
    changed.add(name);
  }
  function hear({ source, data }) {
    const state = data && data.dalembert;
    if (source !== frame.contentWindow || !state) return;
    said.textContent = state.error ? `The page refused it: ${state.error}.` : "";
    if (!state.q) return;
    if (!there) {
      there = true;
      STATE.forEach((name) => changed.add(name)); // it begins where Python, or another view of it, has it
      if (Object.keys(model.get("parameters")).length) changed.add("parameters");
      return post();
    }
    if (changed.size) return; // Python has said something else meanwhile
    own = true;
    for (const name of [...STATE, "parameters"]) model.set(name, state[name]);
    if (runs !== state.running) model.set("running", runs = state.running); // another view may run while this one stands
    model.save_changes();
    own = false;
  }
  const tall = () => { frame.style.height = `${model.get("height")}px`; };
  const heard = [["change:_page", open], ["change:_said", () => { said.textContent = model.get("_said"); }], ["change:height", tall]];
  for (const name of [...STATE, "running", "parameters"]) heard.push([`change:${name}`, () => set(name)]);
  heard.forEach(([event, act]) => model.on(event, act));
  place.addEventListener("message", hear);
  tall();
  open();
  return () => {
    heard.forEach(([event, act]) => model.off(event, act));
    place.removeEventListener("message", hear);
  };
}

export default { render };
