// The page: chooses models, asks them, and shows what they answer.

import {keepToken, listModels, predict, readModel, takeToken} from "./api.js";
import {drawCard} from "./card.js";
import {el} from "./draw/dom.js";
import {drawResult} from "./results.js";
import {setUpTheme} from "./theme.js";
import {setUpFiles} from "./upload.js";

const $ = (id) => document.getElementById(id);
const state = {model: null, other: null, known: null, sent: null, drawn: null, turn: 0};

function say(text, failed = false) {
  $("status").textContent = text;
  $("status").className = failed ? "error" : "note";
}

function fail(error) {
  say(error.message, true);
  $("token-form").hidden = error.status !== 401;
}

// Views without a notation of their own take JSON where the text is JSON.
function inputOf(text) {
  if (state.model.view !== "text" || !/^\s*[[{"]/.test(text)) return text;
  try { return JSON.parse(text); } catch { return text; }
}

function shownInput(example) {
  return typeof example === "string" ? example : Array.isArray(example) && example.every((item) => typeof item === "string") ? example.join("\n") : JSON.stringify(example);
}

async function choose(name, keep = false) {
  say(`loading ${name} …`);
  state.model = await readModel(name);
  state.known = null;
  const {model} = state, can = (ability) => model.abilities.includes(ability);
  $("about").textContent = model.about;
  $("hint").textContent = `(${model.hint})`;
  $("constraint-line").hidden = model.view !== "rna" || !can("known");
  $("constraint").value = "";
  for (const [id, ability] of [["marginals", "marginals"], ["mea", "mea"], ["sample", "sample"], ["k", "kbest"]]) $(id).disabled = !can(ability);
  $("files").hidden = !model.files;
  $("raw").parentElement.hidden = !["chain", "tree"].includes(model.view);
  $("file-result").replaceChildren();
  $("examples").replaceChildren(...model.examples.map((example) => el("button", {type: "button", onclick: () => { $("input").value = shownInput(example); forget(); ask(); }}, shownInput(example))));
  $("card").replaceChildren(...drawCard(model));
  $("results").replaceChildren();
  if (!keep) $("input").value = model.examples.length ? shownInput(model.examples[0]) : "";
  say("");
  if ($("input").value) await ask();
}

function forget() {
  state.known = null;
  $("constraint").value = "";
}

function wanted(model, sample) {
  const can = (ability) => model.abilities.includes(ability), body = {input: state.sent, draw: true};
  if (can("kbest")) body.k = Math.max(1, Math.min(50, Number($("k").value) || 1));
  if (can("marginals")) body.marginals = $("marginals").checked;
  if (can("mea")) body.mea = $("mea").checked;
  if (sample && can("sample")) body.sample = 5;
  if (can("known") && state.known !== null) body.known = state.known;
  return body;
}

async function ask(sample = false) {
  const text = $("input").value, turn = (state.turn += 1);
  if (!text.trim()) { say("Type an input first."); return; }
  const sent = inputOf(text);
  if (JSON.stringify(sent) !== JSON.stringify(state.sent) && state.model.view !== "rna") state.known = null;
  state.sent = sent;
  if (state.model.view === "rna") state.known = $("constraint").value.trim() || null;
  say("…");
  document.body.classList.add("busy");
  try {
    const asked = [predict(state.model.name, wanted(state.model, sample))];
    if (state.other) asked.push(predict(state.other.name, wanted(state.other, false)));
    const results = await Promise.all(asked);
    if (turn !== state.turn) return;
    state.drawn = results;
    show();
    say("");
    $("token-form").hidden = true;
  } catch (error) {
    if (turn === state.turn) fail(error);
  } finally {
    document.body.classList.remove("busy");
  }
}

function show() {
  if (!state.drawn) return;
  const [result, second] = state.drawn, again = () => ask();
  const comparable = second && state.other.view === state.model.view;
  const parts = [drawResult(state.model, result, comparable ? second : null, state, again)];
  if (second) parts.push(drawResult(state.other, second, comparable ? result : null, state, again));
  $("results").replaceChildren(...parts);
  $("reset").hidden = state.known === null;
}

async function compareWith(name) {
  state.other = name ? await readModel(name) : null;
  await ask();
}

async function start() {
  takeToken();
  const models = await listModels();
  const options = () => models.map((model) => el("option", {value: model.name}, model.name));
  $("model").replaceChildren(...options());
  $("other").replaceChildren(el("option", {value: ""}, "nothing"), ...options());
  await choose(models[0].name);
}

setUpTheme($("theme"));
document.addEventListener("theme", show);
setUpFiles({drop: $("drop"), chooser: $("file"), raw: $("raw"), predictButton: $("file-predict"), evaluateButton: $("file-evaluate"), holder: $("file-result")}, () => state.model);
$("model").addEventListener("change", (event) => { state.drawn = null; choose(event.target.value).catch(fail); });
$("other").addEventListener("change", (event) => compareWith(event.target.value).catch(fail));
$("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
$("sample").addEventListener("click", () => ask(true));
$("reset").addEventListener("click", () => { forget(); ask(); });
$("input").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey || state.model.view === "chain" || state.model.view === "tree") && !event.shiftKey) { event.preventDefault(); ask(); } });
$("token-form").addEventListener("submit", (event) => { event.preventDefault(); keepToken($("token").value); start().catch(fail); });
start().catch(fail);
