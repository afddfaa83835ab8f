// Charts one can touch: values under the pointer, and a closer look where the pointer was dragged. The picture itself is
// matplotlib's; the same figure as data stands beside it, and what is zoomed is drawn from these.
"use strict";
(() => {
const SVG = "http://www.w3.org/2000/svg", NEAR = 40; // units of the picture, which are points of 1/72 inch
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const number = (value) => String(Number(value.toPrecision(6)));
const made = (tag, attributes, parent) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
};

// Places along one axis of a panel: linear or logarithmic, between two ends that zooming changes.
class Scale {
  constructor(axis, low, high) {
    Object.assign(this, { axis, low, high, from: axis.from, to: axis.to });
    this.isLog = axis.scale === "log";
  }
  get isWhole() { return this.from === this.axis.from && this.to === this.axis.to; }
  warp(value) { return this.isLog ? Math.log(value) : value; }
  place(value) {
    const [from, to] = [this.warp(this.from), this.warp(this.to)];
    return this.low + (this.warp(value) - from) / (to - from) * (this.high - this.low);
  }
  value(place) {
    const [from, to] = [this.warp(this.from), this.warp(this.to)];
    const value = from + (place - this.low) / (this.high - this.low) * (to - from);
    return this.isLog ? Math.exp(value) : value;
  }
  between(one, other) {
    const ends = [this.value(one), this.value(other)].sort((a, b) => a - b);
    if (this.axis.from > this.axis.to) ends.reverse();
    if (ends[0] !== ends[1]) [this.from, this.to] = ends;
  }
  pan(share) { const step = share * (this.high - this.low); this.between(this.low + step, this.high + step); }
  reset() { this.from = this.axis.from; this.to = this.axis.to; }
  text(value) {
    const near = this.axis.names?.find(([at]) => Math.abs(at - value) < 0.5);
    return near ? near[1] : number(value);
  }
  ticks() {
    const [low, high] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
    if (this.axis.names) return this.axis.names.filter(([at]) => at >= low && at <= high);
    if (this.isLog && high / low > 5) {
      const found = [];
      const parts = high / low > 300 ? [1] : [1, 2, 5];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
        for (const part of parts) found.push(part * 10 ** power);
      }
      return found.filter((at) => at >= low && at <= high).map((at) => [at, number(at)]);
    }
    const least = (high - low) / 6, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((part) => part * power).find((size) => size >= least);
    const found = [];
    for (let tick = Math.ceil(low / step); tick * step <= high; tick++) found.push([tick * step, number(tick * step)]);
    return found;
  }
}

