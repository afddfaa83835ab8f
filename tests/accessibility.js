// What is wrong with a page for who sees little, reads it aloud, or has a narrow window; WCAG 2.2, AA.
() => {
  const found = [];
  const parse = (text) => { const parts = (text.match(/[\d.]+/g) || []).map(Number); return [...parts.slice(0, 3), parts.length > 3 ? parts[3] : 1]; };
  const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const contrast = (one, other) => { const [a, b] = [light(one), light(other)].sort((x, y) => x - y); return (b + 0.05) / (a + 0.05); };
  const known = new Map([[null, [255, 255, 255, 1]]]);
  const behind = (element) => {
    if (!known.has(element)) { const colour = parse(getComputedStyle(element).backgroundColor); known.set(element, colour[3] === 1 ? colour : behind(element.parentElement)); }
    return known.get(element);
  };
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length;
  const name = (element) => (element.outerHTML || "").slice(0, 90);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("svg, noscript, script, style") || !seen(element) || element.disabled) continue;
    const ratio = contrast(parse(getComputedStyle(element).color), behind(element));
    if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ${name(element)}`);
  }
  for (const control of document.querySelectorAll("input:not([type=hidden]), select, textarea, button, a[href]")) {
    const label = control.labels?.[0]?.textContent || control.getAttribute("aria-label") || control.textContent || control.title;
    if (!label.trim()) found.push(`no label: ${name(control)}`);
  }
  let level = 0;
  const heads = [...document.querySelectorAll("h1, h2, h3, h4")];
  if (heads.filter((each) => each.tagName === "H1").length !== 1) found.push("not one h1");
  for (const head of heads) { const now = Number(head.tagName[1]); if (now > level + 1) found.push(`heading after h${level}: ${name(head)}`); level = now; }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  for (const image of document.querySelectorAll("img:not([alt]), svg[role=img]:not([aria-label])")) found.push(`no text: ${name(image)}`);
  return found;
}
