// Everything works without this file: it fetches the next view and puts it in the place of this one, shows a slider's
// number while it moves, sends the form when it is let go, and has formulas checked while they are typed.
"use strict";
(() => {
let shown = location.pathname + location.search, asked;

// ---- views in the place of others

const parts = ["header", ".side", "main"];
const put = (page) => {
  for (const each of page.querySelectorAll("noscript")) each.remove();
  for (const part of parts) {
    const now = document.querySelector(part), next = page.querySelector(part);
    if (now && next && part === ".side") now.innerHTML = next.innerHTML; // which stays where it was scrolled to
    else if (now && next) now.replaceWith(next);
    else if (next) document.querySelector(".columns").prepend(next);
    else now?.remove();
  }
  document.title = page.title;
};

// Puts the view at an address in the place of this one; otherwise the browser goes there.
const show = async (address, isStep, top) => {
  asked?.abort();
  asked = new AbortController();
  const main = document.querySelector("main"), { signal } = asked, before = document.activeElement;
  const [isSame, focus] = [address.split("?")[0] === shown.split("?")[0], before?.id];
  const wasBeside = Boolean(before?.closest(".side"));
  let height;
  main.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.querySelector("main")) throw new Error("not a view");
    height = scrollY;
    if (isStep) {
      history.replaceState({ top: height }, "");
      history.pushState(null, "", address);
    }
    put(page);
  } catch (error) {
    if (error.name === "AbortError") return;
    main.removeAttribute("aria-busy");
    if (error instanceof TypeError) document.dispatchEvent(new Event("lost"));
    else if (isStep) location.assign(address); else location.reload();
    return;
  }
  shown = address;
  document.dispatchEvent(new Event("shown"));
  const marked = wasBeside && document.querySelector('.side [aria-current]');
  const next = marked || (isSame && focus && document.getElementById(focus)) || document.getElementById("main");
  next.focus({ preventScroll: true });
  scrollTo(0, top ?? (isSame ? height : 0));
};

// Where a link or a form leads within the page; undefined where the browser follows it.
const within = (address) => {
  const url = new URL(address, location.href);
  const isOurs = url.origin === location.origin && !url.pathname.startsWith("/-/") && !url.hash;
  return isOurs ? url.pathname + url.search : undefined;
};
const timeline = () => document.querySelector(".live");

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const address = link.download || link.target ? undefined : within(link.href);
  if (address === undefined) return;
  event.preventDefault();
  if (timeline() && link.closest("main") && address.split("?")[0] === location.pathname) {
    history.pushState(null, "", address); // another stretch of the timeline, which draws it
    dispatchEvent(new PopStateEvent("popstate"));
    timeline().scrollIntoView({ block: "nearest" });
  } else show(address, true);
});
document.addEventListener("go", (event) => show(event.detail, true));
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "get") return;
  const address = within(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
  if (address === undefined) return;
  event.preventDefault();
  show(address, true);
});
addEventListener("popstate", (event) => {
  const address = location.pathname + location.search;
  const isTimeline = timeline() && location.pathname === shown.split("?")[0];
  if (isTimeline) shown = address;
  else if (address !== shown) show(address, false, event.state?.top);
  else if (document.querySelector("main[aria-busy]")) { // back before what was asked for came
    asked.abort();
    document.querySelector("main").removeAttribute("aria-busy");
  }
});

// ---- tables: sorted by a click on a heading, and searched where they are long

const MANY_ROWS = 15;
const amount = (text) => {
  const number = Number.parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) ? undefined : number;
};
const sort = (heading) => {
  const table = heading.closest("table"), body = table.tBodies[0], column = heading.cellIndex;
  const next = heading.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", next);
  const value = (row) => row.cells[column].textContent.trim();
  const order = (one, other) => {
    const [left, right] = [value(one), value(other)], [first, second] = [amount(left), amount(right)];
    if (first === undefined && second === undefined) return right.localeCompare(left, "en", { numeric: true });
    return (second ?? -Infinity) - (first ?? -Infinity);
  };
  const rows = [...body.rows].sort(next === "descending" ? order : (one, other) => order(other, one));
  body.append(...rows);
};
const equip = () => {
  for (const table of document.querySelectorAll("table[data-sortable]:not([data-ready])")) {
    table.dataset.ready = "";
    for (const heading of table.tHead.rows[0].cells) {
      if (!heading.textContent.trim()) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "heading";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(heading));
    }
    if (table.tBodies[0].rows.length < MANY_ROWS) continue;
    const search = document.createElement("input");
    Object.assign(search, { type: "search", placeholder: "search", className: "search" });
    search.setAttribute("aria-label", `Search in ${table.closest("[aria-label]").getAttribute("aria-label")}`);
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/);
      for (const row of table.tBodies[0].rows)
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    table.closest(".wide").before(search);
  }
};
document.addEventListener("shown", equip);
equip();

// ---- forms

document.addEventListener("input", (event) => {
  const number = document.querySelector(`form[data-live] output[for="${CSS.escape(event.target.id)}"]`);
  if (number) number.value = event.target.value;
});
document.addEventListener("change", (event) => event.target.closest("form[data-live]")?.requestSubmit());

// ---- the program behind the page was ended

document.addEventListener("lost", () => {
  if (document.querySelector(".notice.lost")) return;
  const notice = document.createElement("p");
  notice.className = "notice warning lost";
  notice.setAttribute("role", "alert");
  notice.textContent = "perf explore does not answer any more: start it again, and open the address that it prints.";
  document.querySelector("main").prepend(notice);
});
})();
