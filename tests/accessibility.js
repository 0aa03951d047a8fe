// What a page makes hard for some: a list of sentences, empty if nothing is found. Run in the page; it changes nothing.
(() => {
  const found = [];
  const said = (words, one) => found.push(`${words}: ${one.outerHTML.slice(0, 110)}`);
  const style = (one) => getComputedStyle(one);
  const seen = (one) => one.getClientRects().length > 0 && style(one).visibility !== "hidden" && !one.closest("[aria-hidden=true]");
  const all = (what) => [...document.querySelectorAll(what)].filter(seen);

  // ---- colours: of every text against what lies under it ----
  const parts = (words) => { const [r, g, b, a = 1] = words.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = ([r, g, b, a], under) => [r, g, b].map((one, i) => one * a + under[i] * (1 - a));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const ground = (one) => (one === null ? (dark ? [18, 18, 18] : [255, 255, 255]) : over(parts(style(one).backgroundColor), ground(one.parentElement)));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (colour, under) => {
    const [one, other] = [light(over(parts(colour), under)), light(under)];
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  };
  const enough = (one, colour) => {
    const size = parseFloat(style(one).fontSize), large = size >= 24 || (size >= 18.66 && Number(style(one).fontWeight) >= 700);
    const ratio = contrast(colour, ground(one));
    if (ratio < (large ? 3 : 4.5)) said(`contrast ${ratio.toFixed(2)}`, one);
  };
  for (const one of all("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "OPTION", "TITLE"].includes(one.tagName.toUpperCase())) continue;
    enough(one, one.namespaceURI.endsWith("svg") ? style(one).fill : style(one).color);
  }
  for (const one of all("input[placeholder]")) enough(one, getComputedStyle(one, "::placeholder").color);
  for (const one of all("input:not([type=hidden], [type=range], [type=checkbox], [type=file]), select")) enough(one, style(one).color);

  // ---- names ----
  const pointed = (one) => (one.getAttribute("aria-labelledby") ?? "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
  const name = (one) => (one.getAttribute("aria-label") ?? "").trim() || pointed(one).trim();
  for (const one of all("input:not([type=hidden]), select, textarea")) {
    if (!name(one) && ![...(one.labels ?? [])].some((label) => label.textContent.trim())) said("no label", one);
  }
  for (const one of all("button, a[href], summary, [role=button]")) if (!name(one) && !one.textContent.trim()) said("no name", one);
  for (const one of all("svg[role=img], canvas, [role=region], [role=application], nav")) if (!name(one)) said("no name", one);
  for (const one of all("svg")) if (one.getAttribute("role") !== "img" && !one.closest("[role=img]")) said("neither a picture nor hidden", one);
  for (const one of all("img")) if (!one.hasAttribute("alt")) said("no alt", one);
  for (const one of all("progress, meter")) if (!name(one) && !(one.labels ?? []).length) said("no name", one);
  for (const one of all("fieldset")) if (one.firstElementChild?.tagName !== "LEGEND") said("no legend", one);

  // ---- order, ids, tables, language ----
  const levels = all("h1, h2, h3, h4, h5, h6").map((one) => Number(one.tagName[1]));
  if (levels.filter((one) => one === 1).length !== 1) found.push(`${levels.filter((one) => one === 1).length} headings of the first level`);
  levels.forEach((one, i) => { if (i && one > levels[i - 1] + 1) found.push(`a heading of level ${one} after one of ${levels[i - 1]}`); });
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  ids.filter((one, i) => ids.indexOf(one) !== i).forEach((one) => found.push(`two of id ${one}`));
  for (const one of document.querySelectorAll("[for], [aria-labelledby], [aria-describedby], [aria-controls]")) {
    for (const where of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
      for (const id of (one.getAttribute(where) ?? "").split(/\s+/).filter(Boolean)) if (!ids.includes(id)) said(`${where} leads nowhere`, one);
    }
  }
  for (const one of all("table")) if (![...one.querySelectorAll("th")].every((head) => head.scope)) said("a heading without scope", one);
  for (const one of all("[tabindex]")) if (one.tabIndex > 0) said("an order of its own", one);
  for (const one of all(".scroll, .gv-scroll")) if (one.scrollWidth > one.clientWidth + 1 && one.tabIndex < 0) said("scrolls, and no key reaches it", one);
  for (const one of all("ul, ol")) if ([...one.children].some((item) => !["LI", "SCRIPT", "TEMPLATE"].includes(item.tagName))) said("a list of other things", one);
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title.trim()) found.push("no title");
  if (all("main").length !== 1) found.push("no one main part");
  if (!document.querySelector("meta[name=viewport]") || /user-scalable=no|maximum-scale=1\b/.test(document.querySelector("meta[name=viewport]").content)) found.push("cannot be enlarged");
  return found;
})()
