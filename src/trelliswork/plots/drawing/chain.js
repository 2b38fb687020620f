import {bar, el, hue, percent} from "./dom.js";

// "B-PER" and "I-PER" are one kind of entity; any other label is a kind of its own.
function kindOf(label) {
  const found = /^[BIESLU]-(.+)$/.exec(label);
  return found ? found[1] : label;
}

function isInside(output, t) {
  return t > 0 && /^[IEL]-/.test(output[t]) && kindOf(output[t - 1]) === kindOf(output[t]) && output[t - 1] !== "O";
}

export function chainHues(labels) {
  const kinds = [...new Set(labels.map(kindOf))].filter((kind) => kind !== "O");
  return new Map(kinds.map((kind, i) => [kind, hue(i)]));
}

export function distribution(labels, row, most = 8) {
  return labels.map((label, i) => [label, row[i]]).sort((a, b) => b[1] - a[1]).slice(0, most);
}

function colour(node, hues, kind, share) {
  if (hues.has(kind)) node.style.backgroundColor = `hsl(${hues.get(kind)} 75% 50% / ${0.06 + 0.3 * share})`;
}

// Tokens with their labels; the colour is the kind, its strength the probability.
// chain: {tokens, output, labels, marginals, known, differs, wrong, faces}
// onToken(t) is called for a click, onLook(t) for a hover or the focus.
export function drawChain(chain, {onToken = null, onLook = null} = {}) {
  const hues = chainHues(chain.labels);
  const place = new Map(chain.labels.map((label, i) => [label, i]));
  const holder = el("div", {class: "chain", role: "group", "aria-label": "labels of the tokens"});
  chain.output.forEach((label, t) => {
    const kind = kindOf(label), inside = isInside(chain.output, t);
    const share = chain.marginals ? chain.marginals[t][place.get(label)] : null;
    const classes = ["token", inside && "inside", chain.known && chain.known[t] && "fixed",
      chain.differs && chain.differs[t] && "differs", chain.wrong && chain.wrong[t] && "wrong"];
    const look = onLook ? () => onLook(t) : null;
    const said = `${chain.tokens[t]}: ${label}${share === null ? "" : `, ${percent(share)}`}${chain.known && chain.known[t] ? ", fixed" : ""}`;
    const node = el(onToken ? "button" : "span", {
      class: classes.filter(Boolean).join(" "), type: onToken ? "button" : null, role: onToken ? null : "img", "aria-label": said, title: said,
      onclick: onToken ? () => onToken(t, node) : null, onmouseenter: look, onfocus: look, "data-token": t, "data-key": `token ${t}`,
    },
    chain.faces ? chain.faces[t] : el("span", {}, chain.tokens[t]),
    el("small", {}, label === "O" || (inside && !chain.faces) ? "" : chain.faces ? label : kind),
    chain.marginals ? el("small", {class: "share"}, percent(share)) : null);
    colour(node, hues, kind, share ?? 0.8);
    holder.append(node);
  });
  return holder;
}

// A line of text with its labels; where they differ from those of `first` they are marked.
export function drawSpans({tokens, output, labels}, first = null) {
  const hues = chainHues(labels), holder = el("span", {class: "spans"});
  for (let t = 0; t < output.length;) {
    let end = t + 1;
    while (end < output.length && isInside(output, end)) end += 1;
    const kind = kindOf(output[t]), text = tokens.slice(t, end).join(" ");
    const differs = first !== null && output.slice(t, end).some((label, i) => label !== first[t + i]);
    if (kind === "O" && !differs) holder.append(text, " ");
    else {
      const name = differs ? el("mark", {}, kind) : kind;
      const span = el("span", {class: "span"}, text, " ", el("small", {}, name));
      colour(span, hues, kind, 0.6);
      holder.append(span, " ");
    }
    t = end;
  }
  return holder;
}

export function drawDistribution(labels, row, onLabel = null) {
  const holder = el("div", {class: "bars"});
  for (const [label, p] of distribution(labels, row)) {
    const name = onLabel ? el("button", {type: "button", title: `fix ${label}`, onclick: () => onLabel(label)}, label) : el("span", {}, label);
    holder.append(name, bar(p), el("span", {}, percent(p)));
  }
  return holder;
}
