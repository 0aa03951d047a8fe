"use strict";
(() => {
  const shared = JSON.parse(document.getElementById("figures").textContent);
  const figures = shared.figures;
  const plots = [...document.querySelectorAll("[data-figure]")];
  const config = { responsive: true, displaylogo: false, modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]] };
  // a few at a time, so that the page can be read and scrolled meanwhile
  const draw = (from) => {
    for (const plot of plots.slice(from, from + 4)) {
      const { data, layout } = figures[plot.dataset.figure];
      const [xaxis, yaxis] = [layout.xaxis, layout.yaxis].map((axis) => ({ ...shared.axis, ...axis }));
      Plotly.newPlot(plot, data, { ...structuredClone(shared.layout), ...layout, xaxis, yaxis }, config);
    }
    if (from + 4 < plots.length) setTimeout(draw, 0, from + 4);
    else document.body.dataset.drawn = String(plots.length);
  };
  draw(0);
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
  for (const choice of document.querySelectorAll("[data-map]")) {
    choice.addEventListener("change", () => {
      const plot = choice.closest("figure").querySelector("[data-figure]");
      const { owners } = figures[choice.dataset.map];
      Plotly.restyle(plot, { visible: owners.map((name) => name === choice.value) }, owners.map((_, i) => i));
    });
  }
  // a printed page is as wide whatever the window is, and plots must have that size before it is laid out
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    for (const plot of plots) {
      const panels = plot.closest(".panels");
      const columns = panels ? Number(panels.style.getPropertyValue("--columns")) : 1;
      Plotly.relayout(plot, { autosize: false, width: Math.floor(1120 / columns) - 14, height: panels ? 270 : 520 });
    }
  });
  window.addEventListener("afterprint", () => {
    plots.forEach((plot) => Plotly.relayout(plot, { autosize: true, width: null, height: null }));
  });
})();
