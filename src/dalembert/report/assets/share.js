// What a reader takes along: a picture, the motion as a table or as a run of the library, the address.
"use strict";
const SHARP = 2; // pixels of a saved picture to one of the page

// The picture on the page's own background, as a canvas.
function pictureOf(scene) {
  const canvas = scene.picture(SHARP), pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const sky = pen.createLinearGradient(0, 0, 0, 0.7 * canvas.height);
  ["--sky", "--box"].forEach((name, k) => sky.addColorStop(k, style.getPropertyValue(name).trim()));
  pen.globalCompositeOperation = "destination-over";
  pen.fillStyle = sky;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  return canvas;
}

function download(blob, name) {
  const link = element("a", null, null), url = URL.createObjectURL(blob);
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000); // a browser that asks where to may take its time
}

function drawShare(live, parent) {
  const box = element("section", null, parent, "share box"), head = element("div", null, box, "head");
  const recording = live.recording = new Recording(live), file = live.about.name.replace(/[^\w.-]+/g, "_") || "robot";
  element("h3", "Share", head);
  const status = element("span", "", head, "faint"), row = element("div", null, box, "buttons"), message = element("p", "", box, "faint");
  message.setAttribute("role", "status");
  const saves = (text, title, act) => pressed(text, row, () => { act(); message.textContent = ""; }, title);
  if (view) saves("Picture", "the 3-D view as it is, PNG", () => pictureOf(view).toBlob((blob) => download(blob, `${file}.png`)));
  const table = saves("Table", "times, q, q̇, τ and energies of every step, CSV", () => download(tableOf(recording), `${file}.csv`));
  const run = saves("Run file", "the same as NetCDF: opened by xarray and `dalembert report`", () => download(runOf(recording), `${file}.nc`));
  if (window === window.parent)
    pressed("Copy link", row, async () => {
      address.write(address.text(live));
      try {
        await navigator.clipboard.writeText(location.href);
        message.textContent = "Copied: whoever opens it sees this state.";
      } catch {
        message.textContent = "The address of the page holds this state: copy it from there.";
      }
    }, "the address holds this state: whoever opens it sees the same");
  return () => {
    const still = recording.rows < 2, text = still ? "nothing recorded yet"
      : `${live.time.toFixed(2)} s, ${recording.rows - 1} steps of ${1000 * live.dt} ms`;
    status.textContent = recording.full ? `full: the first ${((recording.rows - 1) * live.dt).toFixed(2)} s are kept` : text;
    table.disabled = run.disabled = still;
  };
}
