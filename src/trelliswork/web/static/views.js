// One view per structure, all from the same JSON. A view draws {model, result, other, state, again}:
// `other` is the result of the model that is compared with, `state.known` what is fixed, `again` decodes anew.

import {drawHeat, drawRows} from "./draw/alignment.js";
import {drawChain, drawDistribution} from "./draw/chain.js";
import {drawClasses} from "./draw/classes.js";
import {el, percent} from "./draw/dom.js";
import {drawDifference, drawPieces} from "./draw/pieces.js";
import {drawArcs, drawBrackets, drawDots, drawFold} from "./draw/rna.js";
import {drawTable} from "./draw/table.js";
import {bracketsOf, drawTree} from "./draw/tree.js";

const first = (result) => (result.candidates ? result.candidates[0] : result);
const best = (result) => (result.candidates ? result.candidates[result.shown || 0] : result);

function chain({model, result, other, state, again}) {
  const panel = el("div", {class: "panel", "aria-live": "polite"});
  const labels = model.labels, known = state.known;
  const look = (t) => {
    if (!result.marginals) return;
    const fix = (label) => {
      state.known = known ? [...known] : result.output.map(() => null);
      state.known[t] = known && known[t] === label ? null : label;
      if (state.known.every((value) => value === null)) state.known = null;
      again();
    };
    const choice = el("select", {"aria-label": `label of ${result.input[t]}`, onchange: (event) => fix(event.target.value || null)},
      el("option", {value: ""}, "any label"), ...labels.map((label) => el("option", {value: label, selected: known && known[t] === label}, label)));
    panel.replaceChildren(el("p", {}, el("b", {}, result.input[t]), " ", model.abilities.includes("known") ? choice : null),
      drawDistribution(labels, result.marginals[t], model.abilities.includes("known") ? fix : null));
  };
  const {output} = best(result);
  const differs = other && other.output.length === output.length ? output.map((label, t) => label !== other.output[t]) : null;
  const drawn = drawChain({tokens: result.input, output, labels, marginals: result.marginals, known, differs},
    {onToken: (t) => { look(t); const chosen = panel.querySelector("select"); if (chosen) chosen.focus(); }, onLook: look});
  return [el("div", {class: "drawing"}, drawn), panel];
}

function tree({model, result, other, state, again}) {
  if (!best(result).tree) return [el("p", {class: "error"}, "This grammar has no tree for the sentence.")];
  const probabilities = result.marginals ? new Map(result.marginals.map(([a, i, j, p]) => [`${a},${i},${j}`, p])) : null;
  const theirs = other && first(other).tree ? bracketsOf(first(other).tree) : null;
  const differs = theirs ? new Set([...bracketsOf(best(result).tree)].filter((key) => !theirs.has(key))) : null;
  const fixed = new Set((state.known || []).map((bracket) => bracket.join()));
  const onNode = model.abilities.includes("known") ? (label, start, end) => {
    const key = `${label},${start},${end}`, rest = (state.known || []).filter((bracket) => bracket.join() !== key);
    state.known = fixed.has(key) ? (rest.length ? rest : null) : [...rest, [label, start, end]];
    again();
  } : null;
  return [el("div", {class: "drawing"}, drawTree(best(result).tree, {probabilities, differs, fixed, onNode})),
    el("p", {class: "note"}, "Click a bracket to fix it."), el("p", {class: "mono"}, best(result).output)];
}

function rna({result, other}) {
  const fold = best(result), pictures = el("div", {class: "pictures"});
  if (fold.places) pictures.append(drawFold(result.input, fold, result.marginals, other ? first(other).pairs : null));
  if (result.marginals) pictures.append(drawDots(result.input, fold, result.marginals));
  return [el("div", {class: "drawing"}, drawBrackets(result.input, fold.output), pictures, el("div", {class: "scroll"}, drawArcs(result.input, fold, result.marginals)))];
}

function alignment({model, result, other, state, again}) {
  const one = best(result);
  const onCell = model.abilities.includes("known") ? (i, j) => {
    const rest = (state.known || []).filter(([a, b]) => a !== i && b !== j), same = (state.known || []).some(([a, b]) => a === i && b === j);
    state.known = same ? (rest.length ? rest : null) : [...rest, [i, j]];
    again();
  } : null;
  return [el("div", {class: "drawing"}, drawRows(one.output, one.columns, result.marginals, other ? first(other).columns : null), el("p", {class: "note"}, `CIGAR ${one.cigar || "*"}`)),
    result.marginals ? drawHeat(result.input, result.marginals, one.columns, {onCell, fixed: state.known || []}) : null];
}

function transducer({result, other}) {
  const shown = other ? drawDifference(result.output, other.output) : el("span", {class: "mono"}, result.output);
  return [el("div", {class: "drawing"}, el("p", {}, el("b", {}, shown)), result.pieces ? drawPieces(result.pieces) : null)];
}

function classes({model, result, other, state, again}) {
  const onNode = model.abilities.includes("known") ? (name) => { state.known = state.known === name ? null : name; again(); } : null;
  return [el("p", {}, el("b", {class: other && other.output !== result.output ? "error" : null}, result.output)),
    el("div", {class: "drawing"}, drawClasses(model.labels, result.marginals, model.taxonomy, result.output, {onNode, known: state.known}))];
}

function text({result, other}) {
  const shown = String(result.output ?? "none");
  const parts = Array.isArray(result.marginals) && result.marginals.length ? drawTable(["part", "probability"], result.marginals) : null;
  return [el("div", {class: "drawing"}, other ? drawDifference(shown, String(other.output)) : el("span", {class: "mono"}, shown)), parts];
}

export const VIEWS = {chain, tree, rna, alignment, transducer, classes, strings: text, text};

// An output in one line, with what differs from another output marked.
export function line(view, output, first) {
  if (view === "classes") return el("span", {}, output);
  if (view === "chain") {
    return el("span", {}, ...output.map((label, t) => (first && label !== first[t] ? el("span", {}, el("mark", {}, label), " ") : `${label} `)));
  }
  const written = (value) => (Array.isArray(value) ? value.map((row) => (Array.isArray(row) ? row.join("") : row)).join("\n") : String(value ?? "none"));
  const shown = first ? drawDifference(written(output), written(first)) : el("span", {class: "mono"}, written(output));
  if (view === "alignment" || view === "rna") shown.style.whiteSpace = "pre-wrap";
  return shown;
}

export function shareOf(candidate) {
  return candidate.probability === undefined ? null : percent(candidate.probability);
}
