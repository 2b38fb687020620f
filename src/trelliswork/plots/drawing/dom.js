// Elements without markup: texts are texts, whatever is in them.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, item] of Object.entries(value)) node.style.setProperty(key, item);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export function percent(p) {
  if (p === null || p === undefined) return "";
  if (p > 0.9995) return "100%";
  return p >= 0.1 && p < 0.99 ? `${(100 * p).toFixed(0)}%` : p >= 0.001 ? `${(100 * p).toFixed(1)}%` : "<0.1%";
}

export function number(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString("en");
  if (size >= 1e7 || (size > 0 && size < 0.001)) return value.toExponential(2);
  return size >= 1000 ? value.toLocaleString("en", {maximumFractionDigits: 0}) : value.toFixed(size >= 100 ? 1 : 3);
}

// A colour for each of many names, readable on light and dark paper.
export function hue(index) {
  return [212, 28, 135, 330, 52, 275, 180, 0, 95, 240][index % 10] + 13 * Math.floor(index / 10);
}

export function bar(share, minus = false) {
  return el("div", {class: minus ? "bar minus" : "bar"}, el("i", {style: {width: `${100 * Math.min(1, share)}%`}}));
}
