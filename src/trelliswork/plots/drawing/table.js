import {bar, el, number, percent} from "./dom.js";

// A probability as a cell of a table.
export const share = (p) => ({value: p, text: percent(p)});

const valueOf = (cell) => (cell !== null && typeof cell === "object" ? cell.value : cell);
const isNumber = (cell) => typeof valueOf(cell) === "number";
const textOf = (cell) => (cell !== null && typeof cell === "object" ? cell.text : typeof cell === "number" ? number(cell) : String(cell ?? ""));

// A table whose columns can be sorted; numbers are right, texts left.
export function drawTable(head, rows, most = 200) {
  const body = el("tbody", {});
  let order = [...rows], column = -1, falling = true;
  const show = () => body.replaceChildren(...order.slice(0, most).map((row) => el("tr", {}, ...row.map((cell) => el("td", {class: isNumber(cell) ? null : "text"}, textOf(cell))))));
  const heads = head.map((name, i) => {
    const first = (rows[0] || [])[i];
    return el("th", {scope: "col", "aria-sort": "none", class: isNumber(first) ? null : "text"}, el("button", {type: "button", onclick: () => {
      falling = column === i ? !falling : isNumber(first);
      column = i;
      const [up, down] = falling ? [-1, 1] : [1, -1];
      order = [...rows].sort((a, b) => (valueOf(a[i]) < valueOf(b[i]) ? down : valueOf(a[i]) > valueOf(b[i]) ? up : 0));
      heads.forEach((other, k) => other.setAttribute("aria-sort", k === i ? (falling ? "descending" : "ascending") : "none"));
      show();
    }}, name, el("span", {class: "sort", "aria-hidden": "true"})));
  });
  show();
  const note = rows.length > most ? el("p", {class: "note"}, `The first ${most} of ${rows.length} rows.`) : null;
  return el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body), note);
}

const FIRST = 12; // contributions that are shown at first

// What every feature adds to the difference of two scores.
export function drawWhy(why) {
  const top = Math.max(1e-12, ...why.contributions.map((row) => Math.abs(row.value)));
  const times = (count) => `${count > 0 ? "+" : ""}${number(count)}`;
  const rows = why.contributions.map((row, i) => el("tr", {hidden: i >= FIRST}, el("td", {class: "text mono"}, row.name), el("td", {}, number(row.weight)),
    el("td", {}, times(row.count)), el("td", {}, number(row.value)), el("td", {class: "graph"}, bar(Math.abs(row.value) / top, row.value < 0))));
  if (why.others.count) rows.push(el("tr", {}, el("td", {class: "text"}, `${why.others.count} others`), el("td", {}), el("td", {}), el("td", {}, number(why.others.value)), el("td", {class: "graph"})));
  rows.push(el("tr", {}, el("td", {class: "text"}, el("b", {}, "difference of the scores")), el("td", {}), el("td", {}), el("td", {}, el("b", {}, number(why.difference))), el("td", {class: "graph"})));
  if (!why.contributions.length) rows.unshift(el("tr", {}, el("td", {class: "text", colspan: 5}, "both outputs have the same features")));
  const heads = ["feature", "weight", "difference", "product"].map((name, i) => el("th", {scope: "col", class: i ? null : "text"}, name));
  heads.push(el("td", {class: "graph"}));
  const more = el("button", {type: "button", onclick: () => { for (const row of rows) row.hidden = false; more.remove(); }}, `Show all ${why.contributions.length}`);
  const note = el("p", {class: "note"}, "Weight of a feature, times how much more of it the first output has.");
  return el("div", {class: "scroll"}, note, why.contributions.length > FIRST ? more : null, el("table", {class: "why"}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
}
