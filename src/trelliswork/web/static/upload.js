// Whole files: a table of results, the file that `predict` writes, scores and confusions.

import {sendFile} from "./api.js";
import {el} from "./draw/dom.js";
import {drawTable, share} from "./draw/table.js";

export function setUpFiles(parts, current) {
  let file = null, turn = 0;
  const {drop, chooser, pasted, raw, shares, predictButton, evaluateButton, holder} = parts;
  const say = (node) => holder.replaceChildren(node);
  const take = (given) => { file = given; if (file) { pasted.value = ""; predictFile(); } };
  const work = async (what, query, show) => {
    const text = pasted.value, sent = text.trim() ? new File([text], "pasted.txt") : file, mine = (turn += 1);
    if (!sent) { say(el("p", {class: "error"}, "Choose a file, or paste its text, first.")); return; }
    const {name, limits} = current();
    if (sent.size > limits.file) { say(el("p", {class: "error"}, `${sent.name} has ${sent.size.toLocaleString("en")} bytes; at most ${limits.file.toLocaleString("en")} are taken.`)); return; }
    say(el("p", {class: "note"}, `${sent.name} …`));
    try {
      const answer = await sendFile(name, what, sent, query);
      if (mine !== turn) return;
      say(show(answer));
      // A file with true outputs is evaluated, too.
      const compared = answer.gold ? await sendFile(name, "/evaluate", sent) : null;
      if (mine === turn && compared) holder.append(scores(compared));
    } catch (error) {
      if (mine === turn) say(el("p", {class: "error"}, error.message));
    }
  };
  const predictFile = () => work("/file", {probabilities: shares.checked && !shares.disabled ? "1" : "0", raw: raw.checked ? "1" : "0"}, (answer) => table(answer, current()));
  chooser.addEventListener("change", () => take(chooser.files[0]));
  predictButton.addEventListener("click", predictFile);
  evaluateButton.addEventListener("click", () => work("/evaluate", {}, scores));
  // A file that misses the place for it must not replace the page.
  for (const name of ["dragenter", "dragover"]) document.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.classList.remove("over"); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  return {forget: () => { turn += 1; holder.replaceChildren(); }};
}

function table(answer, model) {
  const link = el("a", {download: answer.name, href: URL.createObjectURL(new Blob([answer.text], {type: "text/plain"})), id: "download"}, `Download ${answer.name}`);
  const known = answer.rows.some((row) => row.probability !== null);
  const rows = answer.rows.map((row) => [row.input, row.output, ...(known ? [share(row.probability)] : [])]);
  const shown = answer.inputs > answer.rows.length ? `, the first ${answer.rows.length} of them below` : "";
  if (answer.gold && model.view === "tree") return el("p", {}, "The file has trees, with which those of the model are compared.");
  return el("div", {}, el("p", {}, `${answer.inputs.toLocaleString("en")} ${answer.inputs === 1 ? "input" : "inputs"}${shown}. `, link),
    ...answer.notes.map((note) => el("p", {class: "note"}, `${note}.`)), drawTable(["input", "output", ...(known ? ["probability"] : [])], rows));
}

function scores(answer) {
  const rows = [];
  (function flat(prefix, value) {
    for (const [name, item] of Object.entries(value || {})) {
      if (item !== null && typeof item === "object" && !Array.isArray(item)) flat(`${prefix}${name.replaceAll("_", " ")} `, item);
      else if (typeof item === "number") rows.push([prefix + name.replaceAll("_", " "), item]);
    }
  })("", answer.scores);
  const confused = answer.confusions.length ? [el("h3", {}, "What is taken for what"), drawTable(["truth", "prediction", "times"], answer.confusions)] : [el("p", {}, "No mistakes.")];
  return el("div", {}, el("h3", {}, "Scores"), drawTable(["score", "value"], rows), ...confused);
}
