// Everything works without this file: it shows a slider's number while it moves, sends the form when it is let go,
// and keeps the place on the page.
"use strict";
const place = "place " + location.pathname;
for (const form of document.querySelectorAll("form[data-live]")) {
  form.addEventListener("input", (event) => {
    const shown = form.querySelector(`output[for="${CSS.escape(event.target.id)}"]`);
    if (shown) shown.value = event.target.value;
  });
  form.addEventListener("change", (event) => {
    sessionStorage.setItem(place, JSON.stringify({ top: scrollY, focus: event.target.id }));
    form.requestSubmit();
  });
}
const before = JSON.parse(sessionStorage.getItem(place) || "null");
sessionStorage.removeItem(place);
if (before) {
  document.getElementById(before.focus)?.focus({ preventScroll: true });
  scrollTo(0, before.top);
}
