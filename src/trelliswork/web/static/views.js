// One view per structure, all from the same JSON. A view draws {model, result, shown, other, state, again}:
// `shown` is one of the outputs of the result, `other` an output to compare it with, `state.known` what is
// fixed; `again` decodes anew.

import {drawHeat, drawRows} from "./draw/alignment.js";
import {drawChain, drawDistribution, drawSpans} from "./draw/chain.js";
import {drawClasses} from "./draw/classes.js";
import {el} from "./draw/dom.js";
import {brackets, drawChanges, drawDifference, drawPieces} from "./draw/pieces.js";
import {drawArcs, drawBrackets, drawDots, drawFold} from "./draw/rna.js";
import {drawTable, share} from "./draw/table.js";
import {bracketsOf, drawTree} from "./draw/tree.js";

const can = (model, ability) => model.abilities.includes(ability);

function chain({model, result, shown, other, state, again}) {
  const panel = el("div", {class: "panel", "aria-live": "polite"});
  const {labels} = model, {known} = state, {output} = shown;
  const fix = (t, label) => {
    state.known = known ? [...known] : output.map(() => null);
    state.known[t] = known && known[t] === label ? null : label;
    if (state.known.every((value) => value === null)) state.known = null;
    again();
  };
  const look = (t) => {
    const choice = el("select", {"aria-label": `label of ${result.input[t]}`, onchange: (event) => fix(t, event.target.value || null)},
      el("option", {value: ""}, "any label"), ...labels.map((label) => el("option", {value: label, selected: known && known[t] === label}, label)));
    panel.dataset.key = `token ${t}`;
    panel.replaceChildren(el("p", {}, el("b", {}, result.input[t]), " ", can(model, "known") ? choice : null),
      result.marginals ? drawDistribution(labels, result.marginals[t], can(model, "known") ? (label) => fix(t, label) : null) : "");
  };
  const differs = other && other.output.length === output.length ? output.map((label, t) => label !== other.output[t]) : null;
  const drawn = drawChain({tokens: result.input, output, labels, marginals: result.marginals, known, differs},
    {onToken: (t) => { look(t); const chosen = panel.querySelector("select"); if (chosen) chosen.focus(); }, onLook: look});
  const note = can(model, "known") ? "Point at a token to see its labels; click it to fix one." : "Point at a token to see its labels.";
  return [el("div", {class: "drawing"}, output.length ? drawn : "no tokens"), el("p", {class: "note"}, note), panel];
}

function tree({model, result, shown, other, state, again}) {
  if (shown.output === null) return [el("p", {class: "error"}, "This grammar has no tree for the sentence.")];
  const text = other && other.output !== null ? drawDifference(shown.output, other.output, brackets) : el("span", {class: "mono"}, shown.output);
  if (!shown.tree) return [el("p", {class: "note"}, "The tree is too deep to be drawn."), el("p", {}, text)];
  const probabilities = result.marginals ? new Map(result.marginals.map(([a, i, j, p]) => [`${a},${i},${j}`, p])) : null;
  const theirs = other && other.tree ? bracketsOf(other.tree) : null;
  const differs = theirs ? new Set([...bracketsOf(shown.tree)].filter((key) => !theirs.has(key))) : null;
  const fixed = new Set((state.known || []).map((bracket) => bracket.join()));
  const onNode = can(model, "known") ? (label, start, end) => {
    const key = `${label},${start},${end}`, rest = (state.known || []).filter((bracket) => bracket.join() !== key);
    state.known = fixed.has(key) ? (rest.length ? rest : null) : [...rest, [label, start, end]];
    again();
  } : null;
  return [el("div", {class: "drawing"}, drawTree(shown.tree, {probabilities, differs, fixed, onNode})),
    onNode ? el("p", {class: "note"}, "Click a bracket to fix it; click it again to release it.") : null, el("p", {class: "text"}, text)];
}

