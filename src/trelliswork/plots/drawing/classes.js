import {bar, el, percent} from "./dom.js";

// Bars of all labels; below a taxonomy the probability of a node is that of all leaves below it.
export function drawClasses(labels, marginals, taxonomy, best, {onNode = null, known = null} = {}) {
  const share = new Map(labels.map((label, i) => [label, marginals ? marginals[i] : Number(label === best)]));
  const line = (name, p, chosen, depth = 0) => el("div", {class: chosen ? "line best" : "line", style: {"--depth": depth}},
    onNode ? el("button", {type: "button", "aria-pressed": known === name ? "true" : "false", title: known === name ? `not only ${name}` : `only ${name}`, "data-key": `node ${name}`, onclick: () => onNode(name)}, name + (known === name ? " ✓" : "")) : el("span", {}, name),
    bar(p), el("span", {}, percent(p)));
  if (!taxonomy) {
    const order = [...share].sort((a, b) => b[1] - a[1]).slice(0, 100);
    return el("ul", {class: "tree-list"}, ...order.map(([name, p]) => el("li", {}, line(name, p, name === best))));
  }
  const below = new Map(), children = new Set();
  for (const [parent, child] of taxonomy) { below.set(parent, [...(below.get(parent) || []), child]); children.add(child); }
  const leaves = new Map();
  const leavesOf = (node) => {
    if (!leaves.has(node)) leaves.set(node, below.has(node) ? new Set(below.get(node).flatMap((child) => [...leavesOf(child)])) : new Set([node]));
    return leaves.get(node);
  };
  const total = (node) => [...leavesOf(node)].reduce((sum, leaf) => sum + (share.get(leaf) || 0), 0);
  const item = (node, depth = 0) => {
    const sorted = (below.get(node) || []).map((child) => [child, total(child)]).sort((a, b) => b[1] - a[1]);
    return el("li", {}, line(node, total(node), leavesOf(node).has(best), depth), sorted.length ? el("ul", {}, ...sorted.map(([child]) => item(child, depth + 1))) : null);
  };
  const roots = [...below.keys()].filter((node) => !children.has(node));
  return el("ul", {class: "tree-list"}, ...roots.map((root) => item(root)));
}
