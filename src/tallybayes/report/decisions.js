// Threshold and cost: one slider moves the threshold, the table of right and wrong decisions and their cost.
"use strict";

(() => {
  const { byId, read, make, shape, drawing, percent } = page;
  const [WIDE, HIGH] = [320, 120];

  function decide(rankings) {
    const [which, at, value] = [byId("decide-class"), byId("decide-at"), byId("decide-value")];
    const [missed, alarm] = [byId("decide-missed"), byId("decide-false")];
    rankings.forEach((each, i) => which.append(make("option", { value: i }, each.class)));
    const number = (input) => Math.max(0, Number(input.value) || 0);
    const rows = (x) => (Math.round(x * 10) / 10).toLocaleString("en");

    // Rows of the class, and others, at or above a threshold; they are known at every half percent.
    function above(ranking, threshold) {
      const i = Math.round(200 * threshold);
      return [ranking.positive[i], ranking.negative[i]];
    }

    function counted(ranking, threshold) {
      const [positive, negative] = [ranking.positive[0], ranking.negative[0]];
      const [hit, false_] = above(ranking, threshold);
      const cost = (number(missed) * (positive - hit) + number(alarm) * false_) / (positive + negative);
      return { hit, false_, lost: positive - hit, rest: negative - false_, cost };
    }

    function table(name, c) {
      const cell = (x, kind) => make("td", { class: kind }, rows(x));
      const head = (text, scope) => make("th", { scope }, text);
      const others = rankings.length === 1 ? "other" : "others";
      const region = { class: "scroll", tabindex: "0", role: "region", "aria-label": "decisions at this threshold" };
      return make("div", region, make("table", { class: "confusion" }, make("tbody", {},
          make("tr", {}, make("td", {}), head(`predicted ${name}`, "col"), head("not predicted", "col")),
          make("tr", {}, head(name, "row"), cell(c.hit, "s3"), cell(c.lost, c.lost ? "s1" : "s0")),
          make("tr", {}, head(others, "row"), cell(c.false_, c.false_ ? "s1" : "s0"), cell(c.rest, "s3")))));
    }

    function curve(ranking, threshold) {
      const points = Array.from({ length: 101 }, (_, i) => [i / 100, counted(ranking, i / 100).cost]);
      const top = Math.max(...points.map(([, c]) => c)) || 1;
      const x = (p) => 6 + (WIDE - 12) * p;
      const y = (c) => HIGH - 20 - (HIGH - 30) * (c / top);
      const path = points.map(([p, c], i) => `${i ? "L" : "M"}${x(p).toFixed(1)} ${y(c).toFixed(1)}`).join("");
      const text = (at, anchor, words) => {
        const made = shape("text", { x: at, y: HIGH - 5, "text-anchor": anchor });
        made.textContent = words;
        return made;
      };
      return drawing(WIDE, HIGH, "mean cost by threshold",
        shape("line", { class: "axis", x1: x(0), x2: x(1), y1: HIGH - 20, y2: HIGH - 20 }),
        shape("path", { class: "line k0", d: path }),
        shape("line", { class: "even", x1: x(threshold), x2: x(threshold), y1: 4, y2: HIGH - 20 }),
        shape("circle", { class: "dot k0", cx: x(threshold), cy: y(counted(ranking, threshold).cost), r: 5 }),
        text(x(0), "start", "0 %"), text(x(0.5), "middle", "mean cost by threshold"), text(x(1), "end", "100 %"));
    }

    function changed() {
      const [ranking, threshold] = [rankings[Number(which.value)], Number(at.value) / 100];
      const c = counted(ranking, threshold);
      const share = (part, whole) => (whole > 0 ? percent(part / whole) : "none");
      value.textContent = `${at.value} %`;
      byId("decide-table").replaceChildren(
        table(ranking.class, c),
        make("p", {}, `Finds ${share(c.hit, c.hit + c.lost)} of the rows of this class; ${share(c.hit, c.hit + c.false_)} of the rows predicted to be in it are. `,
          make("b", {}, `Mean cost per row: ${c.cost.toPrecision(3)}.`)));
      byId("decide-curve").replaceChildren(curve(ranking, threshold));
    }

    byId("decide-best").addEventListener("click", () => {
      const ranking = rankings[Number(which.value)];
      let best = [Infinity, 50];
      for (let i = 0; i <= 200; i++) {
        const cost = counted(ranking, i / 200).cost;
        if (cost < best[0] - 1e-12) best = [cost, i / 2];
      }
      at.value = best[1];
      changed();
    });
    for (const input of [which, at, missed, alarm]) input.addEventListener("input", changed);
    byId("decide").hidden = false;
    changed();
  }

  const rankings = read("decisions");
  if (rankings && byId("decide")) decide(rankings);
})();
