// The section that is read is marked in the contents of a report.
"use strict";
(() => {
const links = new Map([...document.querySelectorAll(".side li a")].map((link) => [link.getAttribute("href").slice(1), link]));
const seen = new Set();
let marked;
const mark = (link) => {
  if (link === marked) return;
  marked?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  // The sidebar scrolls; the page stays in place.
  const side = link.closest(".side"), [box, within] = [link.getBoundingClientRect(), side.getBoundingClientRect()];
  if (box.top < within.top || box.bottom > within.bottom) side.scrollTop += box.top - within.top - within.height / 3;
  marked = link;
};
// The upper third of the window is what is read.
const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target.id);
  const first = [...links.keys()].find((id) => seen.has(id));
  if (first !== undefined) mark(links.get(first));
}, { rootMargin: "0px 0px -66% 0px" });
for (const id of links.keys()) watch.observe(document.getElementById(id));
// In a cell of a notebook an address within the page would be one of the notebook.
if (location.protocol === "about:") document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  event.preventDefault();
  document.getElementById(link.getAttribute("href").slice(1))?.scrollIntoView();
});
})();