class TouchedChart {
  constructor(figure, which) {
    this.figure = figure;
    this.which = which;
    this.stretch = figure.dataset.stretch && JSON.parse(figure.dataset.stretch); // of which the server has more
    const picture = figure.querySelector("svg"), [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
    this.over = made("svg", { id: `chart-${which}`, viewBox: `0 0 ${width} ${height}`, class: "over", tabindex: 0, role: "application",
      "aria-label": `${picture.getAttribute("aria-label") || "Chart"}. Arrow keys tell the values, Page Up and Page Down change the panel, plus and minus zoom, Escape shows all.` }, figure);
    this.panels = JSON.parse(figure.dataset.panels).map((panel) => {
      const scaled = ([left, top, right, bottom]) => [left * width, top * height, right * width, bottom * height];
      const box = scaled(panel.box);
      return { ...panel, box, ticks: panel.ticks.map((each) => each && scaled(each)), layer: made("g", {}, this.over),
        scales: [new Scale(panel.x, box[0], box[2]), new Scale(panel.y, box[3], box[1])] };
    });
    this.hint = made("g", { class: "hint-mark" }, this.over);
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.setAttribute("role", "status"); // what the keyboard goes to is read aloud
    this.tip.hidden = true;
    figure.append(this.tip);
    this.listen();
  }

  listen() {
    const over = this.over;
    over.addEventListener("pointerdown", (event) => {
      const at = this.place(event), panel = this.panelAt(at);
      if (event.button !== 0 || !panel) return;
      this.begun = { at, panel };
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => this.moved(this.place(event)));
    over.addEventListener("pointerleave", () => this.clear());
    over.addEventListener("pointercancel", () => { this.begun = undefined; this.clear(); }); // a finger scrolls the page
    over.addEventListener("blur", () => this.clear());
    over.addEventListener("pointerup", (event) => {
      const begun = this.begun, at = this.place(event);
      this.begun = undefined;
      if (!begun) return;
      const { panel } = begun, [wide, high] = [0, 1].map((axis) => Math.abs(at[axis] - begun.at[axis]));
      if ((this.stretch ? wide : Math.max(wide, high)) < 5) return;
      // Along one axis where the other one hardly moved.
      [wide, high].forEach((moved, axis) => {
        const [low, most] = axis ? [panel.box[1], panel.box[3]] : [panel.box[0], panel.box[2]];
        if (this.stretch ? axis === 0 : moved > 0.15 * Math.max(wide, high)) {
          panel.scales[axis].between(clamp(begun.at[axis], low, most), clamp(at[axis], low, most));
        }
      });
      this.changed(panel);
    });
    over.addEventListener("dblclick", (event) => { const panel = this.panelAt(this.place(event)); if (panel) this.reset(panel); });
    over.addEventListener("wheel", (event) => {
      const panel = this.panelAt(this.place(event));
      if (!panel || this.isWhole(panel)) return; // else the page scrolls
      panel.scales[0].pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
      this.changed(panel, false);
      event.preventDefault();
    }, { passive: false });
    over.addEventListener("keydown", (event) => {
      const panel = this.last || this.panels[0], [x, y] = panel.scales;
      const zoom = (margin) => x.between(x.low - margin * (x.high - x.low), x.high + margin * (x.high - x.low));
      const acts = { ArrowLeft: () => x.pan(-0.1), ArrowRight: () => x.pan(0.1), ArrowUp: () => y.pan(0.1),
        ArrowDown: () => y.pan(-0.1), "+": () => zoom(-0.25), "=": () => zoom(-0.25), "-": () => zoom(0.5),
        0: () => this.toWhole(panel) };
      acts.Escape = acts[0];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const isWhole = this.isWhole(panel), isArrow = event.key.startsWith("Arrow");
      if (["PageUp", "PageDown"].includes(event.key)) {
        if (this.panels.length < 2) return; // then it scrolls the page
        this.last = this.panels.at((this.panels.indexOf(panel) + (event.key === "PageUp" ? -1 : 1)) % this.panels.length);
        this.step(this.last);
      } else if (["Home", "End"].includes(event.key) || isArrow && (isWhole || event.shiftKey)) this.step(panel, event.key);
      else if (!acts[event.key] || event.key === "Escape" && isWhole && this.tip.hidden) return;
      else {
        acts[event.key]();
        if (!isWhole || event.key !== "Escape") this.changed(panel); else this.clear();
      }
      event.preventDefault();
    });
  }

  place(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.over.getScreenCTM().inverse());
    return [at.x, at.y];
  }
  panelAt([x, y]) {
    return this.panels.find(({ box }) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
  }
  clear() { this.tip.hidden = true; this.hint.replaceChildren(); }
  reset(panel) { this.toWhole(panel); this.changed(panel); }
  isWhole(panel) {
    const { ends: [start, end], whole: [first, last] } = this.stretch || { ends: [0, 1], whole: [0, 1] };
    return start <= first && end >= last && panel.scales.every((scale) => scale.isWhole);
  }
  toWhole(panel) {
    panel.scales.forEach((scale) => scale.reset());
    if (!this.stretch) return;
    const { ends: [start, end], whole: [first, last] } = this.stretch, { from, to } = panel.x, unit = (to - from) / (end - start);
    Object.assign(panel.scales[0], { from: from + (first - start) * unit, to: from + (last - start) * unit });
  }

  // ---- what the pointer says

  moved(at) {
    this.clear();
    if (this.begun) {
      const [[x0, y0], [x1, y1]] = [this.begun.at, at];
      made("rect", { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0),
        class: "dragged" }, this.hint);
      return;
    }
    const panel = this.panelAt(at);
    if (!panel) return;
    const found = panel.marks.map((mark) => this.nearest(panel, mark, at)).filter(Boolean);
    if (found.length) this.tell(panel, found.reduce((one, other) => other.distance < one.distance ? other : one), at);
  }

  // ---- values by keyboard

  // From value to value: along a mark, or a heat map, by arrow keys; in the other direction to the next mark.
  step(panel, key) {
    if (this.stepped?.panel !== panel) this.stepped = { panel, mark: 0, at: undefined };
    const now = this.stepped, marks = panel.marks, length = (mark) => mark.values?.length ?? mark.x.length;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (key === "End") now.at = length(marks[now.mark]) - 1;
    else if (now.at === undefined || !key || key === "Home") now.at = 0;
    else {
      const mark = marks[now.mark], [[across, down], wide] = [moves[key], mark.x.length];
      const isLying = mark.kind === "bar" && mark.along === "x"; // bars one below the other
      if (mark.kind === "cells") {
        now.at = clamp(Math.floor(now.at / wide) + down, 0, length(mark) / wide - 1) * wide + clamp(now.at % wide + across, 0, wide - 1);
      } else if (isLying ? down : across) now.at = clamp(now.at + (isLying ? down : across), 0, wide - 1);
      else {
        now.mark = (now.mark + (isLying ? across : down) + marks.length) % marks.length;
        now.at = clamp(now.at, 0, length(marks[now.mark]) - 1);
      }
    }
    const [x, y] = panel.scales, mark = marks[now.mark], at = now.at, middle = (one, other) => (one + other) / 2;
    const value = mark.y?.[at] ?? mark.high?.[at] ?? mark.low?.[at];
    const [left, top] = mark.kind === "cells" ? [mark.x[at % mark.x.length], mark.y[Math.floor(at / mark.x.length)]]
      : mark.kind !== "bar" ? [mark.x[at], value]
      : mark.along === "x" ? [mark.right[at], middle(mark.low[at], mark.high[at])] : [middle(mark.x[at], mark.right[at]), mark.high[at]];
    const place = [x.place(left), y.place(top)].map((each, axis) => Number.isFinite(each) ? clamp(each, panel.box[axis], panel.box[axis + 2]) : panel.box[axis]);
    this.clear();
    if (mark.kind === "cells" && mark.values[at] === null) this.say(panel, ["nothing"], place);
    else this.tell(panel, { mark, at, distance: 0, x: place[0], y: place[1] }, place);
  }

  // What a place of a mark says, beside the point AT; all marks that have the same place say theirs.
  tell(panel, best, at) {
    const [x, y] = panel.scales;
    // All marks at the place of the nearest one are told.
    const told = panel.marks.map((mark) => mark === best.mark ? best : this.nearest(panel, mark, [best.x, best.y]))
      .filter((each) => each && Math.abs(each.x - best.x) < 1).sort((one, other) => one.distance - other.distance);
    const label = panel.x.label || this.panels.find((each) => each.x.label && each.x.from === panel.x.from && each.x.to === panel.x.to)?.x.label || "x";
    const value = ({ mark, at: which }) => {
      const middle = mark.y ? y.text(mark.y[which]) : "";
      const hasBounds = mark.kind !== "step" && mark.low && mark.low[which] !== null;
      const bounds = hasBounds ? `${number(mark.low[which])} .. ${number(mark.high[which])}` : "";
      return `${mark.name || mark.kind}: ${middle && bounds ? `${middle} (${bounds})` : middle || bounds}`;
    };
    const lines = best.mark.kind === "bar" ? this.barLines(panel, best, label)
      : best.mark.kind === "cells" ? this.cellLines(panel, best, label)
      : [`${label}: ${x.text(best.mark.x[best.at])}`, ...panel.y.label ? [`${panel.y.label}:`] : [],
        ...new Set(told.filter(({ mark }) => mark.kind !== "bar").map(value))].slice(0, 8);
    made("circle", { cx: best.x, cy: best.y, r: 4, class: "told" }, this.hint);
    this.say(panel, lines, at);
  }

  say(panel, lines, at) {
    this.last = panel;
    this.tip.replaceChildren(...lines.map((line) => { const part = document.createElement("bdi"); part.textContent = line; return part; }));
    this.tip.hidden = false;
    const matrix = this.over.getScreenCTM(), box = this.figure.getBoundingClientRect();
    const point = new DOMPoint(at[0], at[1]).matrixTransform(matrix);
    const left = clamp(point.x - box.left + 14, 0, Math.max(box.width - this.tip.offsetWidth - 4, 0));
    const below = point.y - box.top + 18, isLow = below + this.tip.offsetHeight > box.height && point.y - box.top > this.tip.offsetHeight + 10;
    Object.assign(this.tip.style, { left: `${left}px`, top: `${isLow ? point.y - box.top - this.tip.offsetHeight - 10 : below}px` });
  }

  // A bar by the name of its place, and its length.
  barLines(panel, { mark, at }, label) {
    const [x, y] = panel.scales, isUpright = mark.along === "y", middle = (one, other) => (one + other) / 2;
    const place = isUpright ? x.text(middle(mark.x[at], mark.right[at])) : y.text(middle(mark.low[at], mark.high[at]));
    const length = isUpright ? mark.high[at] - mark.low[at] : mark.right[at] - mark.x[at];
    return [place, `${mark.name || (isUpright ? panel.y.label : label) || "length"}: ${number(length)}`];
  }

  // A cell of a heat map by the names or numbers of its column and row.
  cellLines(panel, { mark, at }, label) {
    const [x, y] = panel.scales, [row, column] = [Math.floor(at / mark.x.length), at % mark.x.length];
    return [`${label}: ${x.text(mark.x[column])}`, `${panel.y.label || "y"}: ${y.text(mark.y[row])}`,
      `${mark.name || "value"}: ${number(mark.values[at])}`];
  }

  nearestCell(panel, mark, [atX, atY]) {
    const [x, y] = panel.scales;
    const least = (distances) => distances.indexOf(Math.min(...distances));
    const column = least(mark.x.map((at) => Math.abs(x.place(at) - atX))), row = least(mark.y.map((at) => Math.abs(y.place(at) - atY)));
    const at = row * mark.x.length + column;
    return mark.values[at] === null ? undefined : { mark, at, distance: 3, x: x.place(mark.x[column]), y: y.place(mark.y[row]) };
  }

  nearestBar(panel, mark, [atX, atY]) {
    const [x, y] = panel.scales, isBetween = (place, one, other) => place >= Math.min(one, other) && place <= Math.max(one, other);
    const at = mark.x.findIndex((left, which) => isBetween(atX, x.place(left), x.place(mark.right[which]))
      && isBetween(atY, y.place(mark.low[which]), y.place(mark.high[which])));
    return at < 0 ? undefined : { mark, at, distance: 3, x: atX, y: atY };
  }

  nearest(panel, mark, [atX, atY]) {
    if (mark.kind === "bar") return this.nearestBar(panel, mark, [atX, atY]);
    if (mark.kind === "cells") return this.nearestCell(panel, mark, [atX, atY]);
    const [x, y] = panel.scales;
    let best;
    for (let at = 0; at < mark.x.length; at++) {
      const value = mark.y?.[at] ?? mark.high?.[at] ?? mark.low?.[at];
      let left = x.place(mark.x[at]);
      const low = mark.low?.[at] ?? value, high = mark.high?.[at] ?? value;
      if (mark.kind === "step" && at + 1 < mark.x.length && x.place(mark.x[at + 1]) > atX && left <= atX) left = atX;
      if (left < panel.box[0] - 1 || left > panel.box[2] + 1) continue;
      const ends = [y.place(low), y.place(high)], top = clamp(atY, Math.min(...ends), Math.max(...ends));
      const across = mark.kind === "points" ? y.place(value) - atY : 0.5 * (top - atY);
      const distance = Math.hypot(left - atX, across) + (mark.kind === "band" ? 2 : 0); // a line within goes first
      if (distance < NEAR && (!best || distance < best.distance)) {
        best = { mark, at, distance, x: left, y: clamp(y.place(value), panel.box[1], panel.box[3]) };
      }
    }
    return best;
  }

  // ---- closer

  changed(panel, isStep = true) {
    this.last = panel;
    this.clear();
    if (this.stretch) {
      this.draw(panel); // coarse, until the server's answer comes
      this.ask(panel, isStep);
      return;
    }
    // Panels above one another over the same axis stay aligned, and all of one time show the same stretch of it.
    const isLinked = ({ x, box }) => x.from === panel.x.from && x.to === panel.x.to
      && (x.label === panel.x.label && /^time\b/.test(x.label) || [0, 2].every((side) => Math.abs(box[side] - panel.box[side]) < 1));
    const { from, to } = panel.scales[0];
    for (const each of this.panels.filter(isLinked)) {
      Object.assign(each.scales[0], { from, to });
      this.draw(each);
    }
    const zoomed = this.panels.flatMap(({ scales }, at) => scales.every((scale) => scale.isWhole) ? []
      : [`${this.which}.${at}:${scales.flatMap(({ from, to }) => [from, to]).join(",")}`]);
    const hash = zoomed.length ? `#zoom=${zoomed.join(";")}` : "";
    if (location.protocol === "about:") return; // a cell of a notebook has no address
    history[isStep ? "pushState" : "replaceState"](null, "", location.pathname + location.search + hash);
  }

  // The part between the ends of the axis, as an address.
  ask(panel, isStep) {
    const { address: all, names, ends: [start, end], whole: [earliest, latest] } = this.stretch, { axis, from, to } = panel.scales[0];
    const [begin, stop] = [from, to].map((at) => start + (at - axis.from) / (axis.to - axis.from) * (end - start));
    const width = Math.min(stop - begin, latest - earliest), first = clamp(begin, earliest, latest - width);
    const query = new URLSearchParams([[names[0], Number(first.toPrecision(12))], [names[1], Number((first + width).toPrecision(12))]]);
    const address = width < latest - earliest ? `${all}${all.includes("?") ? "&" : "?"}${query}` : all;
    if (address === location.pathname + location.search) this.readAddress(); // at an end: nothing is beyond it
    else document.dispatchEvent(new CustomEvent("go", { detail: { address, isStep } }));
  }

  // What an address says of this chart; the whole of every panel that it does not name.
  readAddress() {
    const said = new Map((location.hash.match(/^#zoom=(.*)$/)?.[1] || "").split(";").map((part) => part.split(":")));
    this.panels.forEach((panel, at) => {
      const ends = (said.get(`${this.which}.${at}`) || "").split(",").map(Number);
      panel.scales.forEach((scale, axis) => {
        const [from, to] = ends.slice(2 * axis, 2 * axis + 2);
        if (ends.length === 4 && Number.isFinite(from) && Number.isFinite(to) && from !== to) Object.assign(scale, { from, to });
        else scale.reset();
      });
      this.draw(panel);
    });
  }

  draw(panel) {
    const { layer, box, scales: [x, y] } = panel;
    layer.replaceChildren();
    if (x.isWhole && y.isWhole) return;
    // Paper over what matplotlib drew there, then the same closer.
    const [below, beside] = panel.ticks;
    const ticks = [below ? [below[0], box[3], below[2], below[3]] : [box[0], box[3], box[2], box[3] + 4], beside && [beside[0], box[1] - 5, box[0], box[3] + 5]];
    for (const each of [box, ...ticks]) {
      if (each) made("rect", { x: each[0] - 1, y: each[1] - 1, width: each[2] - each[0] + 2, height: each[3] - each[1] + 2, class: "paper" }, layer);
    }
    const clip = `panel-${this.which}-${this.panels.indexOf(panel)}`;
    made("rect", { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1] }, made("clipPath", { id: clip }, layer));
    for (const [at, text] of x.ticks()) {
      made("line", { x1: x.place(at), x2: x.place(at), y1: box[1], y2: box[3], class: "grid" }, layer);
      if (below) made("text", { x: x.place(at), y: box[3] + 12, "text-anchor": "middle", class: "tick" }, layer).textContent = text.slice(0, 24);
    }
    for (const [at, text] of y.ticks()) {
      made("line", { x1: box[0], x2: box[2], y1: y.place(at), y2: y.place(at), class: "grid" }, layer);
      made("text", { x: box[0] - 5, y: y.place(at) + 3, "text-anchor": "end", class: "tick" }, layer).textContent = text.slice(0, 24);
    }
    const inside = made("g", { "clip-path": `url(#${clip})` }, layer);
    for (const mark of panel.marks) this.drawMark(panel, mark, inside);
    for (const [axis, at] of panel.rules) {
      const ends = axis === "x" ? { x1: x.place(at), x2: x.place(at), y1: box[1], y2: box[3] } : { x1: box[0], x2: box[2], y1: y.place(at), y2: y.place(at) };
      made("line", { ...ends, class: "rule" }, inside);
    }
    made("rect", { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1], class: "frame" }, layer);
  }

  drawMark(panel, mark, parent) {
    const [x, y] = panel.scales, line = { style: `stroke: ${mark.colour}; fill: none`, "stroke-opacity": mark.opacity, "stroke-width": 1.3 };
    const area = { style: `fill: ${mark.colour}`, "fill-opacity": mark.opacity }; // a style, as dark pages replace some
    const floor = y.place(y.isLog ? Math.min(y.from, y.to) : 0);
    const height = (value) => { const place = y.place(value); return Number.isFinite(place) ? clamp(place, -1e5, 1e5) : floor; };
    const points = (column, from = 0, to = mark.x.length) => mark.x.slice(from, to)
      .map((value, at) => [clamp(x.place(value), -1e5, 1e5), height(column[from + at])]);
    const dots = () => points(mark.y).forEach(([cx, cy]) => made("circle", { cx, cy, r: 3, ...area }, parent));
    const drawn = {
      line: () => { made("polyline", { ...line, points: points(mark.y).join(" ") }, parent); if (mark.dots) dots(); },
      points: dots,
      band: () => made("polygon", { ...area, points: [...points(mark.low), ...points(mark.high).reverse()].join(" ") }, parent),
      error: () => points(mark.low).forEach(([left, low], at) => made("line", { ...line, x1: left, x2: left, y1: low, y2: height(mark.high[at]) }, parent)),
      step: () => {
        const stairs = points(mark.y), end = panel.box[2];
        made("polyline", { ...line, points: stairs.flatMap(([left, top], at) => [[left, top], [at + 1 < stairs.length ? stairs[at + 1][0] : Math.max(end, left), top]]).join(" ") }, parent);
      },
      cells: () => {
        const edges = (scale, places) => {
          const half = places.length > 1 ? Math.abs(places[1] - places[0]) / 2 : 0.5;
          return places.map((at) => [scale.place(at - half), scale.place(at + half)].sort((one, other) => one - other));
        };
        const [columns, rows] = [edges(x, mark.x), edges(y, mark.y)];
        mark.values.forEach((value, at) => {
          const [left, right] = columns[at % columns.length], [top, bottom] = rows[Math.floor(at / columns.length)];
          if (value !== null) made("rect", { x: left, y: top, width: right - left, height: bottom - top, style: `fill: ${mark.colours[at]}` }, parent);
        });
      },
      bar: () => mark.x.forEach((left, at) => {
        const sides = [x.place(left), x.place(mark.right[at])].map((each) => Number.isFinite(each) ? clamp(each, -1e5, 1e5) : panel.box[0]);
        const ends = [height(mark.low[at]), height(mark.high[at])];
        made("rect", { x: Math.min(...sides), y: Math.min(...ends), width: Math.abs(sides[1] - sides[0]),
          height: Math.abs(ends[1] - ends[0]), style: `fill: ${mark.colours[at]}` }, parent);
      }),
    };
    drawn[mark.kind]?.();
  }
}

let charts = [];
const read = () => charts.forEach((chart) => chart.readAddress());
const begin = () => {
  charts = [...document.querySelectorAll("figure[data-panels]")].map((figure, at) => new TouchedChart(figure, at));
  read();
};
addEventListener("popstate", read);
document.addEventListener("shown", begin); // another view came in the place of the one before
begin();
})();
