// What the parts of the page share, and the pages of columns.
"use strict";

const page = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 12; // controls, or pictures, that are shown at a time

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

  // A name that breaks after an underscore rather than within a word.
  const breakable = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));

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

  // A picture as wide as its place.
  function drawing(wide, high, label, ...parts) {
    const svg = shape("svg", { class: "picture", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": label });
    svg.append(...parts);
    return svg;
  }

  links();
  columns();
  return { PAGE, byId, read, make, shape, bar, drawing, percent, signed, minus, pager, breakable };
})();
