// The studio: a text goes to the server, its live page comes back; the last good one stays.
"use strict";
const initial = JSON.parse(document.getElementById("initial").textContent);
const at = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token");
const tab = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const DEBOUNCE = 400; // ms without a key before a text is read
const UNNAMED = { xml: "robot.xml", toml: "mechanism.toml" };
// What is edited: its name, whether it is the file of the command line, and the text as it was saved last.
const now = { name: null, edited: null, saved: "", others: new Map() };
let request = null, pending = 0, names = []; // of the coordinates, where a posture may be taken over

async function post(path, body, signal) {
  const bytes = !(body instanceof Blob) && JSON.stringify(body);
  const answer = await fetch(path, { method: "POST", body: bytes || body, signal,
    headers: { "X-Token": token, "Content-Type": bytes ? "application/json" : "application/octet-stream" } });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

function tell(sentences, kind = "") {
  at("said").replaceChildren(...sentences.map(({ text, line }) => {
    const paragraph = document.createElement("p");
    paragraph.className = kind;
    if (line) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: `line ${line}` });
      button.addEventListener("click", () => editor.show(line));
      paragraph.append(button);
    }
    paragraph.append(text);
    return paragraph;
  }));
}

function step(text, busy = true) {
  at("step").textContent = text;
  at("step").classList.toggle("busy", busy && Boolean(text));
}

// A page beside the one that is seen, until it has loaded.
function show(container, name) {
  const frame = Object.assign(document.createElement("iframe"), { className: "next", title: container.id === "stage" ? "live page" : "report", src: `/page/${name}` });
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  container.querySelectorAll(".next").forEach((old) => old.remove());
  const before = postures.get(container.querySelector("iframe"));
  const same = before && before.q && names.length && String(before.names) === String(names);
  postures.set(frame, { names, q: null, begin: same ? before.q : null });
  frame.addEventListener("load", () => {
    frame.className = "";
    container.querySelectorAll("iframe").forEach((old) => { if (old !== frame) old.remove(); });
    container.classList.remove("old");
  });
  container.append(frame);
  at("first").hidden = true;
  document.querySelector(".tabs").hidden = false;
  if (container.id === "stage" && !turned()) turn("stage");
  if (container.id === "report") at("tab-report").disabled = false;
}

// The robot stands where it stood before the text was changed, if it has the same joints.
const postures = new WeakMap(); // of frames: names, the posture told last, the one to begin with
addEventListener("message", ({ source, data }) => {
  const message = data && data.dalembert, frame = [...at("stage").querySelectorAll("iframe")].find((one) => one.contentWindow === source);
  if (!frame || !message || !Array.isArray(message.q)) return;
  const posture = postures.get(frame);
  posture.q = posture.begin || message.q;
  if (posture.begin) source.postMessage({ dalembert: { q: posture.begin } }, "*"); // a page without origin is named by no other
  posture.begin = null;
});

const turned = () => !at("stage").hidden || !at("report").hidden;
function turn(name) {
  for (const one of ["stage", "report"]) {
    at(one).hidden = one !== name;
    at(`tab-${one}`).setAttribute("aria-selected", String(one === name));
    at(`tab-${one}`).tabIndex = one === name ? 0 : -1;
  }
}

function wrong(text, line = null) {
  editor.mark(line);
  tell([{ text, line }], "wrong");
  step(turned() ? "This is the last text without a fault." : "", false);
}

// One line of the server's answer.
function take(answer) {
  if (answer.text !== undefined) opened(answer);
  if (answer.step) step(`${answer.step} …`);
  if (answer.error) wrong(answer.error, answer.line);
  if (answer.remarks) {
    names = answer.names;
    editor.mark(null, answer.remarks);
    if (!editor.field.disabled) tell(answer.remarks.length ? answer.remarks : [{ text: "Read without a fault." }], "faint");
    ["stage", "report"].forEach((id) => at(id).classList.add("old"));
  }
  if (answer.stage) show(at("stage"), answer.stage);
  if (answer.report) { show(at("report"), answer.report); step("", false); }
  if (answer.lacking) step(`There is no report: ${answer.lacking}`, false);
  if (answer.ended) turned() ? step(answer.ended, false) : wrong(answer.ended);
}

// Ask for pages; an older request is not wanted any more.
async function make(body) {
  if (request) request.abort();
  const mine = request = new AbortController();
  step("waiting for a process …");
  try {
    const reader = (await post("/make", { tab, ...body }, mine.signal)).body.getReader(), decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done || mine !== request) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      lines.forEach((line) => take(JSON.parse(line)));
    }
  } catch (error) {
    if (mine !== request || error.name === "AbortError") return;
    wrong(error instanceof TypeError ? "The studio does not answer: has it been ended? Start it again with `dalembert studio`." : error.message);
  }
}

function textChanged() {
  clearTimeout(pending);
  buttons();
  const text = editor.text();
  if (!text.trim()) { if (request) request.abort(); step("", false); editor.mark(null); tell([]); return; }
  pending = setTimeout(() => make({ text, name: name(), edited: Boolean(now.edited) }), DEBOUNCE);
}

const name = () => now.name || (/^\s*</.test(editor.text()) ? UNNAMED.xml : UNNAMED.toml);
const unsaved = () => editor.text() !== now.saved && !editor.field.disabled;

