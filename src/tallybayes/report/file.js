// A file to score: it is sent to the service, and its first rows are shown with their reasons.
"use strict";

(() => {
  const { byId, make, percent, signed } = page;
  const FIRST = 5; // rows that are shown
  const REASONS = 3;

  // The cells of a CSV text, row by row; quotes may hold commas, line ends and, doubled, quotes.
  function cellsOf(text) {
    const rows = [[]];
    let [cell, quoted] = ["", false];
    const end = () => { rows[rows.length - 1].push(cell); cell = ""; };
    for (let i = 0; i < text.length; i++) {
      const c = text[i];
      if (quoted && c === '"' && text[i + 1] === '"') { cell += c; i++; }
      else if (c === '"') quoted = !quoted;
      else if (!quoted && c === ",") end();
      else if (!quoted && c === "\n") { end(); rows.push([]); }
      else if (quoted || c !== "\r") cell += c;
    }
    if (cell !== "" || rows[rows.length - 1].length) end();
    return rows.filter((row) => row.length > 1 || (row.length === 1 && row[0] !== ""));
  }

  const asRow = (head, cells) => Object.fromEntries(head.map((name, i) => [name, cells[i] === undefined ? "" : cells[i]]));

  function percentOf(row) {
    const p = row.p === undefined ? row[`p_${row.prediction}`] : row.p;
    return p === undefined || p === "" ? "" : percent(Number(p));
  }

  function firstRows(head, rows) {
    const lines = rows.slice(0, FIRST).map((cells, i) => {
      const row = asRow(head, cells);
      const found = page.explain ? page.explain(row) : null;
      const why = found === null ? "" : found.reasons.slice(0, REASONS)
        .map((e) => `${e.columns.map((name) => `${name} = ${row[name] || "missing"}`).join(", ")} (${signed(e.odds)})`).join("; ");
      return make("tr", {}, make("td", { class: "n" }, String(i + 1)), make("td", {}, row.prediction),
        make("td", { class: "n" }, percentOf(row)), make("td", {}, why));
    });
    const names = ["row", "prediction", "probability", "strongest evidence"];
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "first rows" },
      make("table", { class: "first broad" }, make("caption", {}, "The first rows"),
        make("thead", {}, make("tr", {}, ...names.map((name, i) => make("th", { scope: "col", class: i % 2 ? "" : "n" }, name)))),
        make("tbody", {}, ...lines)));
  }

  // How good the predictions are, where the file has the labels.
  function figures(head, rows, target) {
    const [own, predicted] = [head.indexOf(target), head.indexOf("prediction")];
    const known = own < 0 || predicted < 0 ? [] : rows.filter((cells) => cells[own] !== "");
    if (!known.length) return null;
    const right = known.filter((cells) => cells[own] === cells[predicted]).length;
    const counts = new Map();
    for (const cells of known) counts.set(cells[own], (counts.get(cells[own]) || 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1])[0];
    return make("p", {}, `The file has ${target}: ${right} of ${known.length} predictions are right (${percent(right / known.length)}); `
      + `always guessing '${most[0]}' is right for ${most[1]} (${percent(most[1] / known.length)}). Rows that the model has learned look easier than new ones.`);
  }

  function drop() {
    const place = byId("drop");
    if (!place) return;
    const [input, status, found] = [byId("drop-file"), byId("drop-status"), byId("drop-found")];
    async function send(file) {
      status.className = "";
      status.textContent = `scoring ${file.name} …`;
      found.replaceChildren();
      try {
        const answer = await fetch(place.dataset.to, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
        if (!answer.ok) throw new Error((await answer.json()).detail || answer.statusText);
        const link = make("a", { download: file.name.replace(/(\.csv)?$/i, "-predicted.csv") }, "download the predictions");
        const scored = await answer.blob();
        link.href = URL.createObjectURL(scored);
        status.replaceChildren(`${file.name}: ${answer.headers.get("X-Rows")} rows scored, `, link);
        const [head, ...rows] = cellsOf(await scored.text());
        const measured = place.dataset.target ? figures(head, rows, place.dataset.target) : null;
        found.replaceChildren(...(measured ? [measured] : []), firstRows(head, rows));
      } catch (error) {
        status.className = "error";
        status.textContent = `${file.name}: ${error.message}`;
      }
    }
    input.addEventListener("change", () => input.files.length && send(input.files[0]));
    place.addEventListener("dragover", (event) => { event.preventDefault(); place.classList.add("over"); });
    place.addEventListener("dragleave", () => place.classList.remove("over"));
    place.addEventListener("drop", (event) => {
      event.preventDefault();
      place.classList.remove("over");
      if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  }

  drop();
})();
