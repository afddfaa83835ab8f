// Draws the charts of a page or a report by BokehJS: values under the pointer, zoom by dragging, legend entries that
// switch series, logarithmic scales, PNG and CSV. Every name is put in as text.
"use strict";
(() => {
const NARROW = 560, PAUSE_MS = 150, MOST_ROWS = 12, GRIP = 8;
const dark = matchMedia("(prefers-color-scheme: dark)");
const make = (tag, values = {}, ...inside) => {
  const element = Object.assign(document.createElement(tag), values);
  element.append(...inside);
  return element;
};
let onDark;
const colour = (name) => {
  onDark ??= JSON.parse(document.getElementById("on-dark")?.textContent || "{}");
  return dark.matches && onDark[name] || name;
};

// ---- numbers as the terminal writes them

const digits = (value, most = 3) => {
  const rounded = Number(value.toPrecision(most)), size = Math.abs(rounded);
  if (size && (size < 1e-4 || size >= 1e7)) return rounded.toExponential().replace("e+", "e");
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 12 });
};
const bare = (value, axis) => {
  if (value == null || !Number.isFinite(value)) return "-";
  const share = /\.(\d)%$/.exec(axis.format);
  if (share) return `${(100 * value).toFixed(Number(share[1]))}%`;
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? value.toLocaleString("en-US") : digits(value);
};
const written = (value, axis, low, high) => {
  const unit = axis.unit ? ` ${axis.unit}` : "", number = bare(value, axis);
  if (low == null || !Number.isFinite(low)) return number + unit;
  const lower = bare(low, axis), upper = bare(high, axis);
  return `${number}${unit} (${upper.endsWith("%") ? lower.replace(/%$/, "") : lower}\u2013${upper})`;
};
const place = (value, axis) => {
  if (axis.scale === "category") return axis.names[Math.round(value)] ?? "";
  return `${axis.label ? `${axis.label} ` : ""}${written(value, axis)}`;
};
const middle = (name, most) => name.length <= most ? name : `${name.slice(0, most - 6)}\u2026${name.slice(-5)}`;

// ---- documents of BokehJS

let asked;
const library = () => asked ??= new Promise((resolve, reject) => {
  const known = () => {
    Bokeh.logger.set_level("error");
    resolve(Bokeh);
  };
  if (window.Bokeh) known(); // it is in the file of a report
  else document.head.append(make("script", { src: "/-/bokeh.js", onload: known, onerror: reject }));
});

const walk = (value, change) => {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((each) => walk(each, change));
  if (value && typeof value === "object") return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, walk(each, change)]));
  return value;
};
const root = (item) => item.doc.roots[0].attributes;
const axisOf = (item, name) => root(item)[name === "x" ? "below" : "left"][0];

// Axes in the other scale: their kinds and ranges are changed before the document is drawn.
const rescale = (item, name, kind, meta) => {
  const isLog = kind === "log", attributes = root(item), axis = axisOf(item, name);
  attributes[`${name}_scale`].name = isLog ? "LogScale" : "LinearScale";
  axis.name = isLog ? "LogAxis" : "LinearAxis";
  Object.assign(axis.attributes.ticker, isLog ? { name: "FixedTicker", attributes: { ticks: [] } } : { name: "BasicTicker", attributes: {} });
  [attributes[`${name}_range`].attributes.start, attributes[`${name}_range`].attributes.end] = meta.ranges[kind];
};
// Powers of two, or 1, 2 and 5 times powers of ten; round steps where these are too far from one another.
const ticks = (start, end, base) => {
  const [low, high] = start < end ? [start, end] : [end, start], found = [];
  if (!(low > 0)) return found;
  const steps = base === 2 ? [1] : Math.log10(high / low) > 4 ? [1] : [1, 2, 5], radix = base === 2 ? 2 : 10;
  const stride = Math.max(1, Math.ceil(Math.log(high / low) / Math.log(radix) / 12));
  for (let power = Math.floor(Math.log(low) / Math.log(radix)); radix ** power <= high; power += 1)
    for (const step of steps) if (power % stride === 0) found.push(step * radix ** power);
  const inside = found.filter((each) => low <= each && each <= high);
  if (inside.length > 2) return inside;
  const size = 10 ** Math.floor(Math.log10((high - low) / 3)), step = [1, 2, 5, 10].find((each) => (high - low) / (each * size) <= 7) * size;
  return Array.from({ length: 9 }, (_, at) => Number(((Math.ceil(low / step) + at) * step).toPrecision(12))).filter((each) => each <= high);
};
const narrow = (item, width) => {
  for (const name of ["x", "y"]) {
    const overrides = axisOf(item, name).attributes.major_label_overrides;
    const most = Math.max(Math.floor(width / 26), 8);
    for (const [, label] of overrides?.entries ?? []) label.attributes.text = middle(label.attributes.text, most);
  }
};

