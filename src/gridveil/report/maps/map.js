"use strict";
// One map in every element of class gv-map: its data stand inside as JSON, everything that is seen is made here.
(() => {
  const { paint, make } = globalThis.gridveilPaint;
  const text = (value) => (value === null || value === undefined ? "–" : typeof value === "number" ? value.toLocaleString("en") : value);
  const SHOWN = 200; // rows of a table at most; more are counted

  function start(root) {
    const data = JSON.parse(root.querySelector("script").textContent);
    const { buses, lines, views } = data;
    const n = buses.number.length, m = lines.from.length;
    root.replaceChildren();
    const bar = make("div", root, undefined, { class: "gv-bar" });
    const search = make("form", bar, undefined, { role: "search" });
    const asked = make("input", make("label", search, "Bus "), undefined, { type: "search", size: 9, autocomplete: "off", enterkeyhint: "search" });
    make("button", search, "Find");
    const chosen = make("select", make("label", bar, "Colour "));
    views.forEach((one, i) => make("option", chosen, one.title, { value: i }));
    const keys = make("span", bar, undefined, { class: "gv-keys" });
    const button = (sign, words) => make("button", keys, sign, { type: "button", "aria-label": words, title: words });
    const nearer = button("+", "Zoom in"), farther = button("−", "Zoom out"), all = button("Whole", "Show the whole network");
    const frame = button("Rectangle", "Select what a rectangle holds: drag on the map");
    frame.setAttribute("aria-pressed", "false");
    const legend = make("ul", root, undefined, { class: "gv-legend" });
    const canvas = make("canvas", root, undefined, {
      tabindex: 0, role: "application", "aria-label": `${data.title}. Arrow keys move, plus and minus zoom, 0 shows all, Enter selects what is nearest to the middle.`,
    });
    const said = make("p", root, undefined, { class: "gv-said", "aria-live": "polite" });
    const tables = make("div", root, undefined, { class: "gv-tables" });

    const map = paint(root, data, canvas, legend);
    const { hand, px, py, zoom, move, show, later, glide, everyBus } = map;

    // ---- the table that follows the selection ----
    const ends = (i) => `${buses.number[lines.from[i]]}–${buses.number[lines.to[i]]}`;
    const pick = (found, go = false, adding = false) => {
      if (!adding) hand.picked = { buses: new Set(), lines: new Set() };
      found.buses?.forEach((i) => hand.picked.buses.add(i));
      found.lines?.forEach((i) => hand.picked.lines.add(i));
      if (go) show([...(found.buses ?? []), ...(found.lines ?? []).flatMap((i) => [lines.from[i], lines.to[i]])]);
      fill();
      later();
    };
    function table(title, heads, rows, count) {
      if (!rows.length) return;
      const one = make("table", make("div", tables, undefined, { class: "gv-scroll", tabindex: 0, role: "region", "aria-label": title }));
      make("caption", one, count > rows.length ? `${title}: ${rows.length} of ${count}` : title);
      const head = make("tr", make("thead", one));
      heads.forEach((words) => make("th", head, words, { scope: "col" }));
      const body = make("tbody", one);
      for (const [what, i, ...cells] of rows) {
        const row = make("tr", body), name = make("th", row, undefined, { scope: "row" });
        make("button", name, what === "buses" ? String(buses.number[i]) : ends(i), { type: "button" })
          .addEventListener("click", () => { pick({ [what]: [i], ...(what === "buses" ? { lines: around(i) } : { buses: [lines.from[i], lines.to[i]] }) }, true); tables.querySelector("button")?.focus(); });
        cells.forEach((cell) => make("td", row, text(cell)));
      }
    }
    const around = (bus) => Array.from(lines.from.keys()).filter((i) => lines.from[i] === bus || lines.to[i] === bus);
    const busRow = (i) => ["buses", i, ...(buses.name ? [buses.name[i]] : []), ...buses.columns.map((one) => one.values[i])];
    const lineColumns = () => lines.columns.filter((one) => one.view === null || views[one.view] === hand.view);
    const lineRow = (i) => ["lines", i, String(i + 1), ...lineColumns().map((one) => one.values[i])];
    function fill() {
      tables.replaceChildren();
      const found = [...hand.picked.buses], joined = [...hand.picked.lines];
      const busHeads = ["bus", ...(buses.name ? ["name"] : []), ...buses.columns.map((one) => one.head)];
      const lineHeads = ["line", "row", ...lineColumns().map((one) => one.head)];
      if (!found.length && !joined.length) {
        said.textContent = `${n.toLocaleString("en")} buses, ${m.toLocaleString("en")} lines. Nothing is selected: tap a bus or a line, or draw a rectangle.`;
        if (!hand.view.rank) return;
        const order = Array.from(lines.from.keys()).filter((i) => hand.view.rank[i] !== null).sort((a, b) => hand.view.rank[b] - hand.view.rank[a]).slice(0, 8);
        table(`Lines that stand out: ${hand.view.title}`, lineHeads, order.map(lineRow), order.length);
        return;
      }
      said.textContent = `Selected: ${found.length} ${found.length === 1 ? "bus" : "buses"}, ${joined.length} ${joined.length === 1 ? "line" : "lines"}.`;
      table("Buses", busHeads, found.slice(0, SHOWN).map(busRow), found.length);
      table("Lines", lineHeads, joined.slice(0, SHOWN).map(lineRow), joined.length);
    }
    const nearest = (x, y, reach) => {
      let best = reach, found = {};
      for (const i of everyBus) {
        const away = Math.hypot(px(i) - x, py(i) - y) - 3; // a bus wins over the lines that meet in it
        if (away < best) { best = away; found = { buses: [i], lines: around(i) }; }
      }
      if (found.buses) return found;
      for (let i = 0; i < m; i++) {
        const [a, b] = [lines.from[i], lines.to[i]], [u, v] = [px(b) - px(a), py(b) - py(a)];
        const bow = lines.bow[i] ?? 0, [ox, oy] = [px(a) - bow * v, py(a) + bow * u];
        const share = Math.min(1, Math.max(0, ((x - ox) * u + (y - oy) * v) / Math.max(u * u + v * v, 1e-9)));
        const away = Math.hypot(x - ox - share * u, y - oy - share * v);
        if (away < best) { best = away; found = { lines: [i], buses: [a, b] }; }
      }
      return found;
    };
    const within = ([x, y, u, v]) => {
      const [x0, x1, y0, y1] = [Math.min(x, u), Math.max(x, u), Math.min(y, v), Math.max(y, v)];
      const inside = new Set(everyBus.filter((i) => px(i) >= x0 && px(i) <= x1 && py(i) >= y0 && py(i) <= y1));
      return { buses: [...inside], lines: Array.from(lines.from.keys()).filter((i) => inside.has(lines.from[i]) && inside.has(lines.to[i])) };
    };

    // ---- hands: mouse, fingers, keys ----
    const fingers = new Map();
    let travelled = 0, spread = 0;
    const place = (event) => { const at = canvas.getBoundingClientRect(); return [event.clientX - at.left, event.clientY - at.top]; };
    const framing = () => frame.getAttribute("aria-pressed") === "true";
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      hand.keyed = false;
      fingers.set(event.pointerId, place(event));
      if (fingers.size === 1) {
        travelled = 0;
        if (framing() || event.shiftKey) hand.box = [...place(event), ...place(event)];
      } else { hand.box = null; spread = 0; travelled = 99; }
    });
    canvas.addEventListener("pointermove", (event) => {
      const was = fingers.get(event.pointerId);
      if (!was) return;
      const [x, y] = place(event);
      fingers.set(event.pointerId, [x, y]);
      travelled += Math.hypot(x - was[0], y - was[1]);
      if (fingers.size === 2) {
        const [[a, b], [c, d]] = [...fingers.values()], now = Math.hypot(a - c, b - d);
        if (spread) zoom(now / spread, (a + c) / 2, (b + d) / 2);
        spread = now;
      } else if (hand.box) { hand.box = [hand.box[0], hand.box[1], x, y]; glide(); } else if (travelled > 4) move(x - was[0], y - was[1]);
    });
    const lifted = (event) => {
      const [x, y] = place(event), known = fingers.delete(event.pointerId), adding = event.ctrlKey || event.metaKey;
      spread = 0;
      if (!known || event.type === "pointercancel") { hand.box = null; return; }
      if (hand.box && travelled > 4) pick(within(hand.box), false, adding);
      else if (travelled <= 4) pick(nearest(x, y, event.pointerType === "touch" ? 22 : 10), false, adding);
      hand.box = null;
      later();
    };
    canvas.addEventListener("pointerup", lifted);
    canvas.addEventListener("pointercancel", lifted);
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // a page that is scrolled past is not caught
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / (event.deltaMode ? 20 : 400)), ...place(event));
    }, { passive: false });
    const strokes = {
      ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
      "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: map.whole, Escape: () => pick({}),
      Enter: () => pick(nearest(...map.size().map((one) => one / 2), Infinity)),
    };
    canvas.addEventListener("keydown", (event) => {
      const act = strokes[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      hand.keyed = true;
      act();
    });
    canvas.addEventListener("blur", () => { hand.keyed = false; later(); });
    nearer.addEventListener("click", () => zoom(1.6));
    farther.addEventListener("click", () => zoom(1 / 1.6));
    all.addEventListener("click", map.whole);
    frame.addEventListener("click", () => frame.setAttribute("aria-pressed", String(!framing())));
    chosen.addEventListener("change", () => { hand.view = views[Number(chosen.value)]; map.colours(); fill(); later(); });
    search.addEventListener("submit", (event) => {
      event.preventDefault();
      const words = asked.value.trim().toLowerCase();
      if (!words) return;
      let found = everyBus.filter((i) => String(buses.number[i]) === words || buses.name?.[i].toLowerCase() === words);
      if (!found.length) found = everyBus.filter((i) => String(buses.number[i]).startsWith(words) || buses.name?.[i].toLowerCase().includes(words));
      if (found.length) pick({ buses: found, lines: found.length === 1 ? around(found[0]) : [] }, true);
      else said.textContent = `There is no bus “${asked.value.trim()}”.`;
    });

    // ---- light, dark, paper ----
    const again = () => { map.colours(); map.draw(); };
    for (const one of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(one).addEventListener("change", again);
    window.addEventListener("beforeprint", () => { root.classList.add("gv-paper"); map.colours(true); map.resize(3); });
    window.addEventListener("afterprint", () => { root.classList.remove("gv-paper"); map.colours(); map.resize(); });
    new ResizeObserver(() => { if (map.shrunk()) map.resize(); }).observe(canvas);
    map.colours();
    fill();
    map.resize();
    root.gvMap = { ...map, pick }; // for tests and measurements
  }
  for (const root of document.querySelectorAll(".gv-map:not([data-ready])")) {
    root.dataset.ready = "yes";
    start(root);
  }
})();
