import {bar, el, number} from "./dom.js";

// A table whose columns can be sorted; numbers are right, texts left.
export function drawTable(head, rows, most = 200) {
  const body = el("tbody", {});
  let order = [...rows], column = -1, falling = true;
  const show = () => body.replaceChildren(...order.slice(0, most).map((row) => el("tr", {},
    ...row.map((cell) => el("td", {class: typeof cell === "number" ? null : "text"}, typeof cell === "number" ? number(cell) : String(cell ?? ""))))));
  const heads = head.map((name, i) => {
    const cell = el("th", {scope: "col", "aria-sort": "none", class: typeof (rows[0] || [])[i] === "number" ? null : "text"},
      el("button", {type: "button", onclick: () => {
        falling = column === i ? !falling : typeof (rows[0] || [])[i] === "number";
        column = i;
        order = [...rows].sort((a, b) => (a[i] < b[i] ? -1 : a[i] > b[i] ? 1 : 0) * (falling ? -1 : 1));
        heads.forEach((other, k) => other.setAttribute("aria-sort", k === i ? (falling ? "descending" : "ascending") : "none"));
        show();
      }}, `${name} ↕`));
    return cell;
  });
  show();
  const note = rows.length > most ? el("p", {class: "note"}, `the first ${most} of ${rows.length}`) : null;
  return el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body), note);
}

const FIRST = 12; // contributions that are shown at first

// What every feature adds to the difference of two scores.
export function drawWhy(why) {
  const top = Math.max(1e-12, ...why.contributions.map((row) => Math.abs(row.value)));
  const times = (count) => `${count > 0 ? "+" : ""}${number(count)}`;
  const rows = why.contributions.map((row, i) => el("tr", {hidden: i >= FIRST}, el("td", {class: "text mono"}, row.name), el("td", {}, number(row.weight)),
    el("td", {}, times(row.count)), el("td", {}, number(row.value)), el("td", {}, bar(Math.abs(row.value) / top, row.value < 0))));
  if (why.others.count) rows.push(el("tr", {}, el("td", {class: "text"}, `${why.others.count} others`), el("td", {}), el("td", {}), el("td", {}, number(why.others.value)), el("td", {})));
  rows.push(el("tr", {}, el("td", {class: "text"}, el("b", {}, "difference of the scores")), el("td", {}), el("td", {}), el("td", {}, el("b", {}, number(why.difference))), el("td", {})));
  if (!why.contributions.length) rows.unshift(el("tr", {}, el("td", {class: "text", colspan: 5}, "both outputs have the same features")));
  const heads = ["feature", "weight", "more often", "adds", ""].map((name, i) => el("th", {scope: "col", class: i ? null : "text"}, name));
  const more = el("button", {type: "button", onclick: () => { for (const row of rows) row.hidden = false; more.remove(); }}, `all ${why.contributions.length}`);
  return el("div", {class: "scroll"}, why.contributions.length > FIRST ? more : null, el("table", {class: "why"}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
}