class Chart {
  constructor(host) {
    this.host = host;
    this.content = JSON.parse(host.querySelector("script").textContent);
    this.kinds = { x: this.kindOf("x"), y: this.kindOf("y") };
    this.hidden = new Set();
    this.pane = make("div", { className: "chart-pane", tabIndex: 0 });
    this.pane.setAttribute("role", "application");
    this.pane.setAttribute("aria-label", `${host.getAttribute("aria-label")}; arrow keys move the cursor`);
    this.cross = make("i", { className: "chart-cross", hidden: true });
    this.tip = make("div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "status");
    this.place = make("div", { className: "chart-place" });
    this.pane.append(this.place, this.cross, this.tip);
    host.append(this.tools(), this.pane, this.legend());
    this.pane.addEventListener("pointermove", (event) => this.point(event));
    this.pane.addEventListener("pointerleave", () => this.leave());
    this.pane.addEventListener("dblclick", () => this.reset());
    this.pane.addEventListener("keydown", (event) => this.key(event));
    this.pane.addEventListener("pointerdown", (event) => this.grab(event), true);
    dark.addEventListener("change", () => this.host.isConnected && this.draw());
  }

  kindOf(name) { return this.content[name].scale === "log" ? "log" : "linear"; }

  // One after the other: what is asked for while a chart is being drawn would stand below it.
  draw() {
    this.drawing = Promise.resolve(this.drawing).catch(() => {}).then(() => this.paint());
    return this.drawing;
  }

  async paint() {
    let item = structuredClone(this.content.item);
    for (const name of ["x", "y"])
      if (this.kinds[name] !== this.kindOf(name)) rescale(item, name, this.kinds[name], this.content[name]);
    const width = this.pane.clientWidth;
    if (width < NARROW) narrow(item, width);
    item = walk(item, colour);
    this.place.replaceChildren();
    const views = await (await library()).embed.embed_item(item, this.place);
    this.view = [...views][0] ?? views.roots[0];
    this.plot = this.view.model;
    for (const name of this.hidden) this.show(name, false);
    for (const range of [this.plot.x_range, this.plot.y_range])
      range.properties.start.change.connect(() => this.moved());
    this.tick();
    this.host.dataset.drawn = String(Number(this.host.dataset.drawn || 0) + 1);
  }

  renderers(series) {
    return this.plot.renderers.filter((each) => series.renderers.includes(each.name));
  }
  columns(series) { return this.renderers(series)[0]?.data_source.data ?? {}; }

  // ---- tools

  tools() {
    const button = (text, title, act) => {
      const made = make("button", { type: "button", textContent: text, title, className: "quiet" });
      made.addEventListener("click", () => act.call(this, made));
      return made;
    };
    const tools = make("p", { className: "chart-tools" });
    for (const name of ["x", "y"]) {
      if (!this.content[name].ranges.log || this.content[name].scale === "category") continue;
      const made = button(`log ${name}`, `Logarithmic or linear ${name} axis`, () => {
        this.kinds[name] = this.kinds[name] === "log" ? "linear" : "log";
        made.setAttribute("aria-pressed", String(this.kinds[name] === "log"));
        this.draw();
      });
      made.setAttribute("aria-pressed", String(this.kinds[name] === "log"));
      tools.append(made);
    }
    if (this.host.closest(".small-multiples"))
      tools.append(make("button", { type: "button", className: "quiet enlarge", textContent: "Enlarge" }));
    tools.append(button("Reset", "Show all of it (double-click)", this.reset), button("PNG", "Save what is shown as PNG",
      this.png), button("CSV", "Save the data as CSV", this.csv));
    return tools;
  }

  legend() {
    const labels = new Map();
    for (const each of this.content.series) if (each.label && !labels.has(each.label)) labels.set(each.label, each);
    const legend = make("p", { className: "legend", hidden: !labels.size || !this.content.legend });
    for (const [label, series] of labels) {
      const sign = make("i", { className: `sign ${series.kind} ${series.dash}` });
      sign.style.setProperty("--sign", colour(series.colour));
      dark.addEventListener("change", () => sign.style.setProperty("--sign", colour(series.colour)));
      const button = make("button", { type: "button", title: "Show or hide" }, sign, make("bdi", { textContent: label }));
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const isShown = this.hidden.delete(label);
        if (!isShown) this.hidden.add(label);
        button.setAttribute("aria-pressed", String(isShown));
        this.show(label, isShown);
      });
      legend.append(button);
    }
    return legend;
  }

  show(label, isShown) {
    for (const series of this.content.series)
      if (series.label === label) for (const each of this.renderers(series)) each.visible = isShown;
  }

  reset() {
    this.view?.reset();
    this.leave();
  }

  save(url, ending) {
    const name = `${document.title} ${this.content.title}`.replace(/[^\p{L}\p{N}.=-]+/gu, "-").slice(0, 80);
    make("a", { href: url, download: `${name.replace(/^[-.]+|[-.]+$/g, "") || "chart"}.${ending}` }).click();
  }

  png() {
    const chart = this.view.export("png", true).canvas, labels = this.legendEntries();
    const line = 22 * devicePixelRatio, canvas = make("canvas", { width: chart.width, height: chart.height });
    const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const font = `${13 * devicePixelRatio}px sans-serif`;
    const places = [];
    context.font = font;
    let [x, y] = [line / 2, 0];
    for (const { label, sign } of labels) {
      const width = context.measureText(label).width + 1.8 * line;
      if (x > line && x + width > chart.width) [x, y] = [line / 2, y + line];
      places.push({ x, y, label, sign });
      x += width;
    }
    canvas.height += places.length ? y + 1.4 * line : 0;
    context.fillStyle = style.getPropertyValue("--paper");
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(chart, 0, 0);
    context.font = font;
    for (const each of places) {
      context.fillStyle = each.sign;
      context.fillRect(each.x, chart.height + each.y + 0.35 * line, 0.7 * line, 0.35 * line);
      context.fillStyle = style.getPropertyValue("--ink");
      context.fillText(each.label, each.x + line, chart.height + each.y + 0.7 * line);
    }
    this.save(canvas.toDataURL("image/png"), "png");
  }

  legendEntries() {
    const labels = new Map();
    for (const each of this.content.series) if (each.label && !this.hidden.has(each.label))
      labels.set(each.label, { label: each.label, sign: colour(each.colour) });
    return this.content.legend ? [...labels.values()] : [];
  }

  csv() {
    // A cell that begins like a formula would be one in a spreadsheet.
    const cell = (value) => {
      const text = typeof value === "number" ? (Number.isFinite(value) ? String(value) : "") : String(value ?? "");
      const safe = typeof value === "number" ? text : text.replace(/^[=+@\t\r-]/, "'$&");
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    const all = this.content.series.map((series) => [series, this.columns(series)]);
    const names = [...new Set(all.flatMap(([, columns]) => Object.keys(columns)))].filter((name) => name !== "colour");
    const lines = [["series", ...names].join(",")];
    for (const [series, columns] of all) {
      const count = Math.max(0, ...Object.values(columns).map((values) => values.length));
      for (let row = 0; row < count; row += 1)
        lines.push([series.label, ...names.map((name) => columns[name]?.[row])].map(cell).join(","));
    }
    const text = `${lines.join("\r\n")}\r\n`;
    this.save(`data:text/csv;charset=utf-8,${encodeURIComponent(text)}`, "csv");
  }

  // ---- a target that is dragged: the page asks again, at the place where it is let go

  draggable(left) {
    if (!this.view || location.protocol === "file:" || document.querySelector(".report")) return undefined;
    return this.content.series.find((each) => each.drag && [...this.columns(each).place]
      .some((value) => Math.abs(this.view.frame.x_scale.compute(value) - left) < GRIP));
  }

  grab(event) {
    const box = this.place.getBoundingClientRect(), series = this.draggable(event.clientX - box.left);
    if (!series || event.button) return;
    event.stopPropagation();
    event.preventDefault();
    this.leave();
    const source = this.renderers(series)[0].data_source, whole = this.integers(), { bbox, x_scale } = this.view.frame;
    let value;
    const move = (now) => {
      const left = Math.min(Math.max(now.clientX - box.left, bbox.left), bbox.right), exact = x_scale.invert(left);
      value = whole ? Math.max(Math.round(exact), 1) : Number(exact.toPrecision(3));
      source.data = { place: [value] };
      this.tip.replaceChildren(make("strong", {}, make("bdi", { textContent: place(value, this.content.x) })));
      this.tip.hidden = false;
      this.tip.style.left = `${Math.max(0, Math.min(left + 14, this.pane.clientWidth - this.tip.offsetWidth))}px`;
      this.tip.style.top = `${bbox.top}px`;
    };
    const drop = () => {
      removeEventListener("pointermove", move, true);
      this.leave();
      if (value === undefined) return;
      const [field, parameter] = series.drag.split("="), query = new URLSearchParams(location.search);
      query.set(`${this.host.dataset.prefix}${field}`, `${parameter}=${value}`);
      document.dispatchEvent(new CustomEvent("go", { detail: `${location.pathname}?${query}` }));
    };
    addEventListener("pointermove", move, true);
    addEventListener("pointerup", drop, { capture: true, once: true });
  }

  integers() {
    return this.content.series.every((each) => each.kind !== "points" || [...this.columns(each).x].every(Number.isInteger));
  }

  // ---- what is under the pointer

  point(event) {
    if (!this.view || event.buttons) return this.leave();
    const box = this.place.getBoundingClientRect(), left = event.clientX - box.left;
    this.pane.style.cursor = this.draggable(left) ? "ew-resize" : "";
    this.showAt(left, event.clientY - box.top);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") this.reset();
    if (!step || !this.view) return;
    event.preventDefault();
    const { left, right, top, bottom } = this.view.frame.bbox;
    const known = this.stops();
    if (!known.length) return;
    const at = this.stop === undefined ? (step > 0 ? -1 : known.length) : this.stop;
    this.stop = Math.min(Math.max(at + step, 0), known.length - 1);
    const [x, y] = known[this.stop];
    this.showAt(Math.min(Math.max(x, left), right), y === undefined ? (top + bottom) / 2 : y);
  }

  // Pixels of the places that arrow keys go to: single points and bars, or else a line's.
  stops() {
    const { x_scale, y_scale } = this.view.frame, found = new Map();
    const isShown = this.content.series.filter((each) => !this.hidden.has(each.label));
    const single = isShown.filter((each) => ["points", "bars", "hbars", "spans"].includes(each.kind));
    for (const series of single.length ? single : isShown) {
      const columns = this.columns(series);
      const xs = columns.x ?? (series.kind === "bars" ? columns.place : columns.left);
      if (series.kind === "hbars") [...columns.place].forEach((value, row) =>
        found.set(`y${value}`, [x_scale.compute(columns.end[row]) - 2, y_scale.compute(value)]));
      else [...xs ?? []].slice(0, 2000).forEach((value) => found.set(value, [x_scale.compute(value), undefined]));
    }
    return [...found.values()].sort((one, other) => one[1] === undefined ? one[0] - other[0] : one[1] - other[1]);
  }

  showAt(left, top) {
    const { bbox, x_scale, y_scale } = this.view.frame;
    if (left < bbox.left - 1 || left > bbox.right + 1 || top < bbox.top - 1 || top > bbox.bottom + 1) return this.leave();
    const [x, y] = [x_scale.invert(left), y_scale.invert(top)];
    const rows = [];
    for (const series of this.content.series) {
      if (this.hidden.has(series.label) || rows.length >= MOST_ROWS) continue;
      const found = this.rowOf(series, this.columns(series), x, y, left, top);
      if (found) rows.push({ ...found, series });
    }
    // Where single points are near the pointer, everything is said of their place.
    const near = rows.filter((row) => row.distance !== undefined).sort((one, other) => one.distance - other.distance)[0];
    const at = near?.at ?? x;
    if (!rows.length) return this.leave();
    const heading = rows[0].heading ?? place(near ? at : rows.find((row) => row.at !== undefined)?.at ?? x, this.content.x);
    this.tip.replaceChildren(make("strong", {}, make("bdi", { textContent: heading })));
    for (const { series, text, name, at: own } of rows) {
      if (near && own !== undefined && Math.abs(x_scale.compute(own) - x_scale.compute(at)) > 12) continue;
      const sign = make("i", { className: "sign" });
      sign.style.setProperty("--sign", colour(series.colour));
      this.tip.append(make("div", {}, sign, make("bdi", { textContent: [name || series.label, text].filter(Boolean).join(": ") })));
    }
    this.tip.hidden = this.cross.hidden = false;
    const middleX = near ? x_scale.compute(at) : left;
    this.cross.style.cssText = `left:${middleX}px;top:${bbox.top}px;height:${bbox.height}px;--y:${top - bbox.top}px;`
      + `--left:${bbox.left - middleX}px;--width:${bbox.width}px`;
    const room = this.pane.clientWidth, width = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, middleX + 14 + width > room ? middleX - width - 14 : middleX + 14)}px`;
    this.tip.style.top = `${Math.max(0, Math.min(top - 10, bbox.bottom - this.tip.offsetHeight))}px`;
  }

  leave() { this.tip.hidden = this.cross.hidden = true; }

  // What a series has at a place: text, name, place on x, distance in pixels of a single point, heading.
  rowOf(series, columns, x, y, left, top) {
    const { x_scale, y_scale } = this.view.frame, axes = this.content;
    if (["line", "points", "band"].includes(series.kind)) {
      const found = nearest(columns.x, x, x_scale, left, series.kind === "points" ? columns.y : undefined, y_scale, top);
      if (found === undefined) return undefined;
      const pixels = Math.abs(x_scale.compute(columns.x[found]) - left);
      if (series.kind === "points" && pixels > 24) return undefined;
      if (series.kind !== "points" && columns.x.length > 1 && outside(columns.x, x)) return undefined;
      const at = columns.x[found], name = columns.name?.[found];
      if (series.kind === "band")
        return series.label && { at, text: `${bare(columns.low[found], axes.y)}\u2013${written(columns.high[found], axes.y)}` };
      const text = written(columns.y[found], axes.y, columns.low?.[found], columns.high?.[found]);
      return series.kind === "points" ? { at, text, name: name && [series.label, name].filter(Boolean).join(", "), distance: pixels }
        : series.label && { at, text };
    }
    if (series.kind === "bars" || series.kind === "hbars") {
      const [value, along, across] = series.kind === "bars" ? [x, axes.y, axes.x] : [y, axes.x, axes.y];
      const found = indexOf(columns.place, (each) => Math.abs(each - value) <= 0.5 * Math.min(1, spacing(columns.place)));
      if (found === undefined) return undefined;
      return {
        text: [written(columns.value[found], along, columns.low?.[found], columns.high?.[found]), columns.text?.[found]]
          .filter((each, at) => !at || each && !/^[\d.,]+ ?%?$/.test(each)).join("; "),
        name: series.label, heading: columns.name?.[found] || place(columns.place[found], across),
      };
    }
    if (series.kind === "spans" || series.kind === "strips" || series.kind === "areas") {
      const isFlat = series.kind === "strips";
      const found = indexOf(columns.left, (start, at) => start <= x && x <= columns.right[at]
        && (isFlat || Math.min(columns.bottom[at], columns.top[at]) <= y && y <= Math.max(columns.bottom[at], columns.top[at])));
      if (found === undefined) return undefined;
      if (series.kind === "areas")
        return { text: written(columns.top[found] - columns.bottom[found], axes.y), at: x, name: series.label };
      const lasts = `${written(columns.right[found] - columns.left[found], axes.x)}`;
      return columns.name || series.label ? { text: lasts, name: columns.name?.[found] || series.label } : undefined;
    }
    if (series.kind === "xrule" && series.label) {
      const found = indexOf(columns.place, (each) => Math.abs(x_scale.compute(each) - left) < 8);
      return found === undefined ? undefined : { text: written(columns.place[found], axes.x), name: series.label };
    }
    return undefined;
  }

  // ---- long lines come again in finer bins, of the window that is shown

  tick() {
    for (const [name, side] of [["x", "below"], ["y", "left"]]) {
      const { start, end } = this.plot[`${name}_range`], axis = this.plot[side][0];
      if (this.kinds[name] !== "log" || this.content[name].ticks) continue;
      const places = ticks(start, end, this.content[name].base);
      axis.major_label_overrides = new Map(places.map((each) => [each, bare(each, this.content[name])]));
      axis.ticker.ticks = places;
    }
  }

  moved() {
    this.leave();
    this.tick();
    if (!this.content.is_long || !this.host.dataset.feed) return;
    clearTimeout(this.wait);
    this.wait = setTimeout(() => this.refine(), PAUSE_MS);
  }

  async refine() {
    const { start, end } = this.plot.x_range;
    try {
      const answer = await fetch(`${this.host.dataset.feed}&from=${start}&to=${end}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const content = await answer.json();
      if (this.plot.x_range.start !== start || this.plot.x_range.end !== end) return;
      for (const renderer of this.plot.renderers) if (content[renderer.name]) renderer.data_source.data = Object.fromEntries(
        Object.entries(content[renderer.name]).map(([name, values]) => [name, values.map((each) => each ?? NaN)]));
      this.host.dataset.refined = String(Number(this.host.dataset.refined || 0) + 1);
    } catch {
      this.host.dispatchEvent(new CustomEvent("lost", { bubbles: true }));
    }
  }
}

