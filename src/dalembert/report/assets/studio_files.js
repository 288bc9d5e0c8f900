// Files that are dropped or opened, folders with all that is in them.
"use strict";
const EDITED = /\.(urdf|xml|mjcf|toml)$/i;

// [{name, file}] of a drop; the entries must be asked for before the event is over.
function dropped(transfer) {
  const entries = Array.from(transfer.items || [], (item) => item.kind === "file" && item.webkitGetAsEntry ? item.webkitGetAsEntry() : null).filter(Boolean);
  if (!entries.length) return Promise.resolve(Array.from(transfer.files, (file) => ({ name: file.name, file })));
  return Promise.all(entries.map((entry) => below(entry, ""))).then((all) => all.flat());
}

async function below(entry, folder) {
  const name = folder + entry.name;
  if (entry.isFile) return [{ name, file: await new Promise((done, failed) => entry.file(done, failed)) }];
  const reader = entry.createReader(), items = [];
  for (;;) { // a reader gives a hundred at a time
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return items;
    for (const one of some) if (!one.name.startsWith(".")) items.push(...await below(one, `${name}/`));
  }
}

function chosen(input) {
  const items = Array.from(input.files, (file) => ({ name: file.webkitRelativePath || file.name, file }));
  input.value = "";
  return items;
}

// Those that can be edited, robots before parts of them.
async function editable(files) {
  const items = [];
  for (const one of files) {
    if (!EDITED.test(one.name)) continue;
    const text = await one.file.text(), start = text.slice(0, 4096);
    const rank = /\.loops\.toml$/i.test(one.name) || /package\.xml$/i.test(one.name) ? 3 : /<(robot|mujoco)\b/.test(start) ? 0 : /\.toml$/i.test(one.name) ? 1 : 2;
    items.push({ name: one.name, text, rank });
  }
  return items.sort((a, b) => a.rank - b.rank);
}
