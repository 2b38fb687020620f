import {el} from "./dom.js";

// What is written as what, piece by piece.
export function drawPieces(pieces) {
  const holder = el("div", {class: "pieces", role: "group", "aria-label": "pieces of the input and what they are written as"});
  for (const [a, b] of pieces) holder.append(el("span", {class: "piece"}, el("span", {}, a || "–"), el("b", {}, b || "–")));
  return holder;
}

// Texts are compared letter by letter, trees bracket by bracket.
export const letters = (text) => [...text];
export const brackets = (text) => text.match(/\(\S*|\)|[^\s()]+|\s+/g) || [];

// A text with what another one does not share marked: the longest common subsequence stays plain.
export function drawDifference(text, other, cut = letters) {
  const a = cut(text), b = cut(other), holder = el("span", {class: "mono"});
  if (a.length * b.length > 4e6) { holder.append(text); return holder; }
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  }
  let i = 0, j = 0, plain = "", here = "", gone = "";
  const flush = () => {
    if (plain) holder.append(plain);
    if (here || gone) holder.append(el("mark", {title: gone.trim() ? `instead of ${gone}` : null}, here || "‸"));
    plain = here = gone = "";
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      if (here || gone) flush();
      plain += a[i]; i += 1; j += 1;
    } else if (j < b.length && (i === a.length || best[i][j + 1] >= best[i + 1][j])) { gone += b[j]; j += 1; } else { here += a[i]; i += 1; }
  }
  flush();
  return holder;
}

// Two texts of the same length, compared place by place.
export function drawChanges(text, other) {
  const a = [...text], b = [...other], holder = el("span", {class: "mono"});
  if (a.length !== b.length) return drawDifference(text, other);
  for (let i = 0; i < a.length;) {
    let end = i + 1;
    while (end < a.length && (a[end] === b[end]) === (a[i] === b[i])) end += 1;
    const run = a.slice(i, end).join("");
    holder.append(a[i] === b[i] ? run : el("mark", {}, run));
    i = end;
  }
  return holder;
}
