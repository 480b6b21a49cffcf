// The page: the what-if, and the pages of columns. `tallybayes` scores; there is no mathematics here.
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 12; // controls, or pictures, that are shown at a time
  const MOST = 8; // classes and reasons that are listed

  const byId = (id) => document.getElementById(id);
  const read = (id) => (byId(id) ? JSON.parse(byId(id).textContent) : null);

  // An element with attributes and children; text is always text, never markup.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  function shape(tag, attributes) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  // A picture of one bar: from the left (share), or from the middle to either side (odds).
  function bar(share, kind) {
    const svg = shape("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" });
    if (kind === "share") {
      svg.append(shape("rect", { class: "plus", x: 0, y: 2, width: 100 * share, height: 10 }));
    } else {
      const width = 50 * Math.min(1, Math.abs(share));
      const side = share < 0 ? "minus" : "plus";
      svg.append(shape("rect", { class: side, x: share < 0 ? 50 - width : 50, y: 3, width, height: 8 }));
      svg.append(shape("line", { class: "zero", x1: 50, x2: 50, y1: 0, y2: 14, "vector-effect": "non-scaling-stroke" }));
    }
    return svg;
  }

  const percent = (p) => (p > 0.9995 && p < 1 ? "> 99.9%" : p < 0.0005 && p > 0 ? "< 0.1%" : `${(100 * p).toFixed(1)}%`);
  function signed(x) {
    if (x === Infinity) return "+∞";
    if (x === -Infinity) return "−∞";
    const digits = Math.abs(x).toFixed(2);
    return digits === "0.00" ? digits : (x < 0 ? "−" : "+") + digits;
  }
  const minus = (a, b) => (a === b ? 0 : a - b); // two impossibilities cancel

  // Pages of anything: shows the requested page and its number.
  function pager(box, count, show) {
    let page = 0;
    const pages = Math.max(1, Math.ceil(count() / PAGE));
    const number = make("span", { "aria-live": "polite" });
    const back = make("button", { type: "button", onclick: () => turn(page - 1) }, "← previous");
    const next = make("button", { type: "button", onclick: () => turn(page + 1) }, "next →");
    function turn(to) {
      const last = Math.max(1, Math.ceil(count() / PAGE)) - 1;
      page = Math.min(Math.max(0, to), last);
      box.hidden = last === 0;
      back.disabled = page === 0;
      next.disabled = page === last;
      number.textContent = `page ${page + 1} of ${last + 1}`;
      show(page * PAGE, (page + 1) * PAGE);
    }
    box.hidden = pages === 1;
    box.append(back, next, number);
    return turn;
  }

  // Links within the page scroll and keep the address, where the what-if has written what was set.
  function links() {
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      link.addEventListener("click", (event) => {
        const to = byId(link.getAttribute("href").slice(1));
        const heading = to.querySelector("h2") || to;
        event.preventDefault();
        heading.setAttribute("tabindex", "-1");
        heading.focus({ preventScroll: true });
        to.scrollIntoView();
      });
    }
  }

  // ------------------------------------------------------------------------------------------ columns

  function columns() {
    const [grid, more] = [byId("pictures"), byId("more-pictures")];
    if (!grid || !more) return;
    const cards = [...grid.children, ...more.content.children];
    const turn = pager(byId("pictures-pager"), () => cards.length, (first, last) => {
      grid.replaceChildren(...cards.slice(first, last));
    });
    turn(0);
  }

  // ------------------------------------------------------------------------------------------ what if

  function whatIf(record, controls) {
    const model = tallybayes.scorer(record);
    const labels = model.classes.map(String);
    const state = new Map(); // column → value; a column that is not in it is missing
    const OTHER = Object.freeze({}); // a value that is none of the levels
    const widgets = controls.map((control, i) => widget(control, `w${i}`));
    const byName = new Map(controls.map((control, i) => [control.column, widgets[i]]));
    let shown = widgets;

    function row() {
      const values = Object.create(null);
      for (const [column, value] of state) {
        if (value instanceof Map) for (const [word, n] of value) values[word] = n;
        else values[column] = value;
      }
      return values;
    }

    function set(column, value, quiet) {
      if (value === undefined) state.delete(column);
      else state.set(column, value);
      if (!quiet) changed();
    }

    // -------------------------------------------------------------------------------- controls

    function widget(control, id) {
      const kind = { number, words, text, tags, levels, date }[control.is];
      const made = kind(control, id);
      const evidence = make("div", { class: "odds-bar", "aria-hidden": "true" });
      const label = make("label", { for: id }, control.column);
      made.box = make("div", { class: "control" }, label, make("div", { class: "set" }, ...made.parts), evidence);
      if (made.list) made.box.append(made.list);
      made.evidence = evidence;
      made.control = control;
      return made;
    }

    function number(control, id) {
      const about = { min: control.low, max: control.high, step: control.step };
      const slider = make("input", { type: "range", "aria-label": `${control.column}, slider`, ...about });
      const exact = make("input", { type: "number", id, step: "any", placeholder: control.required ? "" : "missing" });
      const clear = make("button", { type: "button", "aria-label": `${control.column} missing`, title: "missing" }, "×");
      const put = (value) => set(control.column, value);
      slider.addEventListener("input", () => put(Number(slider.value)));
      exact.addEventListener("input", () => {
        if (exact.value === "" && !control.required) put(undefined);
        else if (exact.value !== "" && Number.isFinite(Number(exact.value))) put(Number(exact.value));
      });
      clear.addEventListener("click", () => put(undefined));
      return {
        parts: control.required ? [slider, exact] : [slider, exact, clear],
        show(value) {
          const known = value !== undefined;
          slider.parentNode.classList.toggle("unknown", !known);
          slider.value = known ? value : (control.low + control.high) / 2;
          if (document.activeElement !== exact) exact.value = known ? value : "";
          clear.disabled = !known;
        },
        parse: (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined),
        spell: String,
        typical: (k) => control.typical[k],
        start: () => (control.required ? control.typical[0] : undefined),
      };
    }

    function date(control, id) {
      const input = make("input", { type: control.input, id });
      input.addEventListener("input", () => set(control.column, input.value === "" ? undefined : input.value));
      return {
        parts: [input],
        show(value) {
          if (document.activeElement !== input) input.value = value === undefined ? "" : value;
        },
        parse: (text) => (text === "" ? undefined : text), spell: String, typical: () => undefined, start: () => undefined,
      };
    }

    function levels(control, id) {
      const spell = (value) => (value === OTHER ? "(unseen value)" : String(value));
      const find = (text) => {
        const found = control.levels.find((level) => String(level) === text);
        return found !== undefined ? found : text === "(unseen value)" && control.other ? OTHER : undefined;
      };
      let input;
      if (control.suggested) {
        const list = make("datalist", { id: `${id}-list` }, ...control.suggested.map((text) => make("option", { value: text })));
        input = make("input", { id, list: `${id}-list`, placeholder: "missing", autocomplete: "off" });
        input.addEventListener("input", () => {
          const found = find(input.value);
          set(control.column, found !== undefined || input.value === "" ? found : control.other ? OTHER : undefined);
        });
        input.append(list);
        return {
          parts: [input, list],
          show: (value) => {
            if (document.activeElement !== input) input.value = value === undefined ? "" : spell(value);
          },
          parse: find, spell, typical: (k) => control.levels[control.typical[k]], start: () => undefined,
        };
      }
      input = make("select", { id }, make("option", { value: "" }, "missing"));
      control.levels.forEach((level, i) => input.append(make("option", { value: i }, String(level))));
      if (control.other) input.append(make("option", { value: "other" }, "(unseen value)"));
      input.addEventListener("change", () => {
        const chosen = input.value;
        set(control.column, chosen === "" ? undefined : chosen === "other" ? OTHER : control.levels[Number(chosen)]);
      });
      return {
        parts: [input],
        show: (value) => {
          input.value = value === undefined ? "" : value === OTHER ? "other" : control.levels.indexOf(value);
        },
        parse: find, spell, typical: (k) => control.levels[control.typical[k]], start: () => undefined,
      };
    }

    function words(control, id) {
      const known = new Set(control.words);
      const example = control.example.length ? `for example: ${control.example.join(" ")}` : "";
      const input = make("textarea", { id, rows: 4, placeholder: example });
      const count = (text) => {
        const found = new Map();
        for (const word of text.split(/[^\p{L}\p{N}_'-]+/u)) {
          const as = known.has(word) ? word : word.toLowerCase();
          if (known.has(as)) found.set(as, (found.get(as) || 0) + 1);
        }
        found.text = text;
        return text === "" ? undefined : found;
      };
      input.addEventListener("input", () => set(control.column, count(input.value)));
      return {
        parts: [input],
        show: (value) => {
          if (document.activeElement !== input) input.value = value === undefined ? "" : value.text;
        },
        parse: count, spell: (value) => value.text, typical: () => undefined, start: () => undefined,
      };
    }

    // A list of the words of a text, or of tags, with their evidence.
    function marked(control) {
      const list = make("p", { class: "words small" });
      const mark = (mine, theirs) => {
        const odds = model.words(control.column, row()).map(({ word, evidence }) => [word, minus(evidence[mine], evidence[theirs])]);
        odds.sort((x, y) => Math.abs(y[1]) - Math.abs(x[1]));
        list.replaceChildren(...odds.slice(0, MOST).map(([word, x]) =>
          make("span", { class: x < 0 ? "against" : "for" }, `${word} ${signed(x)}`)));
      };
      return { list, mark };
    }

    function tags(control, id) {
      const input = make("input", { id, placeholder: "missing", autocomplete: "off" });
      const parts = (text) => text.split(control.separator).map((tag) => tag.trim()).filter((tag) => tag !== "");
      const put = (text) => set(control.column, text === "" ? undefined : text);
      const buttons = control.tags.map((tag) => make("button", { type: "button", class: "tag", "aria-pressed": "false" }, tag));
      const between = control.separator === "," || control.separator === ";" ? `${control.separator} ` : control.separator;
      input.addEventListener("input", () => put(input.value));
      for (const button of buttons) {
        button.addEventListener("click", () => {
          const [given, tag] = [parts(state.get(control.column) || ""), button.textContent];
          put((given.includes(tag) ? given.filter((each) => each !== tag) : [...given, tag]).join(between));
        });
      }
      return {
        parts: [input, make("div", { class: "tags" }, ...buttons)],
        ...marked(control),
        show: (value) => {
          if (document.activeElement !== input) input.value = value === undefined ? "" : value;
          const given = new Set(value === undefined ? [] : parts(value));
          for (const button of buttons) button.setAttribute("aria-pressed", String(given.has(button.textContent)));
        },
        parse: (value) => (value === "" ? undefined : value),
        spell: (value) => value, typical: () => undefined, start: () => undefined,
      };
    }

    function text(control, id) {
      const example = control.example.length ? `for example: ${control.example.join(", ")}` : "";
      const input = make("textarea", { id, rows: 5, placeholder: example });
      input.addEventListener("input", () => set(control.column, input.value === "" ? undefined : input.value));
      return {
        parts: [input],
        ...marked(control),
        show: (value) => {
          if (document.activeElement !== input) input.value = value === undefined ? "" : value;
        },
        parse: (value) => (value === "" ? undefined : value),
        spell: (value) => value, typical: () => undefined, start: () => undefined,
      };
    }

    // -------------------------------------------------------------------------------- answers

    const [probs, reasons, verdict] = [byId("probs"), byId("reasons"), byId("verdict")];
    const [chosen, against] = [byId("label"), byId("against")];
    for (const [select, first] of [[chosen, "predicted"], [against, "next"]]) {
      select.append(make("option", { value: "" }, first), ...labels.map((label, k) => make("option", { value: k }, label)));
      select.addEventListener("change", () => changed());
    }
    // Components of one class are represented by the strongest of them.

    function compared(p) {
      const order = p.map((_, k) => k).sort((a, b) => p[b] - p[a]);
      const mine = chosen.value === "" ? order[0] : Number(chosen.value);
      const theirs = against.value === "" ? order.find((k) => k !== mine) : Number(against.value);
      return [order, mine, theirs === undefined ? mine : theirs];
    }

    function answer() {
      const { probabilities: p, prior, added } = model.score(row());
      const [order, mine, theirs] = compared(p);
      const [a, b] = [mine, theirs];
      verdict.textContent = `${labels[order[0]]}: ${percent(p[order[0]])}`;
      const few = order.length > MOST ? order.slice(0, MOST) : p.map((_, k) => k);
      probs.replaceChildren(
        ...few.map((k) =>
          make("tr", k === order[0] ? { class: "best" } : {}, make("th", { scope: "row" }, labels[k]),
            make("td", { class: "bar-cell" }, bar(p[k], "share")), make("td", { class: "n" }, percent(p[k])))));
      const together = new Map(); // the evidence of a column and its correction are two terms
      for (const { columns, evidence } of added.filter((term) => term.evidence !== null)) {
        const [name, x] = [JSON.stringify(columns), minus(evidence[a], evidence[b])];
        together.set(name, { columns, odds: x + (together.has(name) ? together.get(name).odds : 0) });
      }
      const odds = [...together.values()];
      const all = [{ columns: ["prior"], odds: minus(prior[a], prior[b]), prior: true }, ...odds.filter((e) => e.odds !== 0)];
      const largest = Math.max(1, ...all.map((e) => Math.abs(e.odds)).filter(Number.isFinite));
      const ranked = all.slice(1).sort((x, y) => Math.abs(y.odds) - Math.abs(x.odds));
      const listed = [all[0], ...ranked.slice(0, MOST)];
      if (ranked.length > MOST) {
        const rest = ranked.slice(MOST).reduce((sum, e) => sum + e.odds, 0);
        listed.push({ columns: [`${ranked.length - MOST} others`], odds: rest });
      }
      const both = all.map((e) => e.odds);
      const even = both.includes(Infinity) && both.includes(-Infinity);
      const total = even ? 0 : both.reduce((sum, x) => sum + x, 0);
      const line = (name, x, drawn) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "n" }, signed(x)),
          make("td", {}, ...(drawn ? [bar(x / largest, "odds")] : [])));
      reasons.replaceChildren(
        ...listed.map((e) => line(e.prior ? "prior" : spelled(e.columns), e.odds, true)), line("total", total, false));
      byId("compared").textContent = `${labels[mine]} against ${labels[theirs]}`;
      const alone = new Map();
      for (const { columns, odds: x } of odds) if (columns.length === 1) alone.set(columns[0], x);
      for (const each of shown) {
        const x = (each.control.parts || [each.control.column]).reduce((sum, name) => sum + (alone.get(name) || 0), 0);
        each.evidence.replaceChildren(bar(x / largest, "odds"));
        if (each.mark) each.mark(a, b);
      }
      return p;
    }

    function spelled(columns) {
      const known = columns.every((name) => byName.has(name));
      if (columns.length > 2) return known ? `${columns[0]}, ${columns[1]} and ${columns.length - 2} more together` : "words";
      if (!known) return columns.join(" and ");
      return columns.map((name) => {
        const value = state.get(name);
        if (value === undefined) return `${name} missing`;
        const text = byName.get(name).spell(value);
        return `${name} = ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
      }).join(", ");
    }

    // -------------------------------------------------------------------------------- state

    function hash() {
      const kept = new URLSearchParams();
      for (const [column, value] of state) kept.append(column, byName.get(column).spell(value));
      for (const select of [chosen, against]) if (select.value !== "") kept.append(`~${select.id}`, labels[Number(select.value)]);
      return kept.toString();
    }

    function fromHash() {
      state.clear();
      chosen.value = against.value = "";
      for (const [column, text] of new URLSearchParams(location.hash.slice(1))) {
        if (column === "~label" || column === "~against") {
          const k = labels.indexOf(text);
          byId(column.slice(1)).value = k < 0 ? "" : k;
        } else if (byName.has(column)) {
          const value = byName.get(column).parse(text);
          if (value !== undefined) state.set(column, value);
        }
      }
      for (const each of widgets) {
        if (!state.has(each.control.column) && each.start() !== undefined) state.set(each.control.column, each.start());
      }
    }

    function changed() {
      for (const each of shown) each.show(state.get(each.control.column));
      answer();
      const to = `#${hash()}`;
      if (to === "#" && byId(location.hash.slice(1)) !== null) return;
      if (to !== location.hash && !(to === "#" && location.hash === "")) history.replaceState(null, "", to);
    }

    // -------------------------------------------------------------------------------- the page

    const box = byId("controls-box");
    const find = byId("find");
    let found = widgets;
    const turn = pager(byId("controls-pager"), () => found.length, (first, last) => {
      shown = found.slice(first, last);
      box.replaceChildren(...shown.map((each) => each.box));
      changed();
    });
    find.closest("p").hidden = widgets.length <= PAGE;
    find.addEventListener("input", () => {
      const text = find.value.toLowerCase();
      found = widgets.filter((each) => each.control.column.toLowerCase().includes(text));
      turn(0);
    });
    byId("clear").addEventListener("click", () => {
      state.clear();
      for (const each of widgets) if (each.start() !== undefined) state.set(each.control.column, each.start());
      changed();
    });
    const typical = byId("typical");
    typical.hidden = typical.previousElementSibling.hidden = !controls.some((control) => control.typical);
    labels.forEach((label, k) => typical.append(make("option", { value: k }, label)));
    typical.addEventListener("change", () => {
      if (typical.value === "") return;
      for (const each of widgets) {
        const value = each.typical(Number(typical.value));
        if (value !== undefined) set(each.control.column, value, true);
      }
      typical.value = "";
      changed();
    });
    window.addEventListener("hashchange", () => {
      if (byId(location.hash.slice(1)) !== null) return; // the name of a section is no state
      fromHash();
      changed();
    });
    fromHash();
    turn(0);
    // For tests and scripts: the probabilities of a row, and of the current values.
    window.whatIf = { probabilities: (values) => model.score(values).probabilities, answer };
  }

  // ------------------------------------------------------------------------------------------ a file to score

  function drop() {
    const place = byId("drop");
    if (!place) return;
    const [input, status] = [byId("drop-file"), byId("drop-status")];
    async function send(file) {
      status.className = "";
      status.textContent = `scoring ${file.name} …`;
      try {
        const answer = await fetch(place.dataset.to, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
        if (!answer.ok) throw new Error((await answer.json()).detail || answer.statusText);
        const link = make("a", { download: file.name.replace(/(\.csv)?$/i, "-predicted.csv") }, "download the predictions");
        link.href = URL.createObjectURL(await answer.blob());
        status.replaceChildren(`${file.name}: ${answer.headers.get("X-Rows")} rows scored, `, link);
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

  links();
  columns();
  drop();
  const record = read("scorer");
  if (record) whatIf(record, read("controls"));
})();
