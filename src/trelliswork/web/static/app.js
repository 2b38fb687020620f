// The page: chooses models, asks them, and shows what they answer.

import {hasToken, keepToken, listModels, predict, readModel, takeToken} from "./api.js";
import {drawCard} from "./card.js";
import {el} from "./draw/dom.js";
import {drawResult, firstOf} from "./results.js";
import {setUpTheme} from "./theme.js";
import {setUpFiles} from "./upload.js";

const $ = (id) => document.getElementById(id);
const state = {model: null, other: null, known: null, sent: null, drawn: null, turn: 0, cursor: null};

function say(text, failed = false) {
  $("status").textContent = text;
  $("status").className = failed ? "error" : "note";
}

function fail(error) {
  const locked = error.status === 401;
  say(locked ? (hasToken() ? "That is not the token of this server." : "This server asks for a token.") : error.message, true);
  document.body.classList.toggle("locked", locked);
  if (locked) $("token").select();
}

// Views without a notation of their own take JSON where the text is JSON.
function inputOf(text) {
  if (state.model.view !== "text" || !/^\s*[[{"]/.test(text)) return text;
  try { return JSON.parse(text); } catch { return text; }
}

function shownInput(example) {
  return typeof example === "string" ? example : Array.isArray(example) && example.every((item) => typeof item === "string") ? example.join("\n") : JSON.stringify(example);
}

async function choose(name) {
  say(`loading ${name} …`);
  const turn = (state.turn += 1), model = await readModel(name);
  if (turn !== state.turn) return;
  state.model = model;
  forget();
  const can = (ability) => model.abilities.includes(ability);
  $("about").textContent = model.about;
  $("hint").textContent = `(${model.hint})`;
  $("input").placeholder = model.hint;
  $("constraint-line").hidden = model.view !== "rna" || !can("known");
  for (const [id, ability] of [["marginals", "marginals"], ["mea", "mea"], ["sample", "sample"], ["k", "kbest"], ["shares", "marginals"]]) $(id).disabled = !can(ability);
  $("files").hidden = !model.files;
  $("raw-line").hidden = !["chain", "tree"].includes(model.view);
  if ($("raw-line").hidden) $("raw").checked = false;
  files.forget();
  $("examples").replaceChildren(...model.examples.map((example) => el("button", {type: "button", onclick: () => { setInput(shownInput(example)); forget(); ask(); }}, shownInput(example))));
  $("card").replaceChildren(...drawCard(model));
  $("results").replaceChildren();
  state.drawn = null;
  setInput(model.examples.length ? shownInput(model.examples[0]) : "");
  say("");
  if ($("input").value) await ask();
}

function setInput(text) {
  $("input").value = text;
  showSequence();
}

// The bases above the marks of the constraint, which are typed below them.
function showSequence() {
  const bases = $("input").value.split(/\s+/).join("");
  $("sequence").textContent = bases;
  $("constraint").placeholder = "?".repeat(bases.length);
  $("sequence").scrollLeft = $("constraint").scrollLeft;
}

function constraint() {
  const marks = $("constraint").value.trim();
  return marks ? marks.padEnd($("sequence").textContent.length, "?") : null;
}

function forget() {
  state.known = null;
  state.cursor = null;
  $("constraint").value = "";
}

function wanted(model, sample) {
  const can = (ability) => model.abilities.includes(ability), body = {input: state.sent, draw: true};
  if (can("kbest")) body.k = Math.max(1, Math.min(50, Math.round(Number($("k").value)) || 1));
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
  if (JSON.stringify(sent) !== JSON.stringify(state.sent)) {
    state.cursor = null;
    if (state.model.view !== "rna") state.known = null;
  }
  state.sent = sent;
  if (state.model.view === "rna") state.known = constraint();
  say("…");
  document.body.classList.add("busy");
  try {
    const asked = [predict(state.model.name, wanted(state.model, sample))];
    // A second model may not be able to take the input; that does not hide what the first says.
    if (state.other) asked.push(predict(state.other.name, wanted(state.other, sample)).catch((error) => ({error})));
    const results = await Promise.all(asked);
    if (turn !== state.turn) return;
    state.drawn = results;
    show();
    say("");
  } catch (error) {
    if (turn === state.turn) fail(error);
  } finally {
    if (turn === state.turn) document.body.classList.remove("busy");
  }
}

function show() {
  if (!state.drawn) return;
  const [result, second] = state.drawn, again = () => ask(), kept = keptFocus();
  const comparable = second && !second.error && state.other.view === state.model.view;
  const parts = [drawResult(state.model, result, comparable ? second : null, state, again)];
  if (second) parts.push(second.error ? failed(state.other, second.error) : drawResult(state.other, second, comparable ? result : null, state, again));
  $("results").replaceChildren(...parts);
  if (comparable) {
    const same = JSON.stringify(firstOf(result).output) === JSON.stringify(firstOf(second).output);
    $("results").prepend(el("p", {class: "note compared"}, same ? "Both models predict the same output." : "The models predict different outputs; what differs is marked."));
  }
  $("reset").hidden = state.known === null;
  kept();
}

function failed(model, error) {
  return el("section", {"aria-label": `result of ${model.name}`}, el("h2", {}, model.name), el("p", {class: "error"}, error.message));
}

const resultSections = () => [...$("results").querySelectorAll(":scope > section")];

// Drawings are made anew; whoever was at a part of the old one is at the same part of the new one.
function keptFocus() {
  const sections = resultSections(), where = sections.findIndex((section) => section.contains(document.activeElement));
  const holder = where < 0 ? null : document.activeElement.closest("[data-key]");
  return () => {
    if (!holder) return;
    const again = [...resultSections()[where].querySelectorAll("[data-key]")].find((node) => node.dataset.key === holder.dataset.key && !node.classList.contains("panel"));
    if (again) again.focus({preventScroll: true});
  };
}

async function compareWith(name) {
  state.other = name ? await readModel(name) : null;
  await ask();
}

async function start() {
  takeToken();
  const models = await listModels();
  const options = () => models.map((model) => el("option", {value: model.name, title: model.about}, model.name));
  $("model").replaceChildren(...options());
  $("other").replaceChildren(el("option", {value: ""}, "nothing"), ...options());
  document.body.classList.remove("locked");
  await choose(models[0].name);
}

setUpTheme($("theme"));
document.addEventListener("theme", show);
const files = setUpFiles({drop: $("drop"), chooser: $("file"), pasted: $("pasted"), raw: $("raw"), shares: $("shares"), predictButton: $("file-predict"), evaluateButton: $("file-evaluate"), holder: $("file-result")}, () => state.model);
$("model").addEventListener("change", (event) => choose(event.target.value).catch(fail));
$("other").addEventListener("change", (event) => compareWith(event.target.value).catch(fail));
$("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
$("sample").addEventListener("click", () => ask(true));
$("reset").addEventListener("click", () => { forget(); $("input").focus(); ask(); });
$("input").addEventListener("input", showSequence);
$("constraint").addEventListener("scroll", showSequence);
$("input").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  const lines = state.model.lines || $("input").value.includes("\n"); // in which Enter begins a new one
  if (event.ctrlKey || event.metaKey || !lines) { event.preventDefault(); ask(); }
});
$("token-form").addEventListener("submit", (event) => { event.preventDefault(); keepToken($("token").value); start().catch(fail); });
start().catch(fail);
