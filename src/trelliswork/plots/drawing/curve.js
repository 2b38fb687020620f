import {el, number, svg} from "./dom.js";

// One line: points [[x, y], ...].
export function drawCurve(name, points) {
  const width = 260, height = 120;
  const xs = points.map((point) => point[0]), ys = points.map((point) => point[1]);
  const low = Math.min(...xs), high = Math.max(...xs), bottom = Math.min(...ys), top = Math.max(...ys);
  const place = ([x, y]) => `${(8 + ((width - 16) * (x - low)) / (high - low || 1)).toFixed(1)},${(8 + (height - 16) * (1 - (y - bottom) / (top - bottom || 1))).toFixed(1)}`;
  const picture = svg("svg", {width: width + 66, height: height + 18, role: "img", "aria-label": `${name}: from ${number(ys[0])} to ${number(ys[ys.length - 1])}`, "font-size": 11},
    svg("rect", {x: 0.5, y: 0.5, width, height, class: "frame"}),
    svg("polyline", {points: points.map(place).join(" "), class: "pair", "stroke-width": 1.5}),
    svg("text", {x: width + 5, y: 14}, number(top)), svg("text", {x: width + 5, y: height - 2}, number(bottom)),
    svg("text", {x: 2, y: height + 14, class: "faint"}, low), svg("text", {x: width, y: height + 14, class: "faint", "text-anchor": "end"}, high));
  return el("figure", {}, picture, el("figcaption", {}, name));
}
