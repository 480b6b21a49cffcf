// The what-if: the values of a row, its probabilities and the evidence. `tallybayes` scores; no mathematics here.
"use strict";

(() => {
  const { PAGE, byId, read, make, bar, percent, signed, minus, pager, breakable } = page;
  const MOST = 8; // classes and reasons that are listed

  function whatIf(record, controls, typicalRows) {
    const model = tallybayes.scorer(record);
    const labels = model.classes.map(String);
    const state = new Map(); // column → value; a column that is not in it is missing
    const OTHER = Object.freeze({}); // a value that is none of the levels
    const widgets = controls.map((control, i) => widget(control, `w${i}`));
    const byName = new Map(controls.map((control, i) => [control.column, widgets[i]]));
    let shown = widgets;

    let kept = null; // the values of another row, to compare with

    function row(of = state) {
      const values = Object.create(null);
      for (const [column, value] of of) {
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
      const kind = { number, words, text, tags, levels, date, unused }[control.is];
      const made = kind(control, id);
      const evidence = make("div", { class: "odds-bar", "aria-hidden": "true" });
      const label = make("label", { for: id }, ...breakable(control.column));
      made.box = make("div", { class: control.is === "unused" ? "control unused" : "control" }, label, make("div", { class: "set" }, ...made.parts), evidence);
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
        start: () => (control.required ? control.typical[0] : undefined),
      };
    }

    // A column that is no evidence can be found, and says so.
    function unused(control, id) {
      const input = make("input", { id, disabled: true, value: "not used", title: control.why });
      const none = () => undefined;
      return { parts: [input], show() {}, parse: none, spell: String, start: none };
    }

    function date(control, id) {
      const input = make("input", { type: control.input, id });
      input.addEventListener("input", () => set(control.column, input.value === "" ? undefined : input.value));
      return {
        parts: [input],
        show(value) {
          if (document.activeElement !== input) input.value = value === undefined ? "" : value;
        },
        parse: (text) => (text === "" ? undefined : text), spell: String, start: () => undefined,
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
          parse: find, spell, start: () => undefined,
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
        parse: find, spell, start: () => undefined,
      };
    }

    function words(control, id) {
      const known = new Set(control.words);
      const input = make("textarea", { id, rows: 4, placeholder: "type or paste a text" });
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
        parse: count, spell: (value) => value.text, start: () => undefined,
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
        spell: (value) => value, start: () => undefined,
      };
    }

    function text(control, id) {
      const input = make("textarea", { id, rows: 5, placeholder: "type or paste a text" });
      input.addEventListener("input", () => set(control.column, input.value === "" ? undefined : input.value));
      return {
        parts: [input],
        ...marked(control),
        show: (value) => {
          if (document.activeElement !== input) input.value = value === undefined ? "" : value;
        },
        parse: (value) => (value === "" ? undefined : value),
        spell: (value) => value, start: () => undefined,
      };
    }

    // -------------------------------------------------------------------------------- answers

    const [probs, reasons, verdict] = [byId("probs"), byId("reasons"), byId("verdict")];
    const [chosen, against] = [byId("label"), byId("against")];
    for (const [select, first] of [[chosen, "predicted"], [against, "next"]]) {
      select.append(make("option", { value: "" }, first), ...labels.map((label, k) => make("option", { value: k }, label)));
      select.addEventListener("change", () => changed());
    }
    function compared(p) {
      const order = p.map((_, k) => k).sort((a, b) => p[b] - p[a]);
      const mine = chosen.value === "" ? order[0] : Number(chosen.value);
      const theirs = against.value === "" ? order.find((k) => k !== mine) : Number(against.value);
      return [order, mine, theirs === undefined ? mine : theirs];
    }

    // The log odds of each column or pair of a row; its evidence and its correction are two terms.
    function oddsOf(scored, a, b) {
      const together = new Map();
      for (const { columns, evidence } of scored.added.filter((term) => term.evidence !== null)) {
        const [name, x] = [JSON.stringify(columns), minus(evidence[a], evidence[b])];
        together.set(name, { columns, odds: x + (together.has(name) ? together.get(name).odds : 0) });
      }
      return together;
    }

    function answer() {
      const scored = model.score(row(state));
      const { probabilities: p, prior } = scored;
      const [order, mine, theirs] = compared(p);
      verdict.textContent = `${labels[order[0]]}: ${percent(p[order[0]])}`;
      byId("runner-up").textContent = order.length > 1 ? `next: ${labels[order[1]]} ${percent(p[order[1]])}` : "";
      const before = kept === null ? null : model.score(row(kept));
      showProbabilities(order, p, before);
      const together = oddsOf(scored, mine, theirs);
      const odds = [...together.values()];
      const all = [{ columns: ["prior"], odds: minus(prior[mine], prior[theirs]), prior: true }, ...odds.filter((e) => e.odds !== 0)];
      const largest = Math.max(1, ...all.map((e) => Math.abs(e.odds)).filter(Number.isFinite));
      showReasons(all, largest);
      byId("compared").textContent = `${labels[mine]} against ${labels[theirs]}`;
      const alone = new Map();
      for (const { columns, odds: x } of odds) if (columns.length === 1) alone.set(columns[0], x);
      for (const each of shown) {
        const x = (each.control.parts || [each.control.column]).reduce((sum, name) => sum + (alone.get(name) || 0), 0);
        each.evidence.replaceChildren(...(each.control.is === "unused" ? [] : [bar(x / largest, "odds")]));
        if (each.mark) each.mark(mine, theirs);
      }
      if (before !== null) showDifferences(together, oddsOf(before, mine, theirs), largest);
      return p;
    }

    function showProbabilities(order, p, before) {
      const few = order.length > MOST ? order.slice(0, MOST) : p.map((_, k) => k);
      const cells = (k) => [
        make("th", { scope: "row" }, labels[k]), make("td", { class: "bar-cell" }, bar(p[k], "share")),
        make("td", { class: "n" }, percent(p[k])),
        ...(before === null ? [] : [make("td", { class: "n soft" }, percent(before.probabilities[k]))]),
      ];
      const head = make("tr", { class: "head" }, make("td", {}), make("td", {}), make("th", { scope: "col", class: "n" }, "now"),
        make("th", { scope: "col", class: "n" }, "kept"));
      probs.replaceChildren(...(before === null ? [] : [head]), ...few.map((k) => make("tr", k === order[0] ? { class: "best" } : {}, ...cells(k))));
    }

    const line = (name, x, share) =>
      make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "n" }, signed(x)),
        make("td", {}, ...(share === null ? [] : [bar(share, "odds")])));

    function showReasons(all, largest) {
      const ranked = all.slice(1).sort((x, y) => Math.abs(y.odds) - Math.abs(x.odds));
      const listed = [all[0], ...ranked.slice(0, MOST)];
      if (ranked.length > MOST) {
        const rest = ranked.slice(MOST).reduce((sum, e) => sum + e.odds, 0);
        listed.push({ columns: [`${ranked.length - MOST} others`], odds: rest });
      }
      const both = all.map((e) => e.odds);
      const even = both.includes(Infinity) && both.includes(-Infinity);
      const total = even ? 0 : both.reduce((sum, x) => sum + x, 0);
      reasons.replaceChildren(
        ...listed.map((e) => line(e.prior ? "prior" : spelled(e.columns), e.odds, e.odds / largest)), line("total", total, null));
    }

    // -------------------------------------------------------------------------------- two rows side by side

    // What the row in the form has more or less evidence for than the kept one, value by value.
    function showDifferences(now, before, largest) {
      const text = (of, name) => (of.has(name) && byName.has(name) ? short(byName.get(name).spell(of.get(name)), 30) : "missing");
      const names = new Set([...now.keys(), ...before.keys()]);
      const found = [...names].map((name) => {
        const columns = JSON.parse(name);
        const odds = (from) => (from.has(name) ? from.get(name).odds : 0);
        const what = columns.length > 1 ? together(columns) : `${columns[0]}: ${text(kept, columns[0])} → ${text(state, columns[0])}`;
        return { what, odds: minus(odds(now), odds(before)) };
      }).filter((each) => Math.abs(each.odds) > 1e-9).sort((x, y) => Math.abs(y.odds) - Math.abs(x.odds));
      const none = make("tr", {}, make("td", {}, "Change a value to see what it does."));
      byId("differences").replaceChildren(
        ...(found.length ? found.slice(0, MOST).map((each) => line(each.what, each.odds, each.odds / largest)) : [none]));
    }

    function keep(on) {
      kept = on ? new Map(state) : null;
      byId("kept").hidden = byId("unkeep").hidden = !on;
      byId("keep").textContent = on ? "keep this one instead" : "keep to compare";
      changed();
    }
    byId("keep").addEventListener("click", () => keep(true));
    byId("unkeep").addEventListener("click", () => keep(false));

    const short = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

    const together = (columns) =>
      columns.length > 2 ? `${columns[0]}, ${columns[1]} and ${columns.length - 2} more together` : columns.join(" together with ");

    function spelled(columns) {
      const known = columns.every((name) => byName.has(name));
      if (columns.length > 2) return known ? together(columns) : "words";
      if (!known) return columns.join(" and ");
      return columns.map((name) => {
        const value = state.get(name);
        if (value === undefined) return `${name} missing`;
        return `${name} = ${short(byName.get(name).spell(value), 60)}`;
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
    const turns = labels.map(() => 0); // which of the typical rows comes next
    typical.hidden = typical.previousElementSibling.hidden = !typicalRows.some((rows) => rows.length);
    labels.forEach((label, k) => typicalRows[k].length && typical.append(make("option", { value: k }, label)));
    typical.addEventListener("change", () => {
      if (typical.value === "") return;
      const k = Number(typical.value);
      const chosenRow = typicalRows[k][turns[k]++ % typicalRows[k].length];
      for (const each of widgets) {
        const name = each.control.column;
        const value = Object.hasOwn(chosenRow, name) ? each.parse(chosenRow[name]) : undefined;
        set(name, value === undefined ? each.start() : value, true);
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
    // For files: the prediction of a row of texts, and its strongest evidence.
    page.explain = (texts) => {
      const read = new Map();
      for (const each of widgets) {
        const name = each.control.column;
        const value = Object.hasOwn(texts, name) ? each.parse(texts[name]) : undefined;
        if (value !== undefined) read.set(name, value);
      }
      const scored = model.score(row(read));
      const order = scored.probabilities.map((_, k) => k).sort((a, b) => scored.probabilities[b] - scored.probabilities[a]);
      const strongest = [...oddsOf(scored, order[0], order[1]).values()].sort((x, y) => Math.abs(y.odds) - Math.abs(x.odds));
      return { label: labels[order[0]], p: scored.probabilities[order[0]], reasons: strongest.filter((e) => e.odds !== 0) };
    };
  }

  const record = read("scorer");
  if (record) whatIf(record, read("controls"), read("typical-rows"));
})();
