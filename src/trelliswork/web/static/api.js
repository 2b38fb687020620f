// Requests to the service. A token comes from the address (#token=...) or from the form, and stays in this tab.

const KEY = "trelliswork-token";

export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname);
}

export function keepToken(text) {
  sessionStorage.setItem(KEY, text);
}

export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function send(path, options = {}) {
  const headers = {...options.headers}, token = sessionStorage.getItem(KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, {...options, headers});
  } catch {
    throw new Failure(0, "the server does not answer");
  }
  const value = await answer.json().catch(() => ({error: `status ${answer.status}`}));
  if (!answer.ok) throw new Failure(answer.status, value.error);
  return value;
}

const address = (name, what = "") => `/models/${encodeURIComponent(name)}${what}`;

export const listModels = () => send("/models").then((answer) => answer.models);
export const readModel = (name) => send(address(name));

export function predict(name, body) {
  return send(address(name, "/predict"), {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)})
    .then((answer) => answer.results[0]);
}

export function sendFile(name, what, file, query = {}) {
  const asked = new URLSearchParams({name: file.name, ...query});
  return send(`${address(name, what)}?${asked}`, {method: "POST", headers: {"Content-Type": "application/octet-stream"}, body: file});
}
