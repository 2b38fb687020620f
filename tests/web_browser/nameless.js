// Controls without labels, pictures without texts, ids that are not unique.
() => {
  const bad = [];
  for (const node of document.querySelectorAll("input, select, textarea, button, a, [role='button'], [tabindex='0']")) {
    const named = node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length;
    if (!named) bad.push(node.outerHTML.slice(0, 80)); }
  for (const node of document.querySelectorAll("svg, canvas")) {
    if (!node.getAttribute("aria-label")) bad.push(node.tagName); }
  // What is a picture as a whole has nothing in it that could be reached.
  for (const node of document.querySelectorAll("[role='img'] [tabindex], [role='img'] button")) bad.push(node.outerHTML.slice(0, 80));
  for (const node of document.querySelectorAll("th, [aria-labelledby]")) {
    if (!node.textContent.trim()) bad.push(node.outerHTML.slice(0, 80)); }
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  if (new Set(ids).size < ids.length) bad.push("ids");
  if (document.querySelectorAll("h1").length !== 1 || !document.documentElement.lang) bad.push("document");
  return bad;
}
