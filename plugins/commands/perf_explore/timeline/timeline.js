// The timeline in the page: asks the server for what each lane does in each pixel of the window, and draws it.
// Every window is an address, so that back, forward, bookmarks and links to a stretch work.
"use strict";
(() => {
const ROW = 18, AXIS = 20, STRIP = 18, CURVE = 96, GAP = 8, NONE = 255; // CSS pixels; the class of no state
const MOST_STRIPS = 4; // of markers within markers
const FAINTEST = 0.25; // of a colour where a lane is in its state for a small part of a pixel
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const PARTS = ["from", "to", "top", "toggled", "find", "rows"];

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const readable = (ns) => {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[3];
  return `${Number((ns / size).toPrecision(6))} ${unit}`;
};
// A time as the fields and the command line take it, to the nanosecond.
const typed = (ns) => {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) || UNITS[0];
  return `${Number((ns / size).toPrecision(14))}${unit.replace("µ", "u")}`;
};
const element = (tag, attributes = {}, text = "") => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
// A pixel of an image as one number, its least byte first, as every processor that browsers run on has it.
const packed = ([red, green, blue], alpha) => (Math.round(255 * alpha) << 24 | blue << 16 | green << 8 | red) >>> 0;

class Timeline {
  constructor(host) {
    this.host = host;
    this.settings = JSON.parse(host.dataset.settings);
    this.phases = [];
    this.markers = []; // of each strip, the outermost first
    this.ended = new AbortController();
    this.pathname = location.pathname;
    this.build();
    this.readAddress();
    const { signal } = this.ended;
    addEventListener("popstate", () => {
      if (location.pathname !== this.pathname) return; // of another view, which comes in this one's place
      this.readAddress();
      this.ask();
    }, { signal });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (this.answer) { this.paint(); this.draw(); } }, { signal });
    const sizes = new ResizeObserver(() => this.resized());
    sizes.observe(this.pane);
    signal.addEventListener("abort", () => sizes.disconnect());
    fetch(`${this.settings.feed}phases`).then((answer) => answer.json()).then((reply) => {
      this.phases = reply.phases || [];
      if (reply.phases && reply.phases.length) this.ask();
    }).catch(() => {});
  }

  // ---- the page around the canvas

  build() {
    const bar = element("div", { class: "bar-of-tools", role: "toolbar", "aria-label": "Timeline" });
    this.search = element("input", { type: "search", placeholder: "filter states", "aria-label": "Search a state",
      list: "timeline-states", autocomplete: "off", spellcheck: "false" });
    const known = element("datalist", { id: "timeline-states" });
    for (const state of this.settings.states) known.append(element("option", { value: state }));
    this.search.addEventListener("change", () => this.go({ find: this.search.value.trim() }));
    const button = (text, title, act) => {
      const made = element("button", { type: "button", class: "quiet", title }, text);
      made.addEventListener("click", act);
      bar.append(made);
      return made;
    };
    bar.append(this.search, known);
    this.ends = ["from", "to"].map((name) => {
      const field = element("input", { type: "text", title: "A time such as 1.2s, 10% or 300 us, or the name of a marker",
        autocomplete: "off", spellcheck: "false" });
      const label = element("label", {}, `${name} `);
      field.addEventListener("change", () => this.seek(true));
      label.append(field);
      bar.append(label);
      return field;
    });
    button("Longest", "Jump to the longest matching interval", () => this.jump("longest"));
    button("−", "Wider (-)", () => this.zoom(2));
    button("+", "Closer (+)", () => this.zoom(0.5));
    button("Whole run", "The whole run (0, or a double click)", () => this.reset());
    this.less = button("▲", "Lanes above (Page Up)", () => this.scroll(-this.state.rows));
    this.more = button("▼", "Lanes below (Page Down)", () => this.scroll(this.state.rows));
    this.less.hidden = this.more.hidden = true; // until there are more lanes than are shown
    this.perfetto = element("a", { download: "", href: this.settings.place }, "Open in Perfetto");
    this.perfetto.title = "What is shown as Chrome JSON: load the file at ui.perfetto.dev";
    bar.append(this.perfetto);
    const legend = element("p", { class: "legend" });
    for (const each of this.settings.classes) {
      const link = element("button", { type: "button", title: `Search the states of the class ${each.name.replaceAll("_", " ")}` });
      const colour = element("i");
      colour.style.background = each.colour;
      link.append(colour, each.name.replaceAll("_", " "));
      link.addEventListener("click", () => {
        const find = `class:${each.name}`;
        this.go({ find: this.state.find === find ? "" : find });
      });
      legend.append(link);
    }
    this.body = element("div", { class: "lanes" });
    this.names = element("div", { class: "names" });
    this.names.style.setProperty("--letters", this.settings.letters); // wide enough before the names come
    this.pane = element("div", { class: "pane", tabindex: "0", role: "application", "aria-label":
      `${this.settings.label}. Arrow keys move, plus and minus zoom, 0 shows the whole run.` });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.mark = element("div", { class: "mark", hidden: "" });
    this.pane.append(this.canvas, this.mark, this.tip);
    this.body.append(this.names, this.pane);
    this.hint = element("p", { class: "hint", role: "status" });
    this.host.append(bar, legend, this.hint, this.body);
    this.listen();
  }

  listen() {
    const pane = this.pane;
    pane.addEventListener("wheel", (event) => {
      if (event.ctrlKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
      else this.pan((event.deltaX || event.deltaY) / this.width, false);
      event.preventDefault();
    }, { passive: false });
    this.names.addEventListener("wheel", (event) => {
      if (!this.answer || this.answer.lanes <= this.state.rows) return;
      this.scroll(Math.sign(event.deltaY) * 3, false);
      event.preventDefault();
    }, { passive: false });
    pane.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.begun = this.place(event).x;
      pane.setPointerCapture(event.pointerId);
    });
    pane.addEventListener("pointermove", (event) => this.moved(event));
    pane.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    pane.addEventListener("pointercancel", () => { this.begun = undefined; this.mark.hidden = true; });
    pane.addEventListener("pointerup", (event) => {
      const { x, y } = this.place(event), begun = this.begun;
      this.begun = undefined;
      this.mark.hidden = true;
      if (begun === undefined) return;
      if (Math.abs(x - begun) > 4) this.stretch(this.time(Math.min(x, begun)), this.time(Math.max(x, begun)));
      else this.clicked(x, y);
    });
    pane.addEventListener("dblclick", () => this.reset());
    pane.addEventListener("keydown", (event) => {
      const acts = {
        ArrowLeft: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1), "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(), Escape: () => this.reset(),
        ArrowUp: () => this.scroll(-1), ArrowDown: () => this.scroll(1),
        PageUp: () => this.scroll(-this.state.rows), PageDown: () => this.scroll(this.state.rows),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !acts[event.key]) return;
      acts[event.key]();
      event.preventDefault();
    });
  }

  // ---- the state, and its address

  readAddress() {
    const query = new URLSearchParams(location.search), { unitNs, durationNs, shownFromNs } = this.settings;
    this.others = [...query].filter(([name]) => !PARTS.includes(name));
    const isTyped = ["from", "to"].some((name) => Number.isNaN(Number(query.get(name) ?? 0))); // such as 1.2s
    const time = (name, unasked) => query.get(name) && !isTyped ? Math.round(Number(query.get(name)) * unitNs - shownFromNs) : unasked;
    const toggled = (query.get("toggled") || "").split(".").filter(Boolean).map(Number);
    this.state = { from: clamp(time("from", 0), 0, durationNs), to: clamp(time("to", durationNs), 0, durationNs),
      top: Number(query.get("top") || 0), toggled: new Set(toggled), find: query.get("find") || "",
      rows: Number(query.get("rows") || this.settings.rows) };
    this.tell();
    if (!isTyped) return;
    this.ends.forEach((field, at) => { field.value = query.get(at ? "to" : "from") ?? ""; });
    this.seek(false);
  }

  // What is searched, and where the stretch begins and ends, in the fields.
  tell() {
    const { shownFromNs } = this.settings, { from, to } = this.state;
    this.search.value = this.state.find;
    this.ends.forEach((field, at) => { field.value = typed((at ? to : from) + shownFromNs); });
  }

  // To the stretch that the fields name, as the server reads them.
  async seek(isStep) {
    try {
      const query = new URLSearchParams([["from", this.ends[0].value.trim()], ["to", this.ends[1].value.trim()]]);
      const { from, to } = await this.fetchJson("window", query);
      this.go({ from, to }, isStep);
    } catch (error) { this.say(error.message); }
  }

  query(state = this.state) {
    const { unitNs, durationNs, shownFromNs, rows } = this.settings, query = new URLSearchParams(this.others);
    const put = (name, value) => { if (value) query.set(name, value); };
    put("from", state.from > 0 ? String((state.from + shownFromNs) / unitNs) : "");
    put("to", state.to < durationNs ? String((state.to + shownFromNs) / unitNs) : "");
    put("top", state.top);
    put("toggled", [...state.toggled].sort((one, other) => one - other).join("."));
    put("find", state.find);
    put("rows", state.rows === rows ? 0 : state.rows);
    return query;
  }

  // A step of its own in the history, or one with the step before, as while a wheel turns.
  go(change, isStep = true) {
    this.state = { ...this.state, ...change };
    this.tell();
    const query = this.query().toString(), address = this.settings.place + (query ? `?${query}` : "");
    if (address !== location.pathname + location.search) {
      history[isStep ? "pushState" : "replaceState"](null, "", address);
    }
    this.ask();
  }

  stretch(from, to, more = {}) {
    const { durationNs } = this.settings;
    const width = clamp(Math.round(to - from), 1, durationNs);
    const start = clamp(Math.round(from), 0, durationNs - width);
    this.go({ ...more, from: start, to: start + width }, more.isStep !== false);
  }
  zoom(factor, around) {
    const { from, to } = this.state, middle = around ?? (from + to) / 2;
    this.stretch(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }
  pan(share, isStep = true) {
    const { from, to } = this.state, shift = share * (to - from);
    const { durationNs } = this.settings, start = clamp(Math.round(from + shift), 0, durationNs - (to - from));
    this.go({ from: start, to: start + to - from }, isStep);
  }
  reset() { this.go({ from: 0, to: this.settings.durationNs }); }
  scroll(lanes, isStep = true) {
    const last = Math.max((this.answer ? this.answer.lanes : 0) - this.state.rows, 0);
    this.go({ top: clamp(this.state.top + lanes, 0, last) }, isStep);
  }
  toggle(at) {
    const toggled = new Set(this.state.toggled);
    if (!toggled.delete(at)) toggled.add(at);
    this.go({ toggled });
  }
  async jump(what) {
    try {
      const reply = await this.fetchJson(what, this.query());
      const top = reply.top === null ? 0 : Number(reply.top);
      if (what === "longest") {
        const margin = (reply.to - reply.from) / 10;
        this.stretch(reply.from - margin, reply.to + margin, { top });
      } else {
        this.chosen = new Set(reply.lanes);
        this.go({ top });
      }
      this.say(reply.text);
    } catch (error) { this.say(error.message); }
  }
  async fetchJson(what, query, signal) {
    const answer = await fetch(`${this.settings.feed}${what}?${query}`, { signal });
    const reply = await answer.json();
    if (!answer.ok) throw new Error(reply.error);
    return reply;
  }
  say(text) { this.hint.textContent = text; }

  // ---- what the server answers; of several questions the last one counts

  async ask() {
    if (this.width === undefined || this.ended.signal.aborted) return;
    if (this.waiting) { this.again = true; return; }
    this.waiting = true;
    const began = performance.now(), query = this.query();
    query.set("columns", Math.round(this.width * devicePixelRatio));
    try {
      const answer = await fetch(`${this.settings.feed}lanes?${query}`);
      if (!answer.ok) throw new Error((await answer.json()).error);
      const content = await answer.arrayBuffer(), length = new DataView(content).getUint32(0, true);
      this.answer = JSON.parse(new TextDecoder().decode(new Uint8Array(content, 4, length)));
      const cells = this.answer.rows.length * this.answer.columns, first = 4 + length;
      this.planes = [0, 1, 2].map((at) => new Uint8Array(content, first + Math.min(at * cells, content.byteLength - first)));
      this.arrangeMarkers();
      this.paint();
      this.draw();
      if (this.answer.search !== this.searched) this.say(this.answer.search);
      this.searched = this.answer.search;
      this.host.dataset.took = (performance.now() - began).toFixed(1);
      this.host.dataset.drawn = Number(this.host.dataset.drawn || 0) + 1;
    } catch (error) {
      this.say(error.message === "Failed to fetch" ? "perf explore does not answer" : error.message);
    }
    this.waiting = false;
    if (this.again) { this.again = false; this.ask(); }
  }

  // Markers that overlap stand below one another. Strips become only more, so that lanes do not jump while one moves.
  arrangeMarkers() {
    this.markers = this.markers.map(() => []);
    const ends = [], ordered = [...this.answer.markers].sort((one, other) => one[1] - other[1] || other[2] - one[2]);
    for (const marker of ordered) {
      let strip = ends.findIndex((end) => end <= marker[1]);
      if (strip < 0) strip = Math.min(ends.length, MOST_STRIPS - 1);
      ends[strip] = Math.max(marker[2], marker[1] + 1);
      (this.markers[strip] ||= []).push(marker);
    }
  }

  // ---- drawing

  // Lanes as an image of one pixel for each lane and column.
  paint() {
    const { rows, columns, search } = this.answer, [top, share, found] = this.planes;
    this.image ||= document.createElement("canvas");
    this.image.width = columns;
    this.image.height = Math.max(rows.length, 1);
    const context = this.image.getContext("2d"), image = context.createImageData(columns, Math.max(rows.length, 1));
    // Every colour that can occur is made once: a pixel is then one look-up, however many lanes there are.
    const shades = (colour, alpha) => Uint32Array.from({ length: 256 }, (_, part) => packed(colour, alpha(part / 255)));
    const faint = search ? FAINTEST : 1, style = getComputedStyle(this.host);
    const colour = (text) => rgb(style.getPropertyValue(text.slice(4, -1)).trim()); // of the sheet of colours, by its name
    const shown = this.settings.classes.map((each) => colour(each.colour)).map((colour) => shades(colour, (part) => faint * (FAINTEST + (1 - FAINTEST) * part)));
    const marked = shades(colour(this.settings.found), (part) => Math.max(0.4, part));
    const pixels = new Uint32Array(image.data.buffer);
    for (let at = 0; at < rows.length * columns; at++) {
      if (top[at] !== NONE) pixels[at] = search && found[at] ? marked[found[at]] : shown[top[at]][share[at]];
    }
    context.putImageData(image, 0, 0);
    this.label();
  }

  label() {
    const { rows, lanes, top } = this.answer;
    this.names.style.paddingTop = `${this.lanesAt}px`;
    this.perfetto.href = `${this.settings.feed}perfetto?${this.query()}`;
    const labels = JSON.stringify([rows, lanes, top, [...this.chosen || []]]);
    if (labels === this.labelled) return;
    this.labelled = labels;
    const focused = this.names.contains(document.activeElement) && document.activeElement.dataset.at;
    this.names.replaceChildren(...rows.map((row) => {
      const isGroup = row.open !== null;
      const made = element(isGroup ? "button" : "div", isGroup ? { type: "button", "aria-expanded": row.open } : {});
      made.dataset.at = row.at;
      made.className = this.chosen?.has(row.at) ? "chosen" : "";
      made.style.paddingLeft = `${0.3 + 0.8 * row.depth}rem`;
      made.title = isGroup ? `${row.name}: ${row.members} locations` : row.name;
      made.append(isGroup ? (row.open ? "▾ " : "▸ ") : "", element("bdi", {}, row.label));
      if (isGroup) made.addEventListener("click", () => this.toggle(row.at));
      return made;
    }));
    if (focused) this.names.querySelector(`[data-at="${focused}"]`)?.focus();
    this.less.disabled = top === 0;
    this.more.disabled = top + rows.length >= lanes;
    this.less.hidden = this.more.hidden = top === 0 && rows.length >= lanes;
    this.more.title = `Lanes below (Page Down); ${top + 1} to ${top + rows.length} of ${lanes} are shown`;
  }

  resized() {
    const width = this.pane.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.ask();
  }

  get lanesAt() { return AXIS + (this.phases.length ? STRIP : 0) + this.markers.length * STRIP; }
  get curveAt() { return this.lanesAt + (this.answer ? this.answer.rows.length : 1) * ROW + GAP; }
  time(x) { const { from, to } = this.answer; return from + (to - from) * clamp(x / this.width, 0, 1); }
  x(time) { const { from, to } = this.answer; return (time - from) / (to - from) * this.width; }
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
  timeAt(event) { return this.time(this.place(event).x); }

  draw() {
    if (!this.answer) return;
    const height = this.curveAt + CURVE, scale = devicePixelRatio, style = getComputedStyle(this.host);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    this.drawAxis(context, colour, height);
    context.imageSmoothingEnabled = false;
    this.answer.rows.forEach((row, at) => {
      const y = this.lanesAt + at * ROW;
      context.fillStyle = colour(this.chosen?.has(row.at) ? "--careful-soft" : "--soft");
      context.fillRect(0, y + 1, this.width, ROW - 2);
      context.drawImage(this.image, 0, at, this.answer.columns, 1, 0, y + 1, this.width, ROW - 2);
    });
    let y = AXIS;
    if (this.phases.length) { this.drawStrip(context, colour, this.phases, y, true); y += STRIP; }
    this.markers.forEach((markers, at) => this.drawStrip(context, colour, markers, y + at * STRIP, false));
    this.drawCurve(context, colour);
  }

  drawAxis(context, colour, height) {
    const { from, to } = this.answer, offset = this.settings.shownFromNs, least = (to - from) * Math.min(110, this.width / 3.5) / this.width;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max([1, 2, 5, 10].map((part) => part * power).find((size) => size >= least), 1);
    const [unit, size] = UNITS.find(([, size]) => Math.max(Math.abs(from + offset), Math.abs(to + offset)) >= size) || UNITS[3];
    const digits = clamp(Math.ceil(-Math.log10(step / size) - 1e-9), 0, 12);
    context.textAlign = "center";
    for (let tick = Math.ceil((from + offset) / step); tick * step <= to + offset; tick++) {
      const x = this.x(tick * step - offset);
      context.fillStyle = colour("--grid");
      context.fillRect(x, AXIS, 1, height - AXIS);
      context.fillStyle = colour("--quiet");
      const text = `${(tick * step / size).toFixed(digits)} ${unit}`, half = context.measureText(text).width / 2;
      if (x >= half && x <= this.width - half) context.fillText(text, x, AXIS / 2);
    }
  }

  drawStrip(context, colour, stretches, y, hasEdges) {
    context.textAlign = "left";
    stretches.forEach(([name, from, to], at) => {
      const left = Math.max(this.x(from), -2), right = Math.min(this.x(to), this.width + 2);
      if (right < 0 || left > this.width) return;
      context.fillStyle = colour(at % 2 ? "--soft" : "--line");
      context.fillRect(left, y + 1, Math.max(right - left, 1), STRIP - 3);
      context.strokeStyle = colour("--paper");
      context.strokeRect(left, y + 0.5, Math.max(right - left, 1), STRIP - 2);
      if (hasEdges) {
        context.fillStyle = colour("--ink");
        context.fillRect(left, y, 1, this.curveAt + CURVE - y);
      }
      const seen = Math.max(left, 0), room = Math.min(right, this.width) - seen - 8;
      if (room < 24) return;
      context.save();
      context.beginPath();
      context.rect(seen, y, room + 6, STRIP);
      context.clip();
      context.fillStyle = colour("--ink");
      context.fillText(name.slice(0, 60), seen + 4, y + STRIP / 2);
      context.restore();
    });
  }

  drawCurve(context, colour) {
    const { busy } = this.answer, bottom = this.curveAt + CURVE - 2, most = Math.max(...busy, 1e-9);
    const high = CURVE - 20, wide = this.width / busy.length;
    context.beginPath();
    context.moveTo(0, bottom);
    busy.forEach((value, at) => {
      const y = bottom - value / most * high;
      context.lineTo(at * wide, y);
      context.lineTo((at + 1) * wide, y);
    });
    context.lineTo(this.width, bottom);
    context.fillStyle = colour("--soft");
    context.fill();
    context.strokeStyle = colour("--accent");
    context.stroke();
    context.fillStyle = colour("--quiet");
    context.textAlign = "left";
    const text = `computing, of ${this.settings.locations}; at most ${Number(most.toPrecision(4))} here`;
    context.fillText(text, 4, this.curveAt + 8);
  }

  // ---- what the pointer says

  stretchAt(x, y) {
    let top = AXIS;
    for (const stretches of [...this.phases.length ? [this.phases] : [], ...this.markers]) {
      if (y >= top && y < top + STRIP) {
        const time = this.time(x), near = (this.answer.to - this.answer.from) / this.width * 2;
        return stretches.filter(([, from, to]) => from - near <= time && time <= to + near)
          .sort((one, other) => one[2] - one[1] - other[2] + other[1])[0];
      }
      top += STRIP;
    }
    return undefined;
  }

  clicked(x, y) {
    const stretch = this.answer && this.stretchAt(x, y);
    if (stretch) this.stretch(stretch[1], stretch[2]);
  }

  moved(event) {
    if (!this.answer) return;
    const { x, y } = this.place(event);
    if (this.begun !== undefined && Math.abs(x - this.begun) > 4) {
      Object.assign(this.mark.style, { left: `${Math.min(x, this.begun)}px`, width: `${Math.abs(x - this.begun)}px` });
      this.mark.hidden = false;
      this.show(x, y, [readable(Math.abs(this.time(x) - this.time(this.begun)))]);
      return;
    }
    const row = Math.floor((y - this.lanesAt) / ROW), stretch = this.stretchAt(x, y);
    if (stretch) this.show(x, y, [stretch[0], readable(stretch[2] - stretch[1])]);
    else if (row >= 0 && row < this.answer.rows.length) this.askAt(this.answer.rows[row].at, x, y);
    else if (y >= this.curveAt) {
      const value = this.answer.busy[clamp(Math.floor(x / this.width * this.answer.busy.length), 0, this.answer.busy.length - 1)];
      this.show(x, y, [`${value} of ${this.settings.locations} computing`, `at ${readable(this.time(x) + this.settings.shownFromNs)}`]);
    } else this.tip.hidden = true;
  }

  async askAt(lane, x, y) {
    this.wanted = [lane, x, y];
    if (this.asking) return;
    this.asking = true;
    while (this.wanted) {
      const [at, left, top] = this.wanted, { unitNs, shownFromNs } = this.settings;
      this.wanted = undefined;
      const from = Math.floor(this.time(left)), to = Math.min(Math.max(Math.floor(this.time(left + 1)), from + 1), this.settings.durationNs);
      const start = Math.min(from, to - 1);
      try {
        const reply = await this.fetchJson("at", new URLSearchParams({ lane: at, from: (start + shownFromNs) / unitNs, to: (to + shownFromNs) / unitNs }));
        this.show(left, top, reply.lines);
      } catch (error) { this.say(error.message); }
    }
    this.asking = false;
  }

  show(x, y, lines) {
    this.tip.replaceChildren(...lines.map((line) => element("bdi", {}, line)));
    this.tip.hidden = false;
    const left = clamp(x + 14, 0, Math.max(this.width - this.tip.offsetWidth - 4, 0));
    Object.assign(this.tip.style, { left: `${left}px`, top: `${y + 18}px` });
  }
}

let timelines = [];
const begin = () => {
  timelines.forEach((timeline) => timeline.ended.abort());
  timelines = [...document.querySelectorAll('.live[data-kind="timeline"]')].map((host) => new Timeline(host));
};
document.addEventListener("shown", begin); // another view came in the place of the one before
begin();
})();
