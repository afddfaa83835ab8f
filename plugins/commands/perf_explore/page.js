// Everything works without this file: it shows a slider's number while it moves, sends the form when it is let go,
// keeps the place on the page, and has formulas checked while they are typed.
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

const pause = 300; // ms after the last key; shorter ones fall between the letters of a slow typist
for (const form of document.querySelectorAll("form[data-check]")) {
  const said = form.querySelector("output.said");
  let waiting, asked;
  const ask = async () => {
    asked?.abort();
    asked = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    body.set("_step", "check");
    let checks;
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body, signal: asked.signal });
      checks = answer.ok ? await answer.json() : [{ text: "not checked now; the preview says more", is_fine: false }];
    } catch (error) {
      if (error.name === "AbortError") return;
      checks = [{ text: "not checked: perf explore does not answer", is_fine: false }];
    }
    const lines = checks.map((check) => {
      const line = document.createElement("span");
      line.className = check.is_fine ? "fine" : "wrong";
      line.textContent = check.text;
      return line;
    });
    said.replaceChildren(...lines);
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, pause);
  });
}
