import {svg} from "./dom.js";

// A small square picture from the darkness of its pixels.
export function drawPixels(values) {
  const side = Math.round(Math.sqrt(values.length));
  const picture = svg("svg", {width: 48, height: 48, viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "picture of a digit"});
  values.forEach((value, i) => {
    if (value > 0.02) picture.append(svg("rect", {x: i % side, y: Math.floor(i / side), width: 1.02, height: 1.02, fill: "currentColor", "fill-opacity": value}));
  });
  return picture;
}
