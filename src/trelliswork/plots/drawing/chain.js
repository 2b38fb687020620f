import {el, hue, percent} from "./dom.js";

// "B-PER" and "I-PER" are one kind of entity; any other label is a kind of its own.
function kindOf(label) {
  const found = /^[BIESLU]-(.+)$/.exec(label);
  return found ? found[1] : label;
}

export function chainHues(labels) {
  const kinds = [...new Set(labels.map(kindOf))].filter((kind) => kind !== "O");
  return new Map(kinds.map((kind, i) => [kind, hue(i)]));
}

export function distribution(labels, row, most = 8) {
  return labels.map((label, i) => [label, row[i]]).sort((a, b) => b[1] - a[1]).slice(0, most);
}

// Tokens with their labels; the colour is the kind, its strength the probability.
// chain: {tokens, output, labels, marginals, known, differs, wrong, faces}
// onToken(t) is called for a click, onLook(t) for a hover or the focus.
export function drawChain(chain, {onToken = null, onLook = null} = {}) {
  const hues = chainHues(chain.labels);
  const place = new Map(chain.labels.map((label, i) => [label, i]));
  const holder = el("div", {class: "chain", role: "group", "aria-label": "labels of the tokens"});
  chain.output.forEach((label, t) => {
    const kind = kindOf(label);
    const share = chain.marginals ? chain.marginals[t][place.get(label)] : null;
    const inside = t > 0 && /^[IE]-/.test(label) && kindOf(chain.output[t - 1]) === kind;
    const classes = ["token", inside && "inside", chain.known && chain.known[t] && "fixed",
      chain.differs && chain.differs[t] && "differs", chain.wrong && chain.wrong[t] && "wrong"];
    const look = onLook ? () => onLook(t) : null;
    const said = share === null ? `${chain.tokens[t]}: ${label}` : `${chain.tokens[t]}: ${label}, ${percent(share)}`;
    const node = el(onToken ? "button" : "span", {
      class: classes.filter(Boolean).join(" "), type: onToken ? "button" : null, "aria-label": said, title: said,
      onclick: onToken ? () => onToken(t, node) : null, onmouseenter: look, onfocus: look, "data-token": t,
    },
    chain.faces ? chain.faces[t] : el("span", {}, chain.tokens[t]),
    el("small", {}, label === "O" || (inside && !chain.faces) ? "" : chain.faces ? label : kind),
    chain.marginals ? el("small", {class: "share"}, percent(share)) : null);
    if (hues.has(kind)) node.style.backgroundColor = `hsl(${hues.get(kind)} 75% 50% / ${0.08 + 0.42 * (share ?? 0.8)})`;
    holder.append(node);
  });
  return holder;
}

export function drawDistribution(labels, row, onLabel = null) {
  const holder = el("div", {class: "bars"});
  for (const [label, p] of distribution(labels, row)) {
    const name = onLabel ? el("button", {type: "button", onclick: () => onLabel(label)}, label) : el("span", {}, label);
    const track = el("div", {class: "bar"}, el("i", {}));
    track.firstChild.style.width = `${100 * p}%`;
    holder.append(name, track, el("span", {}, percent(p)));
  }
  return holder;
}
