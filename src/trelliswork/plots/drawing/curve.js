import {el, number, svg} from "./dom.js";

// Lines of points [[x, y], ...] in one frame; `falling` puts the smallest value at the top.
// across: the name of the axis; written(x): how its ends are written.
export function drawCurves(name, lines, {across = null, falling = false, written = number} = {}) {
  const width = 250, height = 120, all = lines.flat();
  const xs = all.map((point) => point[0]), ys = all.map((point) => point[1]);
  const low = Math.min(...xs), high = Math.max(...xs), bottom = Math.min(...ys), top = Math.max(...ys);
  const place = ([x, y]) => {
    const up = (y - bottom) / (top - bottom || 1);
    return `${(8 + ((width - 16) * (x - low)) / (high - low || 1)).toFixed(1)},${(8 + (height - 16) * (falling ? up : 1 - up)).toFixed(1)}`;
  };
  const last = lines[0][lines[0].length - 1];
  const picture = svg("svg", {width: width + 66, height: height + 18, role: "img", "aria-label": `${name}: from ${number(lines[0][0][1])} to ${number(last[1])}`, "font-size": 11},
    svg("rect", {x: 0.5, y: 0.5, width, height, class: "frame"}),
    ...lines.map((points, i) => svg("polyline", {points: points.map(place).join(" "), class: `line line-${i % 5}`, "stroke-width": 1.5})),
    svg("text", {x: width + 5, y: 14}, number(falling ? bottom : top)), svg("text", {x: width + 5, y: height - 2}, number(falling ? top : bottom)),
    svg("text", {x: 2, y: height + 14, class: "faint"}, written(low)), svg("text", {x: width, y: height + 14, class: "faint", "text-anchor": "end"}, written(high)),
    across ? svg("text", {x: width / 2, y: height + 14, class: "faint", "text-anchor": "middle"}, across) : null);
  return el("figure", {}, picture, el("figcaption", {}, name));
}
