// The result of one model: the drawing, candidates, expected accuracy, samples, and why.

import {predict} from "./api.js";
import {el, number, percent} from "./draw/dom.js";
import {drawWhy} from "./draw/table.js";
import {line, VIEWS} from "./views.js";

const DRAWN = new Set(["chain", "tree", "rna", "alignment", "transducer"]); // views whose outputs can be drawn

export function drawResult(model, result, other, state, again) {
  const holder = el("section", {"aria-label": `result of ${model.name}`}, el("h2", {}, model.name));
  const draw = VIEWS[model.view] || VIEWS.text, drawing = el("div", {}), best = firstOf(result);
  let pressed = null;
  const show = (shown, compared, button = null) => {
    drawing.replaceChildren(...draw({model, result, shown, other: compared, state, again}).filter(Boolean));
    if (pressed) pressed.classList.remove("shown");
    pressed = button;
    if (button) button.classList.add("shown");
  };
  // Outputs of this model are compared with its best one, the best one with that of the other model.
  const drawButton = (item, name) => {
    if (!DRAWN.has(model.view)) return null;
    const button = el("button", {type: "button", class: "show", "aria-label": `draw ${name}`, onclick: () => show(item, item === best ? firstOf(other) : best, button)}, "draw");
    return button;
  };
  show(best, firstOf(other));
  if (best.score === null) holder.append(el("p", {class: "error"}, model.view === "tree" ? "This grammar has no tree for the sentence; a flat one stands in for it." : "The model gives no output a chance; this one stands in for them."));
  holder.append(drawing);
  if (result.mea) {
    const same = JSON.stringify(result.mea.output) === JSON.stringify(result.output);
    holder.append(el("h3", {}, "Output of largest expected accuracy"), el("div", {class: "mea"}, ...(same ? ["the same as the best output"] : [line(model, result, result.mea, best), " ", drawButton(result.mea, "the output of largest expected accuracy")])));
  }
  if (result.candidates && result.candidates.length) holder.append(candidates(model, result, state, drawButton));
  if (result.samples) {
    holder.append(el("h3", {}, "Random outputs"), el("ol", {class: "candidates samples"}, ...result.samples.map((sample, i) => el("li", {}, line(model, result, sample, best), " ", drawButton(sample, `random output ${i + 1}`)))));
  }
  return holder;
}

export function firstOf(result) {
  return result && (result.candidates && result.candidates.length ? result.candidates[0] : result);
}

function candidates(model, result, state, drawButton) {
  const why = el("div", {class: "panel", "aria-live": "polite"}), first = result.candidates[0], several = result.candidates.length > 1;
  const ask = async (place) => {
    why.replaceChildren(el("p", {class: "note"}, "…"));
    try {
      const answer = await predict(model.name, {input: state.sent, known: model.abilities.includes("known") ? state.known : null, why: [0, place]});
      why.replaceChildren(el("h3", {}, `Why number 1 and not number ${place + 1}`), answer.why ? drawWhy(answer.why) : el("p", {}, "There is no such output."));
    } catch (error) {
      why.replaceChildren(el("p", {class: "error"}, error.message));
    }
  };
  const rows = result.candidates.map((candidate, i) => {
    const figures = [candidate.probability === undefined ? null : percent(candidate.probability), candidate.score === undefined || candidate.score === null ? null : `score ${number(candidate.score)}`];
    return el("li", {}, line(model, result, candidate, i ? first : null), " ", el("span", {class: "score"}, figures.filter(Boolean).join(", ")), " ", several ? drawButton(candidate, `number ${i + 1}`) : null, " ",
      i && model.abilities.includes("why") ? el("button", {type: "button", class: "why", "aria-label": `why not number ${i + 1}`, onclick: () => ask(i)}, "why not?") : null);
  });
  return el("div", {}, el("h3", {}, "Candidates"), el("ol", {class: "candidates"}, ...rows), why);
}
