import {el, percent, svg} from "./dom.js";

function keyed(marginals) {
  return new Map((marginals || []).map(([i, j, p]) => [`${i},${j}`, p]));
}

// Positions that are numbered: the first, then round ones, not too many.
function numbered(n, most) {
  const step = Math.max(1, Math.ceil(n / most / 10)) * 10;
  return Array.from({length: n}, (_, i) => i).filter((i) => i === 0 || (i + 1) % step === 0);
}

// A step of length one away from what is near a base: its partner, or its neighbours.
function outward(at, i, n, partner) {
  const neighbours = [at(Math.max(0, i - 1)), at(Math.min(n - 1, i + 1))];
  const [x, y] = at(i), [a, b] = neighbours, near = partner === undefined ? [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] : at(partner);
  let [dx, dy] = [x - near[0], y - near[1]];
  if (Math.hypot(dx, dy) < 1) [dx, dy] = [a[1] - b[1], b[0] - a[0]];
  const length = Math.hypot(dx, dy) || 1;
  return [dx / length, dy / length];
}

// The structure in the plane; places come with the answer.
export function drawFold(sequence, fold, marginals, other = null) {
  const probabilities = keyed(marginals), theirs = other && new Set(other.map((pair) => pair.join()));
  const xs = fold.places.map((place) => place[0]), ys = fold.places.map((place) => -place[1]);
  const unit = 17, left = Math.min(...xs) - 2.2, top = Math.min(...ys) - 2.2, n = sequence.length;
  const width = (Math.max(...xs) - left + 2.2) * unit, height = (Math.max(...ys) - top + 2.2) * unit;
  const at = (i) => [(xs[i] - left) * unit, (ys[i] - top) * unit];
  const picture = svg("svg", {viewBox: `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`, width: Math.min(width, 640), role: "img",
    "aria-label": `drawing of the structure ${fold.output}`, "font-size": 10});
  picture.append(svg("polyline", {points: xs.map((_, i) => at(i).map((v) => v.toFixed(1)).join()).join(" "), "stroke-width": 1}));
  const partners = new Map(), paired = new Array(n).fill(0);
  for (const [i, j, p] of marginals || []) { paired[i] += p; paired[j] += p; }
  for (const [i, j] of fold.pairs) {
    const [a, b] = [at(i), at(j)], p = probabilities.get(`${i},${j}`);
    const differs = theirs && !theirs.has(`${i},${j}`);
    partners.set(i, j).set(j, i);
    picture.append(svg("line", {x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: differs ? "pair new" : "pair", "stroke-width": 3, "stroke-dasharray": differs ? "3 2" : null,
      "stroke-opacity": p === undefined ? 0.9 : 0.2 + 0.8 * p}));
  }
  for (let i = 0; i < n; i += 1) {
    const [x, y] = at(i), j = partners.get(i);
    const share = j === undefined ? Math.max(0, 1 - paired[i]) : probabilities.get(`${Math.min(i, j)},${Math.max(i, j)}`);
    const what = j === undefined ? "unpaired" : `with ${sequence[j]}${j + 1}`;
    picture.append(svg("g", {}, svg("title", {}, `${sequence[i]}${i + 1} ${what}${marginals ? `: ${percent(share ?? 0)}` : ""}`),
      svg("circle", {cx: x, cy: y, r: 6.6, class: `base base-${/^[ACGTU]$/i.test(sequence[i]) ? sequence[i].toUpperCase() : "N"}`}),
      svg("text", {x, y: y + 3.5, "text-anchor": "middle"}, sequence[i])));
  }
  const ends = n > 1 ? [["5'", 0], ["3'", n - 1]] : [];
  const marks = [...numbered(n, 40).filter((i) => i > 0 && i < n - 1).map((i) => [String(i + 1), i]), ...ends];
  for (const [mark, i] of marks) {
    const [x, y] = at(i), [dx, dy] = outward(at, i, n, partners.get(i));
    picture.append(svg("text", {x: x + 15 * dx, y: y + 15 * dy + 3, class: "faint", "text-anchor": "middle", "font-size": 8.5}, mark));
  }
  return picture;
}

