import {el, percent} from "./dom.js";

const WIDTH = 60;

// Rows of symbols; the shade of a column is its posterior probability.
export function drawRows(rows, columns, marginals, other = null) {
  const theirs = other && new Set(other.map((column) => column.join()));
  const holder = el("div", {class: "rows scroll", role: "group", "aria-label": `alignment: ${[...rows[0]].join("")} with ${[...rows[1]].join("")}`});
  const symbols = rows.map((row) => [...row]);
  const first = Math.max(0, symbols[0].length - columns.length);
  for (let start = 0; start < symbols[0].length; start += WIDTH) {
    const lines = [el("div", {}), el("div", {}), el("div", {})];
    for (let t = start; t < Math.min(start + WIDTH, symbols[0].length); t += 1) {
      const column = columns.length === symbols[0].length ? columns[t] : columns[t - first] || [null, null];
      const [i, j] = column;
      let p = null;
      if (marginals) p = i === null && j === null ? null : i === null ? marginals.second[j] : j === null ? marginals.first[i] : marginals.match[i][j];
      const same = symbols[0][t] === symbols[1][t];
      const differs = theirs && !theirs.has(column.join()) ? "differs" : null;
      for (const [line, text] of [[0, symbols[0][t]], [1, i !== null && j !== null ? (same ? "|" : "·") : " "], [2, symbols[1][t]]]) {
        const cell = el("span", {title: p === null ? null : percent(p), class: differs}, text === " " ? "\u00a0" : text);
        if (p !== null && line !== 1) cell.style.backgroundColor = `rgb(var(--shade) / ${(0.45 * p).toFixed(3)})`;
        lines[line].append(cell);
      }
    }
    holder.append(el("div", {class: "block"}, ...lines));
  }
  return holder;
}

// Symbols along the edges, where there is room for them.
function drawEdges(pen, x, unit, margin, ink) {
  pen.fillStyle = ink;
  pen.font = `${Math.min(12, unit)}px ui-monospace, monospace`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  [...x[0]].forEach((symbol, i) => pen.fillText(symbol, margin / 2, margin + (i + 0.5) * unit));
  [...x[1]].forEach((symbol, j) => pen.fillText(symbol, margin + (j + 0.5) * unit, margin / 2));
}

// The posterior of every pair of symbols as a picture; onCell(i, j) for a click.
// cursor: {row, column}, where the arrow keys are.
export function drawHeat(x, marginals, columns, {onCell = null, fixed = [], cursor = {row: 0, column: 0}} = {}) {
  const rows = marginals.match.length, width = rows ? marginals.match[0].length : 0;
  const unit = Math.max(1, Math.min(18, Math.floor(420 / Math.max(rows, width, 1)))), margin = unit >= 8 ? 16 : 0;
  const across = margin + width * unit, down = margin + rows * unit, sharp = 2;
  const canvas = el("canvas", {class: "heat", width: sharp * across, height: sharp * down, role: "application", tabindex: 0, "data-key": "heat",
    style: {width: `${across}px`, "aspect-ratio": `${across} / ${down}`}, "aria-label": `posterior probabilities of ${rows} by ${width} pairs of symbols; the arrow keys go from pair to pair`});
  const keys = onCell ? "Point at a cell, or go to it with the arrow keys, to read its probability; a click or Enter fixes the pair." : "Point at a cell, or go to it with the arrow keys, to read its probability.";
  const readout = el("p", {class: "note", "aria-live": "polite"}, keys), here = el("div", {class: "cell", hidden: true});
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  const shade = colour("--shade").split(/\s+/).join(","), pen = canvas.getContext("2d");
  pen.scale(sharp, sharp);
  marginals.match.forEach((row, i) => row.forEach((p, j) => {
    if (p < 0.002) return;
    pen.fillStyle = `rgba(${shade},${(0.08 + 0.92 * p).toFixed(3)})`;
    pen.fillRect(margin + j * unit, margin + i * unit, unit, unit);
  }));
  if (margin) drawEdges(pen, x, unit, margin, colour("--ink"));
  pen.strokeStyle = colour("--mark");
  pen.lineWidth = Math.max(1, unit / 8);
  for (const [i, j] of columns) if (i !== null && j !== null) pen.strokeRect(margin + j * unit + 0.5, margin + i * unit + 0.5, unit - 1, unit - 1);
  pen.lineWidth = 4;
  for (const [i, j] of fixed) if (i !== null && j !== null) pen.strokeRect(margin + j * unit + 2, margin + i * unit + 2, unit - 4, unit - 4);
  const cellOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return [Math.floor((((event.clientY - box.top) / box.height) * down - margin) / unit), Math.floor((((event.clientX - box.left) / box.width) * across - margin) / unit)];
  };
  const isCell = (i, j) => marginals.match[i] !== undefined && marginals.match[i][j] !== undefined;
  const tell = (i, j) => { if (isCell(i, j)) readout.textContent = `${x[0][i]}${i + 1} with ${x[1][j]}${j + 1}: ${percent(marginals.match[i][j])}`; };
  const showCursor = () => {
    const {row, column} = cursor;
    here.hidden = false;
    here.style.left = `${(100 * (margin + column * unit)) / across}%`;
    here.style.top = `${(100 * (margin + row * unit)) / down}%`;
    here.style.width = `${(100 * unit) / across}%`;
    here.style.height = `${(100 * unit) / down}%`;
    tell(row, column);
  };
  canvas.addEventListener("mousemove", (event) => tell(...cellOf(event)));
  canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) showCursor(); });
  canvas.addEventListener("blur", () => { here.hidden = true; });
  if (onCell) canvas.addEventListener("click", (event) => { const cell = cellOf(event); if (isCell(...cell)) onCell(...cell); });
  const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  canvas.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (step) {
      cursor.row = Math.max(0, Math.min(rows - 1, cursor.row + step[0]));
      cursor.column = Math.max(0, Math.min(width - 1, cursor.column + step[1]));
      showCursor();
    } else if ((event.key === "Enter" || event.key === " ") && onCell && isCell(cursor.row, cursor.column)) onCell(cursor.row, cursor.column);
    else return;
    event.preventDefault();
  });
  return el("div", {}, el("div", {class: "heat-map"}, canvas, here), readout);
}
