// The SQL editor: completion by what the statement names, the words of the dialect, mistakes underlined.

const orionEditors = {};

// A mistake is underlined until the text changes. By way of the server the text itself would come along, and what
// was typed meanwhile would be lost.
function orionMarks(id, place) {
  const component = getElement(id);
  if (!component?.editor) return;
  const length = component.editor.state.doc.length;
  const marks = place && place[1] <= length ? [{ kind: "mark", from: place[0], to: place[1], class: "o-mistake" }] : [];
  component.setDecorations(marks);
  // After the editor has taken what was typed: before that, it would draw the old text again.
  const clear = () => setTimeout(() => component.setDecorations([]), 50);
  if (place) component.editor.dom.addEventListener("input", clear, { once: true });
}

function orionInserts(id, text) {
  const editor = getElement(id)?.editor;
  if (!editor) return;
  editor.dispatch(editor.state.replaceSelection(text));
  editor.focus();
}

// What may be written, again whenever the catalog has changed.
async function orionVocabulary(id, words) {
  const known = orionEditors[id];
  if (known) { known.words = words; return; }
  const entry = (orionEditors[id] = { words });
  const CM = await import("nicegui-codemirror");
  const component = getElement(id);
  const editor = component.editor ?? (await component.editorPromise);
  // One function for good: CodeMirror drops the answers of a source that it hasn't seen before.
  const source = (context) => orionComplete(entry.words, context);
  const data = CM.EditorState.languageData.of(() => [{ autocomplete: source }]);
  editor.dispatch({ effects: CM.StateEffect.appendConfig.of([data, orionKeywords(CM, words.keywords)]) });
}

const ORION_FROM = /\b(?:FROM|JOIN|INTO|DESCRIBE|TABLE|STREAM)\s+[\w"]*$/i;
const ORION_NAMED = /\b(?:FROM|JOIN|INTO)\s+"?(\w+)"?(?:\s+(?:AS\s+)?(\w+))?/gi;

function orionComplete(words, context) {
  const before = context.matchBefore(/[\w]+/);
  const from = before ? before.from : context.pos;
  const text = context.state.doc.toString();
  const start = text.lastIndexOf(";", from - 1) + 1;
  const ends = text.indexOf(";", context.pos);
  const statement = text.slice(start, ends < 0 ? text.length : ends);
  const named = orionNamed(words, statement);
  const owner = /(\w+)\s*\.\s*$/.exec(text.slice(start, from));
  if (!before && !context.explicit && !owner) return null;
  const options = owner
    ? orionColumns(named.filter((one) => one.alias === owner[1].toUpperCase()).map((one) => one.source))
    : orionOptions(words, named, ORION_FROM.test(text.slice(start, context.pos)));
  return options.length ? { from, options, validFor: /^\w*$/ } : null;
}

// The sources that a statement names, each under its own name and under its alias.
function orionNamed(words, statement) {
  const keywords = new Set(words.keywords);
  const found = [];
  for (const [, name, alias] of statement.matchAll(ORION_NAMED)) {
    const source = words.sources.find((one) => one.name === name.toUpperCase() || one.name === name);
    if (!source) continue;
    found.push({ alias: source.name.toUpperCase(), source });
    if (alias && !keywords.has(alias.toUpperCase())) found.push({ alias: alias.toUpperCase(), source });
  }
  return found;
}

function orionColumns(sources) {
  const seen = new Map();
  for (const source of new Set(sources)) {
    for (const [columns, boost] of [[source.columns, 6], [source.pseudo, 2]]) {
      for (const column of columns) {
        const detail = `${column.type}${column.role ? " " + column.role : ""} · ${source.name}`;
        if (!seen.has(column.name)) seen.set(column.name, { label: column.name, type: "property", detail, boost });
      }
    }
  }
  return [...seen.values()];
}

function orionOptions(words, named, wantsSource) {
  const sources = words.sources.map((one) => ({ label: one.name, type: "class", detail: one.kind, boost: wantsSource ? 8 : 3 }));
  if (wantsSource) return sources.concat(words.keywords.map((label) => ({ label, type: "keyword" })));
  const columns = orionColumns(named.length ? named.map((one) => one.source) : words.sources);
  const calls = words.functions.map((one) => ({
    label: one.name, type: "function", detail: one.kind, apply: one.name + "(", boost: 1,
    info: [...one.signatures, one.about].join("\n"),
  }));
  return [...columns, ...sources, ...calls, ...words.keywords.map((label) => ({ label, type: "keyword" }))];
}

// Words of the dialect that CodeMirror's own SQL doesn't know, such as STREAM and EMIT; not within texts and comments.
function orionKeywords(CM, keywords) {
  const mark = CM.Decoration.mark({ class: "o-keyword" });
  const matcher = new CM.MatchDecorator({
    regexp: new RegExp(`\\b(?:${keywords.join("|")})\\b`, "gi"),
    decorate: (add, from, to, _match, view) => {
      const inside = CM.syntaxTree(view.state).resolveInner(from, 1).name;
      if (!/String|Comment|Quoted/.test(inside)) add(from, to, mark);
    },
  });
  return CM.ViewPlugin.define(
    (view) => ({ decorations: matcher.createDeco(view), update(u) { this.decorations = matcher.updateDeco(u, this.decorations); } }),
    { decorations: (plugin) => plugin.decorations },
  );
}
