"use strict";
// This script follows an active run. The server sends formatted figures; the script shows them
// as text and draws charts of the last two minutes.
(() => {
const main = document.querySelector("main"), show = (id, text) => { document.getElementById(id).textContent = text; };
const svgNS = "http://www.w3.org/2000/svg", width = 120, height = 40, maxEvents = 50;
let open = false, seconds = [];

// draw draws values as a line chart, with the newest value at the right. A null value is unknown
// and leaves a gap.
const draw = (id, values) => {
  const largest = Math.max(0, ...values.filter(v => v !== null));
  const lines = [[]];
  values.forEach((v, i) => {
    if (v === null) lines.push([]);
    else lines[lines.length - 1].push([width - values.length + i + 1, largest ? height - 1 - v / largest * (height - 3) : height - 1]);
  });
  document.getElementById(id).replaceChildren(...lines.filter(l => l.length > 0).map(l => {
    const e = document.createElementNS(svgNS, "polyline");
    if (l.length === 1) l.push([l[0][0] - 0.5, l[0][1]]);
    e.setAttribute("points", l.map(p => p.join(",")).join(" "));
    return e;
  }));
};

// largestText returns the formatted figure of the second with the largest value.
const largestText = (value, text) => {
  let best = null;
  for (const s of seconds) if (s[value] !== null && (best === null || s[value] > best[value])) best = s;
  return best === null ? "" : "max " + best[text];
};

const stream = new EventSource(main.dataset.stream);
const on = (event, handle) => stream.addEventListener(event, e => handle(JSON.parse(e.data)));
stream.addEventListener("open", () => show("state", "running"));
stream.addEventListener("error", () => show("state", stream.readyState === EventSource.CLOSED ?
  "the server refused the connection; reload the page" : "the connection was lost; reconnecting"));
on("trial", t => {
  open = t.open;
  seconds = [];
  show("trial", `Trial ${t.number}${t.planned ? " of " + t.planned : ""}: ${t.name} (${t.store})`);
  document.getElementById("processes").replaceChildren();
  document.getElementById("events").replaceChildren();
});
on("seconds", rows => {
  const last = rows[rows.length - 1];
  seconds = seconds.concat(rows).slice(-width);
  show("phase", `${last.phase}, second ${last.second + 1}`);
  show("ops", open ? `${last.ops_text} of ${last.due_text} due` : last.ops_text);
  for (const [id, key] of [["p50", "p50_text"], ["p99", "p99_text"], ["p99_9", "p99_9_text"]]) show(id, last[key]);
  show("errors", last.errors_so_far);
  show("in_flight", last.in_flight);
  draw("ops_chart", seconds.map(s => s.ops));
  draw("p99_chart", seconds.map(s => s.p99));
  show("ops_max", largestText("ops", "ops_text"));
  show("p99_max", largestText("p99", "p99_text"));
});
on("happened", all => {
  const list = document.getElementById("events");
  for (const e of all) {
    const li = document.createElement("li");
    li.textContent = `${e.time} ${e.text}`;
    list.prepend(li);
  }
  while (list.childElementCount > maxEvents) list.lastElementChild.remove();
});
on("processes", all => {
  const table = document.getElementById("processes");
  for (const p of all) {
    let row = [...table.rows].find(r => r.cells[0].textContent === p.name);
    if (!row) {
      row = table.insertRow();
      for (let i = 0; i < 4; i++) row.insertCell();
      row.cells[0].className = "left";
    }
    [p.name, p.cpu, p.writes, p.rss].forEach((text, i) => { row.cells[i].textContent = text; });
  }
});
on("end", e => {
  stream.close();
  show("state", e.text);
  if (e.ended) location.reload(); // the server now shows the report at this URL
});
})();