const nearest = (places, x, scale, left, heights, yScale, top) => {
  if (!places?.length) return undefined;
  if (places.length > 64 && !heights) {
    let [low, high] = [0, places.length - 1];
    while (low < high) { // the last place that is not beyond the pointer
      const half = (low + high + 1) >> 1;
      if (places[half] <= x) low = half; else high = half - 1;
    }
    return low;
  }
  let [best, least] = [undefined, Infinity];
  for (let at = 0; at < places.length; at += 1) {
    const across = Math.abs(scale.compute(places[at]) - left);
    const distance = heights ? Math.hypot(across, 0.3 * (yScale.compute(heights[at]) - top)) : across;
    if (distance < least) [best, least] = [at, distance];
  }
  return best;
};
const outside = (places, x) => {
  const [first, last] = [places[0], places[places.length - 1]];
  return x < Math.min(first, last) || x > Math.max(first, last);
};
const spacing = (places) => {
  let least = Infinity;
  for (let at = 1; at < places.length; at += 1) {
    const step = Math.abs(places[at] - places[at - 1]);
    if (step > 0) least = Math.min(least, step);
  }
  return least;
};
const indexOf = (values, test) => {
  for (let at = 0; at < (values?.length ?? 0); at += 1) if (test(values[at], at)) return at;
  return undefined;
};

// A click on the title of a small chart makes it as wide as the page.
document.addEventListener("click", (event) => {
  const section = event.target.closest(".small-multiples > section");
  if (!section || !event.target.closest("h2, h3, button.enlarge")) return;
  section.classList.toggle("large");
  const { chart } = section.querySelector("figure.chart");
  if (chart?.plot) chart.plot.height = section.classList.contains("large") ? 420 : root(chart.content.item).height;
});

// Charts are drawn when they come near the window: a page of sixty opens as fast as one of three.
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) {
    seen.unobserve(target);
    target.chart = new Chart(target);
    target.chart.draw();
  }
}, { rootMargin: "300px" });
const start = () => document.querySelectorAll("figure.chart:not([data-seen])").forEach((each) => {
  each.dataset.seen = "";
  seen.observe(each);
});
document.addEventListener("shown", start);
start();
})();
