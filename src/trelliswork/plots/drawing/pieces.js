import {el} from "./dom.js";

// What is written as what, piece by piece.
export function drawPieces(pieces) {
  const holder = el("div", {class: "pieces", role: "group", "aria-label": "pieces of the input and what they are written as"});
  for (const [a, b] of pieces) holder.append(el("span", {class: "piece"}, el("span", {}, a || "–"), el("b", {}, b || "–")));
  return holder;
}

// Two texts with what they do not share marked: the longest common subsequence stays plain.
export function drawDifference(text, other) {
  const a = [...text], b = [...other];
  if (a.length * b.length > 4e6) return el("span", {class: "mono"}, text);
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  const holder = el("span", {class: "mono"});
  let i = 0, j = 0, run = "", marked = false;
  const flush = () => { if (run) holder.append(marked ? el("mark", {}, run) : run); run = ""; };
  while (i < a.length) {
    const same = j < b.length && a[i] === b[j];
    if (!same && j < b.length && best[i][j + 1] >= best[i + 1][j]) { j += 1; continue; }
    if (marked === same) { flush(); marked = !same; }
    run += a[i];
    i += 1;
    if (same) j += 1;
  }
  flush();
  return holder;
}
