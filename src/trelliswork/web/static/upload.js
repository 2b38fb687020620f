// Whole files: a table of results, the file that `predict` writes, scores and confusions.

import {sendFile} from "./api.js";
import {el, percent} from "./draw/dom.js";
import {drawTable} from "./draw/table.js";

export function setUpFiles(parts, current) {
  let file = null;
  const {drop, chooser, raw, predictButton, evaluateButton, holder} = parts;
  const say = (node) => holder.replaceChildren(node);
  const work = async (what, query, show) => {
    if (!file) { say(el("p", {class: "error"}, "Choose a file first.")); return; }
    say(el("p", {class: "note"}, `${file.name} …`));
    try {
      say(show(await sendFile(current().name, what, file, query)));
    } catch (error) {
      say(el("p", {class: "error"}, error.message));
    }
  };
  const predictFile = () => work("/file", {probabilities: "0", raw: raw.checked ? "1" : "0"}, table);
  chooser.addEventListener("change", () => { [file] = chooser.files; if (file) predictFile(); });
  predictButton.addEventListener("click", predictFile);
  evaluateButton.addEventListener("click", () => work("/evaluate", {}, scores));
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    [file] = event.dataTransfer.files;
    if (file) predictFile();
  });
}

function table(answer) {
  const link = el("a", {download: answer.name, href: URL.createObjectURL(new Blob([answer.text], {type: "text/plain"})), id: "download"}, `Download ${answer.name}`);
  const rows = answer.rows.map((row) => [row.input, row.output, row.probability === null ? "" : percent(row.probability)]);
  return el("div", {}, el("p", {}, `${answer.inputs} inputs. `, link), drawTable(["input", "output", "probability"], rows));
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
