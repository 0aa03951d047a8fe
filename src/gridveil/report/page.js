"use strict";
(() => {
  const shared = JSON.parse(document.getElementById("figures").textContent);
  const plots = [...document.querySelectorAll("[data-figure]")];
  const config = { responsive: true, displaylogo: false, modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]] };
  const dark = () => gridveilPaint.dark(document.body);
  const colour = new RegExp(Object.keys(shared.dark).join("|"), "g");
  // colours stand in the data as they are on white; on a dark screen each has another
  const figure = (number, onDark) => {
    const { data, layout, owners } = shared.figures[number];
    const [xaxis, yaxis] = [layout.xaxis, layout.yaxis].map((axis) => ({ ...shared.axis, ...axis }));
    const whole = JSON.stringify({ data, layout: { ...shared.layout, ...layout, xaxis, yaxis } });
    return { owners, ...JSON.parse(onDark ? whole.replace(colour, (one) => shared.dark[one]) : whole) };
  };
  // a few at a time, so that the page can be read and scrolled meanwhile
  const draw = (from) => {
    for (const plot of plots.slice(from, from + 4)) {
      const { data, layout } = figure(plot.dataset.figure, dark());
      Plotly.newPlot(plot, data, layout, config);
    }
    if (from + 4 < plots.length) setTimeout(draw, 0, from + 4);
    else document.body.dataset.drawn = String(plots.length);
  };
  draw(0);
  // the same figures in other colours, at another size; what is switched off stays so
  const again = (onDark, size) => {
    for (const plot of plots.filter((one) => one.data)) {
      const { data, layout } = figure(plot.dataset.figure, onDark);
      data.forEach((trace, i) => { if (plot.data[i].visible !== undefined) trace.visible = plot.data[i].visible; });
      Plotly.react(plot, data, { ...layout, ...size(plot) }, config);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => again(dark(), () => ({})));

  for (const button of document.querySelectorAll("[data-series]")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const plot of button.closest("figure").querySelectorAll("[data-figure]")) {
        const traces = plot.data.flatMap((trace, i) => (trace.meta === Number(button.dataset.series) ? [i] : []));
        if (traces.length) Plotly.restyle(plot, { visible: shown }, traces);
      }
    });
  }
  // tables: what a cell says, and the number it begins with, if it does
  const plain = (text) => text.trim().replaceAll("−", "-").replaceAll("\u00a0", " ");
  const NUMBER = "[-+]?\\d[\\d,]*(?:\\.\\d+)?(?:e[-+]?\\d+)?";
  const first = new RegExp(`^(${NUMBER})(?: |$)`), ends = new RegExp(`^(${NUMBER}) \\((n = \\d+: )?(${NUMBER}) … (${NUMBER})\\)$`);
  const spread = new RegExp(`^(${NUMBER}) ± (${NUMBER})$`), single = new RegExp(`^(${NUMBER}) \\(one draw\\)$`);
  const value = (text) => { const found = first.exec(text); return found ? Number(found[1].replaceAll(",", "")) : NaN; };
  const names = new Intl.Collator("en", { numeric: true });
  const cells = (row) => [...row.cells].map((cell) => plain(cell.textContent));

  const sort = (table, column, direction) => {
    const body = table.tBodies[0], rows = table.rowsAsWritten.map((row) => ({ row, text: plain(row.cells[column].textContent) }));
    const numeric = rows.every(({ text }) => text === "–" || !Number.isNaN(value(text)));
    const compare = (a, b) => (numeric ? value(a.text) - value(b.text) : names.compare(a.text, b.text));
    const [there, missing] = [rows.filter(({ text }) => text !== "–"), rows.filter(({ text }) => text === "–")];
    if (direction) there.sort((a, b) => direction * compare(a, b));
    body.append(...(direction ? [...there, ...missing] : rows).map(({ row }) => row));
  };
  const NEXT = { none: ["ascending", 1], ascending: ["descending", -1], descending: ["none", 0] };
  for (const table of document.querySelectorAll("table[data-file]")) {
    table.rowsAsWritten = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const [name, direction] = NEXT[head.getAttribute("aria-sort")];
        heads.forEach((one) => one.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", name);
        sort(table, column, direction);
      });
    });
    const save = document.createElement("button");
    save.type = "button";
    save.className = "save";
    save.textContent = "Download CSV";
    save.addEventListener("click", () => {
      const link = document.createElement("a"), text = comma(table);
      link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
      link.download = table.dataset.file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
    table.closest(".scroll").before(save);
  }

  // one number per column: a mean, the ends beside it and what they are; a mean and its standard deviation
  const comma = (table) => {
    const rows = [...table.tBodies[0].rows].map(cells), bare = (text) => text.replaceAll(",", "");
    const columns = cells(table.tHead.rows[0]).flatMap((head, i) => {
      const column = rows.map((row) => row[i]);
      if (column.some((text) => ends.test(text))) {
        const all = column.map((text) => {
          const found = ends.exec(text), one = single.exec(text);
          if (found) return [bare(found[1]), bare(found[3]), bare(found[4]), found[2] ? "range of draws" : "95 % interval"];
          return [one ? bare(one[1]) : text, "", "", one ? "one draw" : ""];
        });
        return ["", " – low", " – high", " – low and high are"].map((part, k) => [head + part, ...all.map((four) => four[k])]);
      }
      if (column.some((text) => spread.test(text))) {
        const all = column.map((text) => { const found = spread.exec(text); return found ? [bare(found[1]), bare(found[2])] : [text, ""]; });
        return ["", " – sd"].map((part, k) => [head + part, ...all.map((two) => two[k])]);
      }
      return [[head, ...column.map((text) => { const one = single.exec(text); return one ? bare(one[1]) : Number.isNaN(value(text)) || text.includes(" ") ? text : bare(text); })]];
    });
    // text that a spreadsheet would take for a formula is told apart by an apostrophe
    const field = (text) => {
      const none = text === "–" ? "" : text, safe = /^[=+@\t\r-]/.test(none) && Number.isNaN(Number(none)) ? `'${none}` : none;
      return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return columns[0].map((_, row) => columns.map((column) => field(column[row])).join(",")).join("\r\n") + "\r\n";
  };
  document.body.commaSeparated = comma;

  // a printed page is as wide whatever the window is, and plots must have that size before it is laid out
  window.addEventListener("beforeprint", () => {
    again(false, (plot) => {
      const panels = plot.closest(".panels");
      const columns = panels ? Number(panels.style.getPropertyValue("--columns")) : 1;
      return { autosize: false, width: Math.floor(1120 / columns) - 14, height: panels ? 270 : 520 };
    });
  });
  window.addEventListener("afterprint", () => {
    again(dark(), () => ({ autosize: true }));
  });
})();
