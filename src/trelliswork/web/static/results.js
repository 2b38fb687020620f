// The result of one model: the drawing, candidates, expected accuracy, samples, and why.

import {predict} from "./api.js";
import {el, number} from "./draw/dom.js";
import {drawWhy} from "./draw/table.js";
import {line, shareOf, VIEWS} from "./views.js";

const DRAWN = new Set(["chain", "tree", "rna", "alignment"]); // views whose candidates can be drawn

export function drawResult(model, result, other, state, again) {
  const holder = el("section", {"aria-label": `result of ${model.name}`}, el("h2", {}, model.name));
  const draw = VIEWS[model.view] || VIEWS.text, drawing = el("div", {});
  const show = (place) => {
    result.shown = place;
    drawing.replaceChildren(...draw({model, result, other: place ? result : other, state, again}).filter(Boolean));
  };
  show(0);
  holder.append(drawing);
  if (result.mea) {
    const same = JSON.stringify(result.mea.output) === JSON.stringify(result.output);
    holder.append(el("h3", {}, "Largest expected accuracy"), el("p", {class: "mea"}, same ? "the same output" : line(model.view, result.mea.output, result.output)));
  }
  if (result.candidates && result.candidates.length) holder.append(candidates(model, result, state, show));
  if (result.samples) {
    holder.append(el("h3", {}, "Random outputs"), el("ol", {class: "candidates samples"}, ...result.samples.map((sample) => el("li", {}, line(model.view, sample.output, result.output)))));
  }
  return holder;
}

function candidates(model, result, state, show) {
  const why = el("div", {class: "panel", "aria-live": "polite"}), first = result.candidates[0];
  const ask = async (place) => {
    why.replaceChildren(el("p", {class: "note"}, "…"));
    try {
      const answer = await predict(model.name, {input: state.sent, known: state.known, why: [0, place]});
      why.replaceChildren(el("h3", {}, `Why the first and not number ${place + 1}`), answer.why ? drawWhy(answer.why) : el("p", {}, "There is no such output."));
    } catch (error) {
      why.replaceChildren(el("p", {class: "error"}, error.message));
    }
  };
  const rows = result.candidates.map((candidate, i) => el("li", {}, line(model.view, candidate.output, i ? first.output : null), " ",
    el("span", {class: "score"}, [shareOf(candidate), candidate.score === undefined ? null : `score ${number(candidate.score)}`].filter(Boolean).join(", ")), " ",
    DRAWN.has(model.view) && result.candidates.length > 1 ? el("button", {type: "button", class: "show", "aria-label": `draw number ${i + 1}`, onclick: () => show(i)}, "draw") : null, " ",
    i && model.abilities.includes("why") ? el("button", {type: "button", class: "why", "aria-label": `why not number ${i + 1}`, onclick: () => ask(i)}, "why not?") : null));
  return el("div", {}, el("h3", {}, "Candidates"), el("ol", {class: "candidates"}, ...rows), why);
}
