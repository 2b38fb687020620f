import {percent, svg} from "./dom.js";

const STEP = 46, LETTER = 7.6, GAP = 16;

// Brackets "label,start,end" of a tree given as ["S", ["NP", "the", "cat"], ...].
export function bracketsOf(tree) {
  const found = new Set();
  let word = 0;
  (function walk(node) {
    if (typeof node === "string") { word += 1; return; }
    const start = word;
    node.slice(1).forEach(walk);
    found.add(`${node[0]},${start},${word}`);
  })(tree);
  return found;
}

function layout(tree) {
  let x = GAP, deepest = 0, word = 0;
  function walk(node, depth) {
    deepest = Math.max(deepest, depth);
    if (typeof node === "string") {
      const width = Math.max(16, [...node].length * LETTER);
      const leaf = {text: node, x: x + width / 2, depth, start: word, end: word + 1, leaf: true, children: []};
      x += width + GAP; word += 1;
      return leaf;
    }
    const before = x, start = word;
    const children = node.slice(1).map((child) => walk(child, depth + 1));
    const width = [...node[0]].length * LETTER;
    let middle = (children[0].x + children[children.length - 1].x) / 2;
    if (middle - width / 2 < before - GAP / 2) middle = before - GAP / 2 + width / 2;
    x = Math.max(x, middle + width / 2 + GAP);
    return {text: node[0], x: middle, depth, start, end: word, leaf: false, children};
  }
  const root = walk(tree, 0);
  return {root, width: x, deepest};
}

// probabilities: Map of "label,start,end"; differs: Set of the same; onNode(label, start, end).
export function drawTree(tree, {probabilities = null, differs = null, fixed = null, onNode = null} = {}) {
  const {root, width, deepest} = layout(tree);
  const height = deepest * STEP + 30;
  const picture = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: onNode ? "group" : "img", "aria-label": "parse tree", "font-size": 13});
  const y = (node) => (node.leaf ? deepest : node.depth) * STEP + 18;
  (function draw(node) {
    for (const child of node.children) {
      picture.append(svg("line", {x1: node.x, y1: y(node) + 5 + (probabilities ? 12 : 0), x2: child.x, y2: y(child) - 13}));
      draw(child);
    }
    const key = `${node.text},${node.start},${node.end}`, held = fixed !== null && fixed.has(key);
    const p = probabilities && !node.leaf ? probabilities.get(key) ?? 0 : undefined;
    const words = node.end - node.start > 1 ? `words ${node.start + 1} to ${node.end}` : `word ${node.end}`;
    const said = node.leaf ? node.text : `${node.text} over ${words}${p === undefined ? "" : `: ${percent(p)}`}${held ? ", fixed" : ""}`;
    const choose = onNode && !node.leaf ? () => onNode(node.text, node.start, node.end) : null;
    const group = svg("g", {tabindex: choose ? 0 : null, role: choose ? "button" : null, "aria-label": choose ? said : null, "aria-pressed": choose ? String(held) : null,
      class: choose ? "choice" : null, "data-key": node.leaf ? null : `bracket ${key}`,
      onclick: choose, onkeydown: choose ? (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } } : null},
    svg("title", {}, said),
    svg("text", {x: node.x, y: y(node), "text-anchor": "middle", class: differs && differs.has(key) ? "differs" : null,
      "font-style": node.leaf ? "italic" : null, "font-weight": node.leaf ? null : 600,
      "text-decoration": held ? "underline" : null}, node.text));
    if (p !== undefined) group.append(svg("text", {x: node.x, y: y(node) + 12, "text-anchor": "middle", "font-size": 10, class: "faint"}, percent(p)));
    picture.append(group);
  })(root);
  return picture;
}