// Pairs as arcs over the sequence; strength is the probability.
export function drawArcs(sequence, fold, marginals) {
  const probabilities = keyed(marginals), n = sequence.length, unit = n <= 60 ? 12 : n <= 150 ? 9.5 : Math.max(1.2, 1400 / n);
  const widest = Math.max(1, ...fold.pairs.map(([i, j]) => j - i)), up = (widest * unit) / 2 + 8, letters = unit >= 7;
  const width = n * unit + 10;
  const picture = svg("svg", {width, height: up + 30, viewBox: `0 0 ${width} ${up + 30}`, role: "img", "aria-label": "arc diagram", "font-size": Math.min(11, unit + 1)});
  for (const [i, j] of fold.pairs) {
    const a = 5 + (i + 0.5) * unit, b = 5 + (j + 0.5) * unit, p = probabilities.get(`${i},${j}`);
    picture.append(svg("path", {d: `M${a} ${up} A${(b - a) / 2} ${(b - a) / 2} 0 0 1 ${b} ${up}`, class: "pair", "stroke-width": 1.6,
      "stroke-opacity": p === undefined ? 0.9 : 0.2 + 0.8 * p}, svg("title", {}, `${sequence[i]}${i + 1} with ${sequence[j]}${j + 1}: ${percent(p)}`)));
  }
  if (letters) for (let i = 0; i < n; i += 1) picture.append(svg("text", {x: 5 + (i + 0.5) * unit, y: up + 12, "text-anchor": "middle"}, sequence[i]));
  else picture.append(svg("line", {x1: 5, x2: width - 5, y1: up + 2, y2: up + 2}));
  for (const i of numbered(n, 16)) picture.append(svg("text", {x: 5 + (i + 0.5) * unit, y: up + (letters ? 25 : 14), "text-anchor": "middle", class: "faint", "font-size": 9}, i + 1));
  return picture;
}

// Probabilities of pairs above the diagonal, the structure below it; the area of a square is the probability.
export function drawDots(sequence, fold, marginals) {
  const n = sequence.length, size = 320, unit = size / n, off = 18;
  const picture = svg("svg", {viewBox: `0 0 ${size + off + 2} ${size + off + 2}`, width: size + off, role: "img",
    "aria-label": "dot plot of the probabilities of pairs; the structure is below the diagonal", "font-size": 9});
  picture.append(svg("rect", {x: off, y: off, width: size, height: size, class: "frame"}), svg("line", {x1: off, y1: off, x2: off + size, y2: off + size, class: "diagonal"}));
  for (const [i, j, p] of (marginals || []).slice(0, 6000)) {
    const s = Math.max(0.4, Math.sqrt(p) * unit);
    picture.append(svg("rect", {x: off + (j + 0.5) * unit - s / 2, y: off + (i + 0.5) * unit - s / 2, width: s, height: s, fill: "var(--accent)"},
      svg("title", {}, `${sequence[i]}${i + 1} with ${sequence[j]}${j + 1}: ${percent(p)}`)));
  }
  for (const [i, j] of fold.pairs) picture.append(svg("rect", {x: off + i * unit, y: off + j * unit, width: Math.max(unit, 1), height: Math.max(unit, 1), fill: "var(--mark)"}));
  for (const i of numbered(n, 8)) {
    picture.append(svg("text", {x: off + (i + 0.5) * unit, y: 13, "text-anchor": "middle", class: "faint"}, i + 1),
      svg("text", {x: off - 3, y: off + (i + 0.5) * unit + 3, "text-anchor": "end", class: "faint"}, i + 1));
  }
  return el("figure", {}, picture, el("figcaption", {}, "above the diagonal: probabilities of all pairs; below: the structure"));
}

export function drawBrackets(sequence, structure) {
  return el("pre", {class: "mono scroll", tabindex: 0, "aria-label": "sequence and structure"}, `${sequence}\n${structure}`);
}
