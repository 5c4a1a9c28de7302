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
    } else if (event.target.closest("[data-menu]")) {
      document.body.classList.toggle("o-menu-open");
    } else if (!event.target.closest(".o-side") || event.target.closest(".o-side a")) {
      document.body.classList.remove("o-menu-open");
    }
  });

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

// A mistake is underlined until the text changes. By way of the server the text itself would come along, and what
// was typed meanwhile would be lost.
function orionMarks(id, place) {
  const component = getElement(id);
  if (!component?.editor) return;
  const marks = place ? [{ kind: "mark", from: place[0], to: place[1], class: "o-mistake" }] : [];
  component.setDecorations(marks);
  // After the editor has taken what was typed: before that, it would draw the old text again.
  const clear = () => setTimeout(() => component.setDecorations([]), 50);
  if (place) component.editor.dom.addEventListener("input", clear, { once: true });
}

// Completion in the SQL editor: words from the server, offered where a word is being written.
async function orionCompletes(id, words) {
  const CM = await import("nicegui-codemirror");
  const component = getElement(id);
  const editor = component.editor ?? (await component.editorPromise);
  const source = (context) => {
    const before = context.matchBefore(/[\w_]+/);
    if (!before && !context.explicit) return null;
    return { from: before ? before.from : context.pos, options: words, validFor: /^[\w_]*$/ };
  };
  const data = CM.EditorState.languageData.of(() => [{ autocomplete: source }]);
  editor.dispatch({ effects: CM.StateEffect.appendConfig.of(data) });
}