function buttons() {
  at("save").disabled = !editor.text();
  at("write").hidden = !now.edited;
  at("write").disabled = !now.edited || !unsaved();
  at("restore").hidden = !now.edited || !now.edited.restorable;
  at("name").textContent = editor.text() && at("which").hidden ? name() : "";
  document.title = `${unsaved() ? "• " : ""}${name()} – dalembert studio`;
}

// A text takes the place of the one before; a system of the zoo may have none.
function opened({ text, file, reason, edited = null, others = [] }) {
  Object.assign(now, { name: file || null, edited, saved: text || "", others: new Map(others.map((one) => [one.name, one.text])) });
  editor.fill(text || "");
  editor.field.disabled = text === null;
  editor.field.placeholder = reason || "";
  at("which").hidden = others.length < 2;
  at("which").replaceChildren(...others.map((one) => Object.assign(document.createElement("option"), { textContent: one.name })));
  at("write").textContent = edited ? `Write to ${edited.name}` : "";
  at("write").title = edited ? edited.path : "";
  at("restore").textContent = edited ? `Restore ${edited.name}` : "";
  at("tab-report").disabled = true;
  if (turned()) turn("stage");
  tell(reason ? [{ text: reason }] : []);
  buttons();
}

const keeping = () => unsaved() && !confirm("The text has changes that are not saved. Leave them?");

function choose(zoo) {
  at("zoo").value = "";
  if (!zoo || keeping()) return;
  make({ zoo });
}

// Keep all files on the server, then edit the first that is a robot or a mechanism.
async function receive(files) {
  if (!files.length || keeping()) return;
  if (request) request.abort();
  try {
    const texts = await editable(files);
    if (!texts.length) throw new Error("There is no URDF, MJCF or TOML among these files.");
    const large = files.find(({ file }) => file.size > initial.most);
    if (large) throw new Error(`${large.name} is too large: the studio takes ${initial.most >> 20} MB in one file.`);
    for (const [k, { name, file }] of files.entries()) {
      step(`keeping file ${k + 1} of ${files.length} …`);
      await post(`/keep?${new URLSearchParams({ tab, name, first: k ? "0" : "1" })}`, file);
    }
    opened({ text: texts[0].text, file: texts[0].name, others: texts });
    make({ text: editor.text(), name: now.name });
  } catch (error) {
    wrong(error.message);
  }
}

function save() {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([editor.text()])), download: name().split("/").pop() });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  if (!now.edited) now.saved = editor.text();
  buttons();
}

async function write() {
  const text = editor.text();
  try {
    now.edited.stamp = (await (await post("/save", { text, stamp: now.edited.stamp })).json()).stamp;
    now.edited.restorable = true;
    now.saved = text;
    buttons();
    tell([{ text: `Written to ${now.edited.path}.` }]);
  } catch (error) {
    tell([{ text: error.message }], "wrong");
  }
}

// The file as it was before it was written here, on disk and in the editor.
async function restore() {
  if (keeping()) return;
  const edited = now.edited;
  try {
    const { text, stamp } = await (await post("/restore", { stamp: edited.stamp })).json();
    opened({ text, file: edited.name, edited: { ...edited, stamp } });
    make({ text, name: now.name, edited: true });
  } catch (error) {
    tell([{ text: error.message }], "wrong");
  }
}

for (const { title, names } of initial.zoo) {
  const group = Object.assign(document.createElement("optgroup"), { label: title });
  const heading = Object.assign(document.createElement("h3"), { textContent: title }), list = document.createElement("div");
  for (const one of names) {
    group.append(Object.assign(document.createElement("option"), { textContent: one }));
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: one });
    button.addEventListener("click", () => choose(one));
    list.append(button);
  }
  at("zoo").append(group);
  at("names").append(heading, list);
}
at("zoo").addEventListener("change", () => choose(at("zoo").value));
for (const [button, input] of [["open", "files"], ["folder", "folders"]]) {
  at(button).addEventListener("click", () => at(input).click());
  at(input).addEventListener("change", () => receive(chosen(at(input))));
}
at("which").addEventListener("change", () => {
  now.others.set(now.name, editor.text());
  const next = at("which").value, others = Array.from(now.others, ([name, text]) => ({ name, text }));
  opened({ text: now.others.get(next), file: next, others });
  at("which").value = next;
  make({ text: editor.text(), name: next });
});
at("save").addEventListener("click", save);
at("write").addEventListener("click", write);
at("restore").addEventListener("click", restore);
for (const id of ["stage", "report"]) at(`tab-${id}`).addEventListener("click", () => turn(id));
document.querySelector(".tabs").addEventListener("keydown", (event) => {
  if (!/^Arrow(Left|Right)$/.test(event.key) || at("tab-report").disabled) return;
  const next = at("stage").hidden ? "stage" : "report";
  turn(next);
  at(`tab-${next}`).focus();
});
editor.listen(textChanged);
addEventListener("dragover", (event) => { event.preventDefault(); at("drop").hidden = false; });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) at("drop").hidden = true; });
addEventListener("drop", (event) => {
  event.preventDefault();
  at("drop").hidden = true;
  dropped(event.dataTransfer).then(receive, (error) => wrong(error.message));
});
addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });
addEventListener("pagehide", () => { fetch("/close", { method: "POST", keepalive: true, body: JSON.stringify({ tab }), headers: { "X-Token": token, "Content-Type": "application/json" } }).catch(() => {}); });
if (initial.edited && initial.edited.error) wrong(initial.edited.error);
else if (initial.edited) {
  opened({ text: initial.edited.text, file: initial.edited.name, edited: initial.edited });
  make({ text: editor.text(), name: now.name, edited: true });
}
