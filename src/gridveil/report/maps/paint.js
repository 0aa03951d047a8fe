"use strict";
// How a map is drawn: where things are on the canvas, in which colour, with which words. Hands and tables are in map.js.
globalThis.gridveilPaint ??= (() => {
  const CHUNK = 256; // lines per path: a browser without a graphics card is slow with long ones
  const MANY = 2500, IDLE = 80; // lines from which a map on the move is shown as a picture of itself, drawn anew after so many ms of rest
  const make = (name, parent, words, attributes = {}) => {
    const one = document.createElement(name);
    if (words !== undefined) one.textContent = words;
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    parent.append(one);
    return one;
  };
  // paper is dark if the page makes it so: by its own choice, not by the clock of this script
  const dark = (element) => {
    const [red, green, blue] = getComputedStyle(element).backgroundColor.match(/[\d.]+/g).map(Number);
    return 0.3 * red + 0.59 * green + 0.11 * blue < 128;
  };
  function paint(root, data, canvas, legend) {
    const { buses, lines } = data, n = buses.number.length, m = lines.from.length;
    const pen = canvas.getContext("2d");

    // ---- where things are: points of the data, pixels of the canvas ----
    let scale = 1, left = 0, top = 0, whole = 1, width = 0, height = 0, onDark = false;
    let xs = buses.x, ys = buses.y; // on a tall window the other way round, unless places are the user's
    const hand = { view: data.views[0], picked: { buses: new Set(), lines: new Set() }, box: null, keyed: false };
    const px = (i) => (xs[i] - left) * scale, py = (i) => (ys[i] - top) * scale;
    const fit = () => {
      const turned = !data.fixed && height > 1.15 * width;
      [xs, ys] = turned ? [buses.y, buses.x] : [buses.x, buses.y];
      const wide = xs.reduce((most, one) => Math.max(most, one), 1), high = ys.reduce((most, one) => Math.max(most, one), 1);
      whole = Math.min((width - 36) / wide, (height - 36) / high);
      scale = whole;
      left = wide / 2 - width / 2 / scale;
      top = high / 2 - height / 2 / scale;
    };
    const zoom = (factor, x = width / 2, y = height / 2) => {
      const next = Math.min(Math.max(scale * factor, whole / 2), whole * 400);
      left += x / scale - x / next;
      top += y / scale - y / next;
      scale = next;
      glide();
    };
    const move = (x, y) => { left -= x / scale; top -= y / scale; glide(); };
    const show = (found) => {
      if (!found.length) return;
      let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
      for (const i of found) [x0, x1, y0, y1] = [Math.min(x0, xs[i]), Math.max(x1, xs[i]), Math.min(y0, ys[i]), Math.max(y1, ys[i])];
      const near = Math.max(scale, whole * Math.min(12, Math.max(2, Math.sqrt(n) / 8)));
      scale = Math.min(near, (width - 80) / Math.max(x1 - x0, 1e-6), (height - 80) / Math.max(y1 - y0, 1e-6));
      left = (x0 + x1) / 2 - width / 2 / scale;
      top = (y0 + y1) / 2 - height / 2 / scale;
      later();
    };

    // ---- drawing ----
    const groups = (of, count) => Array.from({ length: count }, (_, k) => Array.from(of.keys()).filter((i) => of[i] === k));
    let byClass = [];
    const colour = (k) => hand.view.classes[k][onDark ? 2 : 1];
    const largest = buses.size.reduce((most, one) => Math.max(most, one), 1e-9);
    const base = n <= 60 ? 9 : n <= 400 ? 6 : n <= 2500 ? 3 : 1.6;
    const radius = (i, grown) => Math.max(base * Math.sqrt(Math.max(buses.size[i], 0) / largest), base / 4) * grown;
    const trace = (i) => {
      const a = lines.from[i], b = lines.to[i], x = px(a), y = py(a), u = px(b), v = py(b);
      if ((x < 0 && u < 0) || (y < 0 && v < 0) || (x > width && u > width) || (y > height && v > height)) return false;
      pen.moveTo(x, y);
      const bow = lines.bow[i] ?? 0; // parallel lines bow apart
      if (bow) pen.quadraticCurveTo((x + u) / 2 - 2 * bow * (v - y), (y + v) / 2 + 2 * bow * (u - x), u, v);
      else pen.lineTo(u, v);
      return true;
    };
    const stroke = (members) => {
      let many = 0;
      pen.beginPath();
      for (const i of members) {
        if (!trace(i) || ++many % CHUNK) continue;
        pen.stroke();
        pen.beginPath();
      }
      pen.stroke();
    };
    const disc = (i, r) => { pen.moveTo(px(i) + r, py(i)); pen.arc(px(i), py(i), r, 0, 2 * Math.PI); };
    const visible = (i, r = 0) => px(i) > -r && py(i) > -r && px(i) < width + r && py(i) < height + r;
    function draw() {
      cancelAnimationFrame(due);
      clearTimeout(rest);
      due = rest = 0;
      anew = false;
      const begun = performance.now(), ratio = canvas.width / width, zoomed = Math.max(scale / whole, 1);
      const style = getComputedStyle(root), ink = style.color, paper = style.backgroundColor;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.fillStyle = paper;
      pen.fillRect(0, 0, width, height);
      const grown = Math.min(Math.sqrt(zoomed), 4), thick = (m <= 200 ? 2.4 : m <= 2500 ? 1.3 : 0.7) * grown;
      pen.lineCap = m <= 2500 ? "round" : "butt";
      const order = hand.view.classes.map((_, k) => k).sort((a, b) => hand.view.classes[a][3] - hand.view.classes[b][3]);
      for (const k of order) {
        pen.strokeStyle = colour(k);
        pen.lineWidth = thick * hand.view.classes[k][3];
        stroke(byClass[k]);
      }
      const small = grown * base / 4 < 1.2;
      const fill = (members) => {
        pen.beginPath();
        for (const i of members) {
          const r = radius(i, grown);
          if (!visible(i, r)) continue;
          if (small && r < 1.5) pen.rect(px(i) - r, py(i) - r, 2 * r, 2 * r);
          else disc(i, r);
        }
        pen.fill();
      };
      if (hand.view.buses) {
        groupsOfBuses.forEach((members, k) => { pen.fillStyle = colour(k); fill(members); });
      } else {
        pen.fillStyle = ink;
        fill(everyBus);
      }
      pen.strokeStyle = ink;
      pen.lineWidth = 1;
      if (!small) for (const i of data.units) {
        const r = radius(i, grown) + 2.5;
        if (visible(i, r)) pen.strokeRect(px(i) - r, py(i) - r, 2 * r, 2 * r);
      }
      mark(ink, paper, thick, grown);
      label(ink, paper, grown);
      if (m > MANY) keep(sheets.last);
      if (m > MANY && scale === whole) keep(sheets.whole);
      over(ink);
      root.dataset.drawn = String(Number(root.dataset.drawn ?? 0) + 1);
      root.dataset.took = (performance.now() - begun).toFixed(1);
    }
    function over(ink) { // what a hand does just now
      pen.strokeStyle = ink;
      pen.lineWidth = 1;
      if (hand.box) {
        pen.setLineDash([5, 4]);
        pen.strokeRect(hand.box[0], hand.box[1], hand.box[2] - hand.box[0], hand.box[3] - hand.box[1]);
        pen.setLineDash([]);
      }
      if (!hand.keyed) return;
      pen.beginPath();
      for (const [x, y] of [[9, 0], [0, 9]]) { pen.moveTo(width / 2 - x, height / 2 - y); pen.lineTo(width / 2 + x, height / 2 + y); }
      pen.stroke();
    }

    // ---- large maps on the move: the last picture and that of the whole network, shifted and stretched ----
    const sheets = { whole: { canvas: document.createElement("canvas") }, last: { canvas: document.createElement("canvas") } };
    function keep(sheet) {
      if (sheet.canvas.width !== canvas.width) sheet.canvas.width = canvas.width;
      if (sheet.canvas.height !== canvas.height) sheet.canvas.height = canvas.height;
      sheet.canvas.getContext("2d").drawImage(canvas, 0, 0);
      Object.assign(sheet, { scale, left, top, xs, width, height });
    }
    function shift() {
      due = 0;
      const style = getComputedStyle(root);
      pen.fillStyle = style.backgroundColor;
      pen.fillRect(0, 0, width, height);
      for (const one of [sheets.whole, sheets.last]) {
        if (one.xs !== xs || one.width !== width || one.height !== height) continue; // of another window
        const grown = scale / one.scale;
        pen.drawImage(one.canvas, (one.left - left) * scale, (one.top - top) * scale, width * grown, height * grown);
      }
      over(style.color);
      clearTimeout(rest);
      rest = setTimeout(draw, IDLE);
      root.dataset.shifted = String(Number(root.dataset.shifted ?? 0) + 1);
    }
    function mark(ink, paper, thick, grown) {
      // what is selected: a band of ink beside the colour, a ring around a bus
      for (const i of hand.picked.lines) {
        for (const [style, extra] of [[ink, 5], [paper, 2.5], [colour(hand.view.lines[i]), 0]]) {
          pen.strokeStyle = style;
          pen.lineWidth = thick * hand.view.classes[hand.view.lines[i]][3] + extra;
          pen.beginPath();
          trace(i);
          pen.stroke();
        }
      }
      pen.strokeStyle = ink;
      pen.lineWidth = 2;
      pen.beginPath();
      for (const i of hand.picked.buses) if (visible(i, 20)) disc(i, radius(i, grown) + 4);
      pen.stroke();
    }
    function label(ink, paper, grown) {
      const seen = byLoad.filter((i) => visible(i));
      const size = 12, room = (width * height) / 2200, cells = new Set();
      const named = [...hand.picked.buses].filter((i) => visible(i)).slice(0, 40);
      if (seen.length <= 4 * room) named.push(...seen.slice(0, room)); // in a crowd the largest loads have theirs
      pen.font = `${size}px system-ui, sans-serif`;
      pen.lineWidth = 3;
      pen.strokeStyle = paper;
      pen.fillStyle = ink;
      pen.lineJoin = "round";
      for (const i of named) {
        const r = radius(i, grown), words = String(buses.name?.[i] && scale / whole > 6 ? `${buses.number[i]} ${buses.name[i]}` : buses.number[i]);
        const x = px(i) + r * 0.7 + 2, y = py(i) - r * 0.7 - 2, taken = [];
        for (let u = x; u < x + 7 * words.length + 4; u += 8) taken.push(`${Math.round(u / 8)} ${Math.round(y / 14)}`);
        if (taken.some((one) => cells.has(one))) continue;
        taken.forEach((one) => cells.add(one));
        pen.strokeText(words, x, y);
        pen.fillText(words, x, y);
      }
    }
    let due = 0, rest = 0, anew = false;
    function later(moved = false) {
      anew ||= !moved;
      due ||= requestAnimationFrame(() => { if (anew || m <= MANY) draw(); else shift(); });
    }
    const glide = () => later(true);
    const everyBus = Array.from({ length: n }, (_, i) => i);
    const byLoad = everyBus.slice().sort((a, b) => buses.size[b] - buses.size[a]);
    let groupsOfBuses = [];
    function colours(light = false) {
      onDark = !light && dark(root);
      for (const one of Object.values(sheets)) one.xs = null; // they have the old colours
      byClass = groups(hand.view.lines, hand.view.classes.length);
      groupsOfBuses = hand.view.buses ? groups(hand.view.buses, hand.view.classes.length) : [];
      legend.replaceChildren();
      hand.view.classes.forEach(([words], k) => {
        const count = byClass[k].length + (groupsOfBuses[k]?.length ?? 0);
        if (!count) return;
        const one = make("li", legend);
        swatch(one, colour(k));
        one.append(`${words} `);
        make("small", one, hand.view.buses ? `${byClass[k].length} lines, ${groupsOfBuses[k].length} buses` : String(byClass[k].length));
      });
    }
    function swatch(parent, paint) { // drawn, not styled: a browser that forces dark pages leaves it as it is on the map
      const one = make("canvas", parent, undefined, { width: 48, height: 12, "aria-hidden": "true" });
      const brush = one.getContext("2d");
      brush.fillStyle = paint;
      brush.fillRect(0, 0, 48, 12);
    }
    function resize(ratio = window.devicePixelRatio || 1) {
      const was = width, before = xs, middle = [left + width / 2 / scale, top + height / 2 / scale], zoomed = scale / whole;
      width = canvas.clientWidth;
      height = canvas.clientHeight;
      if (!width || !height) return;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      fit();
      if (was) {
        scale = whole * zoomed;
        if (before !== xs) middle.reverse();
        left = middle[0] - width / 2 / scale;
        top = middle[1] - height / 2 / scale;
      }
      draw();
    }
    return {
      hand, px, py, zoom, move, show, colours, resize, draw, later, glide, everyBus,
      whole: () => { fit(); later(); },
      size: () => [width, height],
      shrunk: () => canvas.clientWidth !== width || canvas.clientHeight !== height,
    };
  }
  return { paint, make, dark };
})();
