// What a model is: facts, settings, training curves, sortable tables of weights.

import {drawCurves} from "./draw/curve.js";
import {el} from "./draw/dom.js";
import {drawTable} from "./draw/table.js";

const facts = (rows) => el("dl", {class: "facts"}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

export function drawCard(model) {
  const {card} = model, parts = [facts(card.facts)];
  if (card.curves.length) parts.push(el("h3", {}, "Training"), el("div", {class: "curves"}, ...card.curves.map((curve) => drawCurves(curve.name, [curve.points], {across: "iteration"}))));
  if (card.settings.length) parts.push(el("details", {}, el("summary", {}, "Settings"), facts(card.settings)));
  for (const table of card.tables) parts.push(el("details", {}, el("summary", {}, `${table.name} (${table.rows.length})`), drawTable(table.head, table.rows)));
  return parts;
}
