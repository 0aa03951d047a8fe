"""Somebody at the workbench, in a headless Chromium: pages, keys, what the console said, how long an answer took."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep
from typing import Any

from gridveil.web.security import Session
from tests.chromium import Chromium

KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "ArrowRight": (39, ""), "ArrowLeft": (37, ""), " ": (32, " ")}
CHECKER = Path(__file__).with_name("accessibility.js")
TABBABLE = """[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary, [tabindex]")].filter(
  (one) => one.tabIndex >= 0 && !one.disabled && one.getClientRects().length && (one.type !== "radio" || one.checked))"""
FOCUS = """(() => {
  const one = document.activeElement, look = getComputedStyle(one);
  const words = one.getAttribute("aria-label") || (one.labels?.[0] ?? one).textContent || one.name || one.id;
  return { tag: one.tagName, id: one.id, name: one.name ?? "", words: words.trim().replace(/\\s+/g, " "),
           ring: look.outlineStyle !== "none" && parseFloat(look.outlineWidth) > 0, at: one.getBoundingClientRect().left };
})()"""
SLIDE = """(async () => {
  const slider = document.querySelector("input[type=range][data-for=alpha]"), words = document.getElementById("words"), took = [];
  for (let i = 0; i < %d; i++) {
    const begin = performance.now();
    const seen = new Promise((done) => { new MutationObserver((_, it) => { it.disconnect(); done(); }).observe(words, { childList: true, subtree: true }); });
    slider.value = String(5 + i);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await seen;
    took.push(performance.now() - begin);
    await new Promise((done) => setTimeout(done, 60));
  }
  return took;
})()"""
"""Milliseconds from a movement of the slider to its words."""


class Steward(Chromium):
    """One who uses the workbench of a session, by addresses or by keys."""

    def __init__(self, session: Session, *flags: str) -> None:
        super().__init__(*flags, size=(1280, 900))
        self.session, self.seen = session, list[dict[str, Any]]()

    def __enter__(self) -> Steward:
        super().__enter__()
        for domain in ("Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.session.port}{self.session.base}"

    def begin(self) -> float:
        """Open the address that the command prints; seconds until the first page stands there."""
        begin = monotonic()
        self.go(self.session.address)
        self.until("location.search === '' && document.readyState === 'complete' && !!document.querySelector('h1')")
        return monotonic() - begin

    def go(self, address: str) -> None:
        self.seen += self.events
        super().go(address)

    def page(self, path: str) -> None:
        """A page of the workbench, at rest."""
        self.go(self.base + path)
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, expression: str, seconds: float = 60.0) -> None:
        """Wait for something; a page that is just being left has nothing to say."""
        end = monotonic() + seconds
        while True:
            try:
                if self.run(expression):
                    return
            except RuntimeError:
                pass
            assert monotonic() < end, f"never: {expression}"
            sleep(0.02)

    # ---- keys ----

    def press(self, key: str) -> None:
        code, text = KEYS.get(key, (0, key))
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **({"text": text} if text else {}))  # fmt: skip
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        for letter in text:
            self.press(letter)

    def tab_to(self, words: str, most: int = 120) -> dict[str, Any]:
        """Press Tab until what has the focus is so named; every stop on the way can be seen."""
        for _ in range(most):
            self.press("Tab")
            found: dict[str, Any] = self.run(FOCUS)
            assert found["ring"] or found["tag"] == "BODY", f"the focus cannot be seen on {found}"
            if words in (found["words"], found["id"]) or found["words"].startswith(words):
                return found
        raise AssertionError(f"no Tab leads to '{words}'")

    def enter(self, path: str) -> None:
        """Press Enter, and wait for the page to which that leads."""
        self.run("window.leaving = true")
        self.press("Enter")
        self.until(f"!window.leaving && location.pathname.endsWith('{path}') && document.readyState === 'complete'")

    def stops(self) -> list[dict[str, Any]]:
        """Everything that Tab reaches on a page, once around; the first is the link to the content."""
        self.run("document.activeElement?.blur()")
        found = list[dict[str, Any]]()
        for _ in range(self.run(f"{TABBABLE}.length")):
            self.press("Tab")
            found.append(self.run(FOCUS))
        return found

    def reached(self) -> str:
        """Which of what has to be reached by Tab is not what has the focus at some stop; empty if all are."""
        self.run(f"document.activeElement?.blur(); window.wanted = new Set({TABBABLE})")
        for _ in range(self.run("wanted.size")):
            self.press("Tab")
            self.run("wanted.delete(document.activeElement)")
        return str(self.run("[...wanted].map((one) => one.outerHTML.slice(0, 80)).join('; ')"))

    # ---- judgements ----

    def hard(self) -> list[str]:
        """What the page makes hard for some."""
        found: list[str] = self.run(CHECKER.read_text(encoding="utf-8"))
        return found

    def wider(self, width: int) -> list[str]:
        """What is wider than the window and does not scroll by itself."""
        found: list[str] = self.run(
            f"document.documentElement.scrollWidth <= {width} ? [] : [...document.querySelectorAll('body *')]"
            f".filter((one) => one.getBoundingClientRect().right > {width} && !one.closest('.scroll, .gv-scroll, pre'))"
            ".map((one) => one.outerHTML.slice(0, 90))"
        )
        return found

    def complaints(self) -> list[str]:
        """What the browser said against any page so far: console, exceptions, its own log, refused requests."""
        found = []
        for one in [*self.seen, *self.events]:
            said = one["params"]
            if one["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(str(said)[:400])
            if one["method"] == "Network.responseReceived" and said["response"]["status"] >= 400:
                found.append(f"{said['response']['status']} {said['response']['url']}")
            if one["method"] == "Network.requestWillBeSent" and not said["request"]["url"].startswith(
                (f"http://127.0.0.1:{self.session.port}/", "data:", "blob:")
            ):
                found.append(f"asked elsewhere: {said['request']['url']}")
        return found

    def slider(self, many: int = 15) -> list[float]:
        """Milliseconds until the words follow α's slider, sorted."""
        took: list[float] = self.run(SLIDE % many)
        return sorted(took)
