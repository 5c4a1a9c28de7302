// Keys, light and dark, the menu on narrow screens. Pages themselves are drawn by the server.
(() => {
  const KEY = "orion.theme";
  const isDark = () => document.body.classList.contains("body--dark");
  const wanted = () => localStorage.getItem(KEY);
  const apply = () => { if (wanted() && window.Quasar) Quasar.Dark.set(wanted() === "dark"); };

  const waiting = setInterval(() => {
    if (!window.Quasar || !document.body.className.includes("body--")) return;
    clearInterval(waiting);
    apply();
  }, 10);

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-theme]")) {
      localStorage.setItem(KEY, isDark() ? "light" : "dark");
      apply();
    } else if (event.target.closest("[data-zoom]")) {
      zoomBy(Number(event.target.closest("[data-zoom]").dataset.zoom));
    } else if (event.target.closest("[data-menu]")) {
      document.body.classList.toggle("o-menu-open");
    } else if (!event.target.closest(".o-side") || event.target.closest(".o-side a")) {
      document.body.classList.remove("o-menu-open");
    }
  });

  // The graph's size is the looker's own: it is drawn anew every two seconds, in a box that stays.
  const zoomBy = (by) => {
    const box = document.querySelector(".o-flow");
    if (!box) return;
    const now = Number(box.style.getPropertyValue("--zoom") || 1);
    box.style.setProperty("--zoom", by ? Math.min(3, Math.max(0.25, now * by)) : 1);
  };

  document.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !event.target.closest(".o-flow")) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.1 : 0.9);
  }, { passive: false });

  // While the server is gone nothing on the page can work: NiceGUI tells when that is, by this element.
  const watchConnection = setInterval(() => {
    const popup = document.getElementById("popup");
    if (!popup) return;
    clearInterval(watchConnection);
    const isGone = () => popup.getAttribute("aria-hidden") === "false";
    const follow = () => document.querySelectorAll(".o-main, .o-top, .o-side, .q-dialog").forEach((part) => { part.inert = isGone(); });
    new MutationObserver(follow).observe(popup, { attributes: true, attributeFilter: ["aria-hidden"] });
  }, 100);

  const isTyping = (element) => element?.closest("input, textarea, [contenteditable=true], .cm-editor");

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      emitEvent("orion_jump", null);
    } else if (event.key === "/" && !isTyping(event.target)) {
      const box = document.querySelector(".o-search input");
      if (box) { event.preventDefault(); box.focus(); box.select(); }
    }
  });
})();

// From a press until its answer a form takes nothing: what is typed meanwhile isn't in what was sent.
function orionLocks(event) {
  const form = event.target.closest("[data-form]");
  if (!form || form.inert) return false;
  form.dataset.pressed = event.target.closest("button").textContent;
  form.orionFocus = document.activeElement;
  form.orionFocus?.blur(); // what is typed and not sent yet goes before the press does
  form.inert = true;
  form.setAttribute("aria-busy", "true");
  return true;
}

function orionUnlocks(id) {
  const form = getHtmlElement(id);
  if (!form) return;
  form.inert = false;
  form.removeAttribute("aria-busy");
  if (document.activeElement === document.body) form.orionFocus?.focus({ preventScroll: true });
}
