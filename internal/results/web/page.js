"use strict";
// This script makes the charts interactive. All charts of a trial show the values at the pointer.
// Dragging selects a time span, to which all charts of the trial zoom. A click on an entry in the
// legend hides its series. All of this also works with the keyboard. The page is complete without
// the script. The script writes only text, never HTML.
(() => {
const svgNS = "http://www.w3.org/2000/svg";

// Numbers have three significant digits, as in the tables.
const digits = x => x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toFixed(2);
const count = x => Math.round(x).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const duration = ns => {
  if (ns < 999.5) return ns.toFixed(0) + " ns";
  for (const [name, unit] of [[" µs", 1e3], [" ms", 1e6]]) if (ns / unit < 999.5) return digits(ns / unit) + name;
  return ns / 1e9 < 999.5 ? digits(ns / 1e9) + " s" : (ns / 1e9).toFixed(0) + " s";
};
const size = n => {
  if (n < 1024) return Math.floor(n) + " B";
  for (const unit of [" KiB", " MiB", " GiB"]) {
    n /= 1024;
    if (n < 999.5) return digits(n) + unit;
  }
  return digits(n / 1024) + " TiB";
};
const plain = x => x < 99.95 && x !== Math.trunc(x) ? digits(x) : count(x);
const written = {ns: duration, bytes: size, rate: x => plain(x) + "/s", number: plain};

// Distances between the ticks of a time axis, in seconds, as in the package chart.
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
const seconds = (at, step) => {
  const [unit, name] = step >= 3600 ? [3600, " h"] : step >= 60 ? [60, " min"] : [1, " s"];
  return Math.round(100 * at / unit) / 100 + name;
};
const make = (name, attributes, parent) => {
  const e = document.createElementNS(svgNS, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  parent.append(e);
  return e;
};

// chart returns the parts of a figure: its inner picture, its legend and the elements that show values.
const chart = figure => {
  const plot = figure.querySelector("svg.plot"), paper = figure.querySelector(".paper");
  const height = Number(plot.getAttribute("height"));
  const time = document.createElement("span");
  time.className = "readout";
  figure.querySelector("figcaption").append(time);
  const cursor = make("path", {class: "cursor", d: ""}, plot);
  const entries = [...figure.querySelectorAll(".legend li:not(.about)")].map(li => {
    const value = document.createElement("span");
    value.className = "value";
    li.append(value);
    return {li, value, name: li.querySelector("span").textContent, series: li.querySelector("path").classList[0]};
  });
  // A click on an entry in the legend hides or shows the series.
  entries.forEach((entry, i) => {
    const lines = [...plot.querySelectorAll("path.l")];
    const own = figure.classList.contains("events") ? [...plot.querySelectorAll("path.mark." + entry.series)]
      : figure.classList.contains("spots") ? [...plot.querySelectorAll("path." + entry.series)]
      : figure.classList.contains("curves") ? lines.slice(2 * i, 2 * i + 2) : [lines[i]];
    own.push(...plot.querySelectorAll("path.range." + entry.series));
    const toggle = () => {
      const off = entry.li.classList.toggle("off");
      entry.li.setAttribute("aria-pressed", String(!off));
      own.forEach(p => p.classList.toggle("off", off));
    };
    entry.li.tabIndex = 0;
    entry.li.setAttribute("role", "button");
    entry.li.setAttribute("aria-pressed", "true");
    entry.li.addEventListener("click", toggle);
    entry.li.addEventListener("keydown", e => {
      if (e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      toggle();
    });
  });
  paper.tabIndex = 0;
  paper.setAttribute("role", "group");
  paper.setAttribute("aria-label", figure.querySelector("figcaption").firstChild.textContent);
  return {figure, plot, paper, height, time, cursor, entries};
};

// within returns the position of the pointer in the inner picture, as two shares from 0 to 1. It uses
// the frame around the picture, because the rectangle of the picture covers only its shapes.
const within = (c, e) => {
  const r = c.plot.parentNode.getBoundingClientRect();
  return [Math.min(Math.max((e.clientX - r.left) / r.width, 0), 1), Math.min(Math.max((e.clientY - r.top) / c.height, 0), 1)];
};

const trial = section => {
  const source = section.querySelector(":scope > script.series");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const whole = [data.from, data.from + data.n * data.width];
  let [from, to] = whole, at = null;
  const charts = [...section.querySelectorAll("figure.over-time, figure.events, figure.heat")].map(chart);
  const named = new Map(data.charts.map(c => [section.id.replace(/-repeats$/, "") + "-" + c.name, c]));
  const back = document.createElement("button");
  back.type = "button";
  back.className = "back";
  back.textContent = "whole trial";
  back.hidden = true;

  // The axis shows seconds or numbers of writes.
  const axisSteps = data.writes ? [1, 2, 5].flatMap(m => [...Array(12).keys()].map(n => m * 10 ** n)).sort((a, b) => a - b) : steps;
  const place = data.writes ? at => count(at) : seconds;
  const columnOf = t => Math.min(Math.max(Math.floor((t - data.from) / data.width), 0), data.n - 1);
  const timeOf = i => data.from + i * data.width;

  // show shows the values of a column in all charts. In the heat map, it also shows the value of the
  // row at the pointer.
  const show = (i, over, y) => {
    at = i;
    const when = place(timeOf(i), 1) + (data.width > 1 ? " to " + place(timeOf(i + 1), 1) : "") + (data.writes ? " writes" : "");
    for (const c of charts) {
      c.cursor.setAttribute("d", "M" + (timeOf(i) + data.width / 2) + " 0V" + c.height);
      c.time.textContent = when;
      const values = named.get(c.figure.id);
      if (values) c.entries.forEach((entry, k) => {
        const high = values.lines[k].h[i], low = values.lines[k].l ? values.lines[k].l[i] : high;
        const text = written[values.unit];
        const band = values.lines[k].m && values.lines[k].m[i] !== null ? " (repeats " + text(values.lines[k].n[i]) + " to " + text(values.lines[k].m[i]) + ")" : "";
        entry.value.textContent = (high === null ? "-" : low === high ? text(high) : text(low) + " to " + text(high)) + band;
      });
      if (c.figure.classList.contains("heat") && data.heat) {
        const cells = data.heat.columns[i], n = r => cells.length && r >= cells[0] ? cells[1 + r - cells[0]] || 0 : 0;
        if (c === over && y !== undefined) {
          const row = Math.min(Math.floor((1 - y) * data.heat.rows), data.heat.rows - 1);
          const edge = r => duration(10 ** ((data.heat.first + r) / 12));
          c.time.textContent = when + ", " + edge(row) + " to " + edge(row + 1) + ": " + count(n(row));
        } else c.time.textContent = when + ": " + count(cells.slice(1).reduce((a, b) => a + b, 0));
      }
    }
  };
  const hide = () => {
    at = null;
    for (const c of charts) {
      c.cursor.setAttribute("d", "");
      c.time.textContent = "";
      c.entries.forEach(e => { e.value.textContent = ""; });
    }
  };

  const zoom = (a, b) => {
    const least = Math.min(2 * data.width, whole[1] - whole[0]);
    if (b - a < least) [a, b] = [(a + b - least) / 2, (a + b + least) / 2];
    const length = Math.min(b - a, whole[1] - whole[0]);
    from = Math.min(Math.max(a, whole[0]), whole[1] - length);
    to = from + length;
    back.hidden = length >= whole[1] - whole[0];
    const step = axisSteps.find(s => length / s <= 7) || axisSteps[axisSteps.length - 1];
    for (const c of charts) {
      c.plot.setAttribute("viewBox", from + " 0 " + length + " " + c.height);
      const axis = c.figure.querySelector("g.x");
      axis.replaceChildren();
      for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9; k++) {
        const share = (k * step - from) / length, x = 100 * share + "%";
        make("line", {x1: x, x2: x, y1: c.height, y2: c.height + 4}, axis);
        make("text", {x, y: c.height + 17, class: share > 0.97 ? "e" : ""}, axis).textContent = place(k * step, step);
      }
    }
  };
  back.addEventListener("click", () => zoom(...whole));
  const heading = charts.length && charts[0].figure.previousElementSibling;
  if (heading) heading.append(back);

  for (const c of charts) {
    let began = null, band = null;
    const time = e => from + within(c, e)[0] * (to - from);
    c.paper.addEventListener("pointermove", e => {
      const t = time(e);
      show(columnOf(t), c, within(c, e)[1]);
      if (began === null) return;
      if (!band) band = make("rect", {class: "band", y: 0, height: c.height}, c.plot);
      band.setAttribute("x", Math.min(began, t));
      band.setAttribute("width", Math.abs(t - began));
    });
    c.paper.addEventListener("pointerleave", () => { if (began === null) hide(); });
    c.paper.addEventListener("pointerdown", e => {
      if (e.button !== 0) return;
      began = time(e);
      c.paper.setPointerCapture(e.pointerId);
    });
    const ended = zooms => e => {
      if (began === null) return;
      const t = time(e), moved = Math.abs(t - began) / (to - from);
      if (zooms && moved > 0.01) zoom(Math.min(began, t), Math.max(began, t));
      began = null;
      if (band) band.remove();
      band = null;
    };
    c.paper.addEventListener("pointerup", ended(true));
    c.paper.addEventListener("pointercancel", ended(false));
    c.paper.addEventListener("dblclick", () => zoom(...whole));
    c.paper.addEventListener("keydown", e => {
      const first = columnOf(from), last = columnOf(to - data.width / 1e6), here = at === null ? first : at;
      const step = e.shiftKey ? 10 : 1, middle = timeOf(here) + data.width / 2, half = (to - from) / 2;
      const keys = {
        ArrowLeft: () => show(Math.max(here - step, first)), ArrowRight: () => show(Math.min(at === null ? first : here + step, last)),
        Home: () => show(first), End: () => show(last),
        "+": () => zoom(middle - half / 2, middle + half / 2), "-": () => zoom(middle - 2 * half, middle + 2 * half),
        Escape: () => { zoom(...whole); hide(); },
      };
      keys["="] = keys["+"];
      if (!keys[e.key]) return;
      e.preventDefault();
      keys[e.key]();
    });
    c.paper.addEventListener("blur", hide);
  }
};

// Charts of percentiles show the value of each curve at the percentile under the pointer.
const curves = figure => {
  const source = figure.querySelector("script");
  if (!source) return;
  const data = JSON.parse(source.textContent), c = chart(figure);
  const width = Number(c.plot.getAttribute("viewBox").split(" ")[2]) / 100;
  const place = p => -Math.log10(1 - p / 100);
  const points = data.reduce((a, b) => b.length > a.length ? b : a, []);
  let here = 0;
  const show = x => {
    c.cursor.setAttribute("d", "M" + 100 * x + " 0V" + c.height);
    const p = 100 - 100 * 10 ** -x;
    c.time.textContent = "p" + (x < 1 ? p.toFixed(1) : p.toFixed(Math.min(Math.ceil(x) + 1, 8)));
    c.entries.forEach((entry, k) => {
      const after = data[k].find(point => place(point[0]) >= x - 1e-9);
      entry.value.textContent = !after ? "-" : duration(after[1]) + (after.length > 2 ? " (repeats " + duration(after[2]) + " to " + duration(after[3]) + ")" : "");
    });
  };
  const hide = () => {
    c.cursor.setAttribute("d", "");
    c.time.textContent = "";
    c.entries.forEach(e => { e.value.textContent = ""; });
  };
  c.paper.addEventListener("pointermove", e => show(within(c, e)[0] * width));
  c.paper.addEventListener("pointerleave", hide);
  c.paper.addEventListener("blur", hide);
  c.paper.addEventListener("keydown", e => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (!by || !points.length) return;
    e.preventDefault();
    here = Math.min(Math.max(here + by, 0), points.length - 1);
    show(place(points[here][0]));
  });
};

// Charts of ladder steps show the text of the step that is nearest to the pointer.
const spots = figure => {
  const source = figure.querySelector("script");
  if (!source) return;
  const c = chart(figure), data = JSON.parse(source.textContent);
  const all = data.flatMap((of, k) => of.map(spot => ({...spot, entry: c.entries[k]})));
  let here = -1;
  const show = spot => {
    c.cursor.setAttribute("d", "M" + 1000 * spot.x + " 0V" + c.height);
    c.time.textContent = spot.entry.name + ", " + spot.t;
  };
  const hide = () => {
    c.cursor.setAttribute("d", "");
    c.time.textContent = "";
  };
  c.paper.addEventListener("pointermove", e => {
    const [x, y] = within(c, e), width = c.plot.parentNode.getBoundingClientRect().width;
    const far = spot => Math.hypot((spot.x - x) * width, (spot.y - y) * c.height);
    const seen = all.filter(spot => !spot.entry.li.classList.contains("off"));
    if (seen.length) show(seen.reduce((a, b) => far(b) < far(a) ? b : a));
  });
  c.paper.addEventListener("pointerleave", hide);
  c.paper.addEventListener("blur", hide);
  c.paper.addEventListener("keydown", e => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (!by || !all.length) return;
    e.preventDefault();
    here = Math.min(Math.max(here + by, 0), all.length - 1);
    show(all[here]);
  });
};

document.documentElement.classList.add("scripted");
document.querySelectorAll("details.trial, section.linked").forEach(trial);

// A link to a part of a folded trial opens the trial. A printed page shows all trials.
const reveal = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target || !target.closest("details:not([open])")) return;
  for (let folded; (folded = target.closest("details:not([open])"));) folded.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  unfolded.forEach(d => { d.open = true; });
});
addEventListener("afterprint", () => unfolded.forEach(d => { d.open = false; }));
document.querySelectorAll("figure.curves").forEach(curves);
document.querySelectorAll("figure.spots").forEach(spots);
})();
