import {el, percent} from "./dom.js";

const WIDTH = 60;

// Rows of symbols; the shade of a column is its posterior probability.
export function drawRows(rows, columns, marginals, other = null) {
  const theirs = other && new Set(other.map((column) => column.join()));
  const holder = el("div", {class: "rows scroll", role: "group", "aria-label": `alignment: ${[...rows[0]].join("")} with ${[...rows[1]].join("")}`});
  const symbols = rows.map((row) => [...row]);
  const first = symbols[0].length - columns.length > 0 ? symbols[0].length - columns.length : 0;
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
        if (p !== null && line !== 1) cell.style.backgroundColor = `rgb(var(--shade) / ${(0.55 * p).toFixed(3)})`;
        lines[line].append(cell);
      }
    }
    holder.append(el("div", {class: "block"}, ...lines));
  }
  return holder;
}

// The posterior of every pair of residues as a picture; onCell(i, j) for a click.
export function drawHeat(x, marginals, columns, {onCell = null, fixed = []} = {}) {
  const rows = marginals.match.length, width = rows ? marginals.match[0].length : 0;
  const unit = Math.max(1, Math.min(18, Math.floor(420 / Math.max(rows, width, 1))));
  const canvas = el("canvas", {class: "heat", width: width * unit, height: rows * unit, role: "img", tabindex: 0,
    "aria-label": `posterior probabilities of ${rows} by ${width} pairs of symbols`});
  const readout = el("p", {class: "note", "aria-live": "polite"}, "Point at a cell, or go to it with the arrow keys, to read its probability; click or Enter fixes the pair.");
  const shade = getComputedStyle(document.documentElement).getPropertyValue("--shade").trim().split(/\s+/).join(",");
  const mark = getComputedStyle(document.documentElement).getPropertyValue("--mark").trim();
  const pen = canvas.getContext("2d");
  marginals.match.forEach((row, i) => row.forEach((p, j) => {
    if (p < 0.002) return;
    pen.fillStyle = `rgba(${shade},${(0.08 + 0.92 * p).toFixed(3)})`;
    pen.fillRect(j * unit, i * unit, unit, unit);
  }));
  pen.strokeStyle = mark;
  pen.lineWidth = Math.max(1, unit / 8);
  for (const [i, j] of columns) if (i !== null && j !== null) pen.strokeRect(j * unit + 0.5, i * unit + 0.5, unit - 1, unit - 1);
  for (const [i, j] of fixed) { pen.lineWidth = 3; pen.strokeRect(j * unit + 1, i * unit + 1, unit - 2, unit - 2); }
  const cellOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return [Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * width)];
  };
  const tell = (i, j) => {
    if (marginals.match[i] && marginals.match[i][j] !== undefined) readout.textContent = `${x[0][i]}${i + 1} with ${x[1][j]}${j + 1}: ${percent(marginals.match[i][j])}`;
  };
  canvas.addEventListener("mousemove", (event) => tell(...cellOf(event)));
  if (onCell) canvas.addEventListener("click", (event) => onCell(...cellOf(event)));
  const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
  let [row, column] = [0, 0];
  canvas.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (step) {
      row = Math.max(0, Math.min(rows - 1, row + step[0]));
      column = Math.max(0, Math.min(width - 1, column + step[1]));
      tell(row, column);
    } else if ((event.key === "Enter" || event.key === " ") && onCell) onCell(row, column);
    else return;
    event.preventDefault();
  });
  return el("div", {}, canvas, readout);
}
