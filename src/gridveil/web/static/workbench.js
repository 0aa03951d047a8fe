// What pages do beyond forms: words that follow sliders, parts that are asked for again, files that are dropped.
"use strict";
(() => {
  const $ = (one, all = document) => [...all.querySelectorAll(one)];

  // ---- a slider beside every number, and words that follow both ----
  for (const slider of $("input[type=range][data-for]")) {
    const number = document.getElementById(slider.dataset.for);
    const tell = () => slider.setAttribute("aria-valuetext", `${number.value} ${slider.dataset.unit || ""}`.trim());
    slider.addEventListener("input", () => { number.value = slider.value; tell(); number.dispatchEvent(new Event("input", { bubbles: true })); });
    number.addEventListener("input", () => { slider.value = number.value; tell(); });
    tell();
  }
  for (const form of $("form[data-words]")) {
    const place = document.getElementById("words");
    let asking = false, moved = false;
    const ask = async () => {
      asking = true;
      while (moved) { // what moves on while an answer is under way is asked for once, as it is then
        moved = false;
        const body = new URLSearchParams(new FormData(form));
        body.set("form", form.dataset.token);
        try {
          const answer = await fetch(form.dataset.words, { method: "POST", body, headers: { "X-Fragment": "1" } });
          const text = await answer.text(), open = [...place.querySelectorAll("details")].map((one) => one.open);
          place.innerHTML = text;
          $("details", place).forEach((one, i) => { one.open = open[i] ?? false; });
        } catch { place.textContent = "The workbench does not answer; is its command still running?"; }
      }
      asking = false;
    };
    form.addEventListener("input", () => { moved = true; if (!asking) ask(); });
  }

  // ---- a slider that uncovers one of two maps; what is loaded later has it too ----
  document.documentElement.classList.add("scripted");
  document.addEventListener("input", ({ target }) => {
    if (!target.dataset.wipes) return;
    document.getElementById(target.dataset.wipes).style.setProperty("--at", `${target.value}%`);
    target.setAttribute("aria-valuetext", `${target.value} % original, ${100 - target.value} % release`);
  });

  // ---- parts that change while a job runs ----
  for (const place of $("[data-live]")) {
    let before = "";
    const again = async () => {
      try {
        const answer = await fetch(place.dataset.live, { headers: { "X-Fragment": "1" } });
        const text = await answer.text();
        if (text !== before) {
          const named = (one) => one.getAttribute("aria-label") || one.textContent, held = document.activeElement;
          const label = held && place.contains(held) ? named(held) : null, at = $(".scroll", place).map((one) => one.scrollLeft);
          place.innerHTML = text;
          before = text;
          $(".scroll", place).forEach((one, i) => { one.scrollLeft = at[i] ?? 0; });
          if (label !== null) $("button, a, [tabindex]", place).find((one) => named(one) === label)?.focus({ preventScroll: true });
        }
      } catch { /* the server may be started again; the page keeps asking */ }
      if (place.querySelector("[data-running]") || !before) setTimeout(again, 1500);
    };
    if (place.querySelector("[data-running]")) setTimeout(again, 800);
  }

  // ---- files ----
  for (const zone of $("[data-upload]")) {
    const field = zone.querySelector("input[type=file]"), said = zone.querySelector("[role=status]");
    const after = document.getElementById(zone.dataset.then);
    const send = async (file) => {
      if (!file) return;
      if (file.size > Number(zone.dataset.largest)) { said.textContent = `${file.name} is too large.`; return; }
      said.textContent = `Sending ${file.name} …`;
      try {
        const answer = await fetch(zone.dataset.upload, {
          method: "POST", body: file,
          headers: { "X-Name": encodeURIComponent(file.name), "X-Form": zone.dataset.token, "Content-Type": "application/octet-stream" },
        });
        const told = await answer.json();
        if (!answer.ok) { said.textContent = told.error; return; }
        after.elements.file.append(new Option(file.name, told.id, true, true)); // the list was made before it came
        after.submit();
      } catch { said.textContent = "It could not be sent; is the command of the workbench still running?"; }
    };
    field.addEventListener("change", () => send(field.files[0]));
    for (const name of ["dragover", "dragleave", "drop"]) {
      zone.addEventListener(name, (event) => {
        event.preventDefault();
        zone.classList.toggle("over", name === "dragover");
        if (name === "drop") send(event.dataTransfer.files[0]);
      });
    }
  }
})();
