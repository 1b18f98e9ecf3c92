"use strict";
(() => {
  const steps = JSON.parse(document.getElementById("data").textContent).steps;
  const root = document.documentElement;
  const panel = document.getElementById("panel");
  const derivation = document.getElementById("derivation");
  const hint = [...derivation.childNodes];
  const places = new Map(steps.map((step, place) => [step.id, place]));

  // A cell is {place, row, column}: the step's place in the data; rows and columns from 0, tokens in rows.
  let held = null, pointed = null, focused = null, trail = [];

  /* Tables ---------------------------------------------------------------------------------------------------- */

  const tables = new Map();
  for (const table of document.querySelectorAll("table[data-step]")) {
    const place = places.get(table.dataset.step);
    if (place === undefined) continue;
    tables.set(place, table);
    table.setAttribute("role", "grid");
    const first = table.querySelector("tbody td:not(.gap)");
    if (first) first.tabIndex = 0;
  }

  const isTurned = () => root.dataset.layout === "columns";
  const placeOf = (table) => places.get(table.dataset.step);

  function cellOf(node) {
    const td = node instanceof Element ? node.closest("tbody td:not(.gap)") : null;
    const table = td && td.closest("table[data-step]");
    if (!table) return null;
    const step = steps[placeOf(table)];
    let down = td.parentNode.rowIndex - 1, across = td.cellIndex - 1;
    if (isTurned()) [down, across] = [across, down];
    return { place: placeOf(table), row: step.rows[down][0], column: step.columns[across][0] };
  }

  // Where a row or column of a step stands among those shown; -1 where it is left out.
  function among(lines, at) {
    if (lines[at] && lines[at][0] === at) return at;
    return lines.findIndex((line) => line && line[0] === at);
  }

  function nodeOf({ place, row, column }) {
    const table = tables.get(place), step = steps[place];
    if (!table) return null;
    let down = among(step.rows, row), across = among(step.columns, column);
    if (down < 0 || across < 0) return null;
    if (isTurned()) [down, across] = [across, down];
    return table.rows[down + 1].cells[across + 1];
  }

  const same = (a, b) => a && b && a.place === b.place && a.row === b.row && a.column === b.column;
  const nameOf = ({ place, row, column }) => `${steps[place].id}[${row + 1},${column + 1}]`;

  function dataOf({ place, row, column }) {
    const step = steps[place];
    if (!step.shown || step.given) return null;
    const shown = (lines, at) => lines.slice(0, among(lines, at)).filter((line) => line).length;
    const width = step.columns.filter((line) => line).length;
    return step.cells[shown(step.rows, row) * width + shown(step.columns, column)];
  }

  /* Light ----------------------------------------------------------------------------------------------------- */

  let lit = [];

  function light(cell) {
    for (const [node, name] of lit) node.classList.remove(name);
    lit = [];
    const add = (node, name) => { node.classList.add(name); lit.push([node, name]); };
    const node = cell && nodeOf(cell);
    if (!node) return;
    add(node, "here");
    if (same(cell, held)) add(node, "held");
    const data = dataOf(cell);
    for (const [place, fromRow, toRow, fromColumn, toColumn] of data ? data[0] : []) {
      const table = tables.get(place), step = steps[place];
      if (!table) continue;
      step.rows.forEach((row, down) => {
        if (!row || row[0] < fromRow || row[0] >= toRow) return;
        step.columns.forEach((column, across) => {
          if (!column || column[0] < fromColumn || column[0] >= toColumn) return;
          const [r, c] = isTurned() ? [across, down] : [down, across];
          add(table.rows[r + 1].cells[c + 1], "lit");
          add(table.rows[r + 1].cells[0], "lit");
          add(table.rows[0].cells[c + 1], "lit");
        });
      });
    }
  }

  /* Words ----------------------------------------------------------------------------------------------------- */

  function element(name, attributes, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  const words = (lines, at) => { const line = lines && lines[among(lines, at)]; return line ? line[1] : ""; };

  // A block of a step in words, rows and columns as the page shows them: "row 3 of head.1.q (query c)".
  function said([place, fromRow, toRow, fromColumn, toColumn]) {
    const step = steps[place];
    const [rows, columns] = step.shape;
    const [row, column] = isTurned() ? ["column", "row"] : ["row", "column"];
    const part = (word, from, to) => (to === from + 1 ? `${word} ${to}` : `${word}s ${from + 1} to ${to}`);
    const parts = [];
    const wholeRows = fromColumn === 0 && toColumn === columns;
    const wholeColumns = fromRow === 0 && toRow === rows;
    if (!wholeColumns || rows === 1) parts.push(part(row, fromRow, toRow));
    if (!wholeRows) parts.push(part(column, fromColumn, toColumn));
    const token = [];
    if (toRow === fromRow + 1) token.push(words(step.rows, fromRow));
    if (toColumn === fromColumn + 1 && columns > 1) token.push(words(step.columns, fromColumn));
    const names = token.filter((name) => name).join(", ");
    return { before: parts.length ? `${parts.join(", ")} of ` : "all of ", after: names ? ` (${names})` : "" };
  }

  // The numbers of a block, where they are few: the table they stand in may be out of sight.
  function numbers([place, fromRow, toRow, fromColumn, toColumn]) {
    if ((toRow - fromRow) * (toColumn - fromColumn) > 8) return "";
    const texts = [];
    for (let row = fromRow; row < toRow; row++) {
      for (let column = fromColumn; column < toColumn; column++) {
        const node = tables.has(place) ? nodeOf({ place, row, column }) : null;
        if (!node) return "";
        texts.push(node.textContent);
      }
    }
    return `: ${texts.join(", ")}`;
  }

  function linkTo(cell, text) {
    const link = element("a", { href: `#${steps[cell.place].id}` }, text);
    link.addEventListener("click", (event) => {
      if (!nodeOf(cell)) return; // the table is there, the number is among those left out
      event.preventDefault();
      follow(cell);
    });
    return link;
  }

  // Names in a line lead on: "q[3,1]" inside head 1 is head.1.q[3,1], one of the steps that the cell was made from.
  function linked(text, sources) {
    const parts = [];
    let end = 0;
    for (const found of text.matchAll(/([a-z][a-z_]*(?:\.[a-z0-9_]+)*)\[(\d+)(?:,(\d+))?\]/g)) {
      const [name, step, row, column] = found;
      const place = sources.map((source) => source[0])
        .find((at) => steps[at].id === step || steps[at].id.endsWith(`.${step}`));
      if (place === undefined || !steps[place].shown) continue;
      parts.push(text.slice(end, found.index));
      parts.push(linkTo({ place, row: row - 1, column: (column || 1) - 1 }, name));
      end = found.index + name.length;
    }
    parts.push(text.slice(end));
    return parts;
  }

  function about(cell) {
    const step = steps[cell.place], node = nodeOf(cell), data = dataOf(cell);
    const parts = [];
    if (trail.length && same(cell, held)) {
      const way = element("p", { class: "trail" }, "From ");
      trail.forEach((before, at) => {
        const back = element("a", { href: `#${steps[before.place].id}` }, nameOf(before));
        back.addEventListener("click", (event) => {
          event.preventDefault();
          trail = trail.slice(0, at);
          hold(before);
          go(before);
        });
        way.append(at ? " \u203a " : "", back);
      });
      parts.push(way);
    }
    parts.push(element("h2", { tabindex: "-1" }, `${nameOf(cell)} = ${node ? node.textContent : ""}`));
    const names = [step.title, words(step.rows, cell.row), words(step.columns, cell.column)];
    parts.push(element("p", { class: "hint" }, names.filter((name) => name).join(", ")));
    if (step.given) {
      parts.push(element("p", {}, "Given by the lesson: nothing stands behind it."));
    } else if (!data) {
      parts.push(element("p", {}, "The page has no room for this one. It is shown by ",
        element("code", {}, `mha trace \u2026 --explain '${nameOf(cell)}'`)));
    } else {
      const [sources, largest, reason, ...lines] = data;
      const list = element("ul", {});
      if (largest) {
        list.append(element("li", { class: "line" }, "m = ", ...linked(largest[0], sources),
          ` = ${largest[1]}, the largest; subtracting it changes no weight`));
      }
      for (const line of lines) list.append(element("li", { class: "line" }, "= ", ...linked(line, sources)));
      if (reason) list.append(element("li", { class: "line" }, reason));
      parts.push(list);
      if (isTurned()) {
        parts.push(element("p", { class: "hint" },
          "In names such as q[3,1] the first number is the row before turning: the token."));
      }
      if (sources.length) parts.push(element("h3", {}, "Made from"));
      else if (!reason) parts.push(element("p", {}, "A rule of this step sets it, whatever the numbers before it are."));
      const from = element("ul", {});
      for (const source of sources) {
        const there = steps[source[0]], { before, after } = said(source);
        from.append(element("li", {}, before, there.shown
          ? linkTo({ place: source[0], row: source[1], column: source[3] }, there.id)
          : `${there.id} (not on this page)`, after, numbers(source)));
      }
      parts.push(from);
    }
    if (same(cell, held)) {
      const buttons = element("div", { class: "buttons" });
      const show = element("button", { type: "button" }, "Show in its table");
      show.addEventListener("click", () => go(cell));
      const release = element("button", { type: "button" }, "Let go (Esc)");
      release.addEventListener("click", () => { letGo(); focusOn(cell); });
      buttons.append(show, release);
      parts.push(buttons);
    }
    return parts;
  }

  let told = null;

  function show() {
    const cell = held || pointed || focused;
    light(cell);
    const key = cell ? `${nameOf(cell)} ${same(cell, held)} ${trail.length} ${root.dataset.layout}` : "";
    if (key === told) return;
    told = key;
    derivation.replaceChildren(...(cell ? about(cell) : hint));
    panel.scrollTop = 0;
  }

  /* Moves ----------------------------------------------------------------------------------------------------- */

  function focusOn(cell) {
    const node = nodeOf(cell);
    if (!node) return;
    for (const other of node.closest("table").querySelectorAll("td[tabindex='0']")) other.tabIndex = -1;
    node.tabIndex = 0;
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function hold(cell) {
    held = cell;
    show();
  }

  function letGo() {
    held = null;
    trail = [];
    pointed = null;
    show();
  }

  function go(cell) {
    focusOn(cell);
    show();
  }

  // On to what a held cell was made from; the way back stays.
  function follow(cell) {
    const from = held || pointed || focused;
    if (from && !same(from, cell)) trail.push(from);
    hold(cell);
    const node = nodeOf(cell);
    if (node) node.scrollIntoView({ block: "nearest", inline: "nearest" });
    derivation.querySelector("h2").focus({ preventScroll: true });
  }

  const within = (lines, at, by) => {
    let next = among(lines, at) + by;
    while (lines[next] === null) next += by;
    return lines[next] ? lines[next][0] : at;
  };

  function moved(cell, key, control) {
    const step = steps[cell.place];
    const [down, across] = isTurned() ? ["columns", "rows"] : ["rows", "columns"];
    const single = { rows: "row", columns: "column" };
    const by = (axis, count) => ({ ...cell, [single[axis]]: within(step[axis], cell[single[axis]], count) });
    const end = (from, axis, last) => ({ ...from, [single[axis]]: step[axis].at(last ? -1 : 0)[0] });
    switch (key) {
      case "ArrowDown": return by(down, 1);
      case "ArrowUp": return by(down, -1);
      case "ArrowRight": return by(across, 1);
      case "ArrowLeft": return by(across, -1);
      case "Home": return control ? end(end(cell, down, false), across, false) : end(cell, across, false);
      case "End": return control ? end(end(cell, down, true), across, true) : end(cell, across, true);
      default: return null;
    }
  }

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const cell = cellOf(event.target);
    if (!cell && panel.contains(event.target)) return; // on the way to the links about it
    pointed = cell;
    show();
  });
  root.addEventListener("pointerleave", () => { pointed = null; show(); });

  document.addEventListener("focusin", (event) => {
    const cell = cellOf(event.target);
    if (cell) focused = cell;
    else if (!panel.contains(event.target)) focused = null;
    show();
  });
  document.addEventListener("focusout", (event) => {
    if (!event.relatedTarget) { focused = null; show(); }
  });

  document.addEventListener("click", (event) => {
    const cell = cellOf(event.target);
    if (!cell) return;
    trail = [];
    if (same(cell, held)) letGo();
    else hold(cell);
    focusOn(cell);
  });

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      const back = panel.contains(document.activeElement) ? held : null;
      letGo();
      if (back) focusOn(back);
      else { focused = null; show(); }
      return;
    }
    const cell = cellOf(event.target);
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (!same(cell, held)) { trail = []; hold(cell); return; }
      const on = derivation.querySelector("a, button");
      if (event.key === "Enter" && on) derivation.querySelector("h2").focus({ preventScroll: true });
      else letGo();
      return;
    }
    const next = moved(cell, event.key, event.ctrlKey);
    if (next) {
      event.preventDefault();
      pointed = null;
      focusOn(next);
    }
  });

  /* Controls -------------------------------------------------------------------------------------------------- */

  function turn(layout) {
    if (layout === root.dataset.layout) return;
    const focusedBefore = document.activeElement;
    for (const table of tables.values()) {
      const lines = [...table.rows].map((row) => [...row.cells]);
      const head = table.tHead, body = table.tBodies[0];
      const turned = lines[0].map((_, across) => {
        const row = document.createElement("tr");
        row.append(...lines.map((line) => line[across]));
        return row;
      });
      for (const name of turned[0].querySelectorAll("th")) name.scope = "col";
      for (const row of turned.slice(1)) row.cells[0].scope = "row";
      head.replaceChildren(turned[0]);
      body.replaceChildren(...turned.slice(1));
    }
    root.dataset.layout = layout;
    pointed = null;
    focusedBefore.focus({ preventScroll: true });
    show();
  }

  const controls = document.getElementById("controls");
  controls.hidden = false;
  controls.elements.layout.value = root.dataset.layout;
  controls.elements.theme.value = "auto";
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.addEventListener("change", (event) => {
    if (event.target.name === "layout") turn(event.target.value);
    else if (event.target.value === "auto") delete root.dataset.theme;
    else root.dataset.theme = event.target.value;
  });

  panel.hidden = false;
  document.body.classList.add("with-panel");
})();
