import {el, percent, svg} from "./dom.js";

function keyed(marginals) {
  return new Map((marginals || []).map(([i, j, p]) => [`${i},${j}`, p]));
}

// The structure in the plane; places come with the answer.
export function drawFold(sequence, fold, marginals, other = null) {
  const probabilities = keyed(marginals), theirs = other && new Set(other.map((pair) => pair.join()));
  const xs = fold.places.map((place) => place[0]), ys = fold.places.map((place) => -place[1]);
  const unit = 15, left = Math.min(...xs) - 2, top = Math.min(...ys) - 2;
  const width = (Math.max(...xs) - left + 2) * unit, height = (Math.max(...ys) - top + 2) * unit;
  const at = (i) => [(xs[i] - left) * unit, (ys[i] - top) * unit];
  const picture = svg("svg", {viewBox: `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`, width: Math.min(width, 640), role: "img",
    "aria-label": `drawing of the structure ${fold.output}`, "font-size": 10});
  picture.append(svg("polyline", {points: xs.map((_, i) => at(i).map((v) => v.toFixed(1)).join()).join(" "), "stroke-width": 1}));
  for (const [i, j] of fold.pairs) {
    const [a, b] = [at(i), at(j)], p = probabilities.get(`${i},${j}`);
    const differs = theirs && !theirs.has(`${i},${j}`);
    picture.append(svg("line", {x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: "pair", "stroke-width": 3, "stroke-dasharray": differs ? "3 2" : null,
      "stroke-opacity": p === undefined ? 0.9 : 0.15 + 0.85 * p}, svg("title", {}, `${sequence[i]}${i + 1} - ${sequence[j]}${j + 1}: ${percent(p)}`)));
  }
  for (let i = 0; i < sequence.length; i += 1) {
    const [x, y] = at(i);
    picture.append(svg("circle", {cx: x, cy: y, r: 5.6, fill: "var(--paper)"}), svg("text", {x, y: y + 3.4, "text-anchor": "middle"}, sequence[i]));
  }
  for (const [mark, i] of [["5'", 0], ["3'", sequence.length - 1]]) {
    picture.append(svg("text", {x: at(i)[0] + (i ? 12 : -12), y: at(i)[1] + 14, class: "faint", "text-anchor": "middle", "font-size": 9}, mark));
  }
  return picture;
}

// Pairs as arcs over the sequence; strength is the probability.
export function drawArcs(sequence, fold, marginals) {
  const probabilities = keyed(marginals), n = sequence.length, unit = n <= 60 ? 12 : n <= 150 ? 8 : Math.max(1.2, 900 / n);
  const widest = Math.max(1, ...fold.pairs.map(([i, j]) => j - i)), up = (widest * unit) / 2 + 8, letters = unit >= 7;
  const width = n * unit + 10;
  const picture = svg("svg", {width, height: up + 18, viewBox: `0 0 ${width} ${up + 18}`, role: "img", "aria-label": "arc diagram", "font-size": Math.min(11, unit)});
  for (const [i, j] of fold.pairs) {
    const a = 5 + (i + 0.5) * unit, b = 5 + (j + 0.5) * unit, p = probabilities.get(`${i},${j}`);
    picture.append(svg("path", {d: `M${a} ${up} A${(b - a) / 2} ${(b - a) / 2} 0 0 1 ${b} ${up}`, class: "pair", "stroke-width": 1.6,
      "stroke-opacity": p === undefined ? 0.9 : 0.15 + 0.85 * p}, svg("title", {}, `${i + 1} - ${j + 1}: ${percent(p)}`)));
  }
  if (letters) for (let i = 0; i < n; i += 1) picture.append(svg("text", {x: 5 + (i + 0.5) * unit, y: up + 12, "text-anchor": "middle"}, sequence[i]));
  else picture.append(svg("line", {x1: 5, x2: width - 5, y1: up + 2, y2: up + 2}));
  return picture;
}

// Probabilities of pairs above the diagonal, the structure below it; the area of a square is the probability.
export function drawDots(sequence, fold, marginals) {
  const n = sequence.length, size = 320, unit = size / n, off = 14;
  const picture = svg("svg", {viewBox: `0 0 ${size + off + 2} ${size + off + 2}`, width: size + off, role: "img",
    "aria-label": "dot plot of the probabilities of pairs; the structure is below the diagonal", "font-size": 9});
  picture.append(svg("rect", {x: off, y: off, width: size, height: size, class: "frame"}), svg("line", {x1: off, y1: off, x2: off + size, y2: off + size}));
  for (const [i, j, p] of (marginals || []).slice(0, 6000)) {
    const s = Math.max(0.4, Math.sqrt(p) * unit);
    picture.append(svg("rect", {x: off + (j + 0.5) * unit - s / 2, y: off + (i + 0.5) * unit - s / 2, width: s, height: s, fill: "var(--accent)"},
      svg("title", {}, `${sequence[i]}${i + 1} - ${sequence[j]}${j + 1}: ${percent(p)}`)));
  }
  for (const [i, j] of fold.pairs) picture.append(svg("rect", {x: off + i * unit, y: off + j * unit, width: Math.max(unit, 1), height: Math.max(unit, 1), fill: "var(--mark)"}));
  for (let i = 0; i < n; i += Math.max(1, Math.ceil(n / 8 / 10) * 10)) {
    picture.append(svg("text", {x: off + (i + 0.5) * unit, y: 10, "text-anchor": "middle", class: "faint"}, i + 1),
      svg("text", {x: off - 2, y: off + (i + 0.5) * unit + 3, "text-anchor": "end", class: "faint"}, i + 1));
  }
  return picture;
}

export function drawBrackets(sequence, structure) {
  return el("pre", {class: "mono scroll"}, `${sequence}\n${structure}`);
}