function rna({result, shown, other}) {
  const pictures = el("div", {class: "pictures"});
  if (shown.places) pictures.append(drawFold(result.input, shown, result.marginals, other ? other.pairs : null));
  if (result.marginals) pictures.append(drawDots(result.input, shown, result.marginals));
  return [el("div", {class: "drawing"}, drawBrackets(result.input, shown.output), pictures, el("div", {class: "scroll"}, drawArcs(result.input, shown, result.marginals)))];
}

function alignment({model, result, shown, other, state, again}) {
  const onCell = can(model, "known") ? (i, j) => {
    const rest = (state.known || []).filter(([a, b]) => a !== i && b !== j), same = (state.known || []).some(([a, b]) => a === i && b === j);
    state.known = same ? (rest.length ? rest : null) : [...rest, [i, j]];
    state.cursor = {row: i, column: j};
    again();
  } : null;
  return [el("div", {class: "drawing"}, drawRows(shown.output, shown.columns, result.marginals, other ? other.columns : null), el("p", {class: "note"}, `CIGAR ${shown.cigar || "*"}`)),
    result.marginals ? el("h3", {}, "Probabilities of pairs") : null,
    result.marginals ? drawHeat(result.input, result.marginals, shown.columns, {onCell, fixed: state.known || [], cursor: state.cursor || {row: 0, column: 0}}) : null];
}

function transducer({result, shown, other}) {
  const text = other ? drawDifference(shown.output, other.output) : el("span", {class: "mono"}, shown.output);
  const expected = result.marginals && result.marginals.length ? el("details", {}, el("summary", {}, "Expected numbers of pieces"), drawTable(["input", "output", "expected"], result.marginals)) : null;
  return [el("div", {class: "drawing"}, el("p", {}, el("b", {}, text)), shown.pieces ? drawPieces(shown.pieces) : null), expected];
}

function classes({model, result, shown, other, state, again}) {
  const onNode = can(model, "known") ? (name) => { state.known = state.known === name ? null : name; again(); } : null;
  const name = other && other.output !== shown.output ? el("mark", {}, shown.output) : el("b", {}, shown.output);
  return [el("p", {class: "class"}, name),
    el("div", {class: "drawing"}, drawClasses(model.labels, result.marginals, model.taxonomy, shown.output, {onNode, known: state.known})),
    onNode ? el("p", {class: "note"}, "Click a class to allow nothing but it and what is below it; click it again to release it.") : null];
}

function text({model, result, shown, other}) {
  const written = String(shown.output ?? "none"), rows = Array.isArray(result.marginals) ? result.marginals : [];
  const parts = rows.length ? drawTable([model.structure === "Retrieval" ? "candidate" : "part", "probability"], rows.map(([name, p]) => [name, share(p)])) : null;
  return [el("div", {class: "drawing"}, other ? drawDifference(written, String(other.output ?? "none")) : el("span", {class: "mono"}, written)), parts];
}

export const VIEWS = {chain, tree, rna, alignment, transducer, classes, strings: text, text};

// Rows of an alignment; columns that another one does not have are marked.
function aligned(item, first) {
  const rows = item.output.map((row) => [...row]), shown = el("span", {class: "mono pre"});
  const theirs = first && first.columns ? new Set(first.columns.map((column) => column.join())) : null;
  const isNew = theirs && item.columns && item.columns.length === rows[0].length ? item.columns.map((column) => !theirs.has(column.join())) : null;
  rows.forEach((row, r) => {
    row.forEach((symbol, t) => shown.append(isNew && isNew[t] ? el("mark", {}, symbol) : symbol));
    if (!r) shown.append("\n");
  });
  return shown;
}

// An output in one line, with what differs from another output marked.
export function line(model, result, item, first) {
  const {output} = item;
  if (model.view === "classes") return el("span", {}, output);
  if (model.view === "chain") return drawSpans({tokens: result.input, output, labels: model.labels}, first ? first.output : null);
  if (model.view === "alignment") return aligned(item, first);
  const written = (value) => String(value ?? "none");
  if (!first) return el("span", {class: "mono"}, written(output));
  if (model.view === "rna") return drawChanges(written(output), written(first.output));
  return drawDifference(written(output), written(first.output), model.view === "tree" ? brackets : undefined);
}
