// The board in the browser. It knows no rules and keeps no game: it draws `view`, and sends what was asked for.

const COLUMNS = 7;
const ROWS = 6;
const CELL = 44; // pixels
const SVG = "http://www.w3.org/2000/svg";
const LETTERS = { 1: "x", "-1": "o" };
const ANALYSIS = {
  scores: { name: "exact score", show: (score) => signed(score, 0) },
  policy: { name: "policy", show: percent, bar: true },
  visits: { name: "visits", show: percent, bar: true },
  values: { name: "value", show: (value) => signed(value, 2) },
};

export default {
  render({ model, el }) {
    const ask = (command, ...given) => model.send({ command, arguments: given });
    const columns = range(COLUMNS).map((index) => column(index, ask));
    const buttons = columns.map((c) => c.button);
    const board = html("div", { class: "c4-board", role: "group", "aria-label": "Connect Four board" }, ...buttons);
    const message = html("p", { class: "c4-message", role: "status", "aria-live": "polite" });
    const controls = panel(ask);
    const strip = analysis();
    const root = html("div", { class: "c4" }, board, message, controls.element, strip.element);
    const keys = (event) => root.contains(event.target) && onKey(event, ask, buttons);
    window.addEventListener("keydown", keys, true); // the one place that is asked before the notebook
    board.addEventListener("focusin", (event) => {
      for (const button of buttons) button.tabIndex = button === event.target ? 0 : -1; // Tab finds the last one used
    });
    el.append(root);

    const update = () => {
      const view = model.get("view");
      columns.forEach((c) => c.update(view));
      message.textContent = view.message;
      message.classList.toggle("c4-refused", view.refused);
      controls.update(view);
      strip.update(view);
    };
    model.on("change:view", update);
    update();
    return () => {
      window.removeEventListener("keydown", keys, true);
      model.off("change:view", update);
    };
  },
};

// A column: a button with its cells, the lowest one first in `cells`.
function column(index, ask) {
  const hint = html("span", { class: "c4-hint", "aria-hidden": "true" });
  const picture = svg("svg", { width: CELL, height: ROWS * CELL, "aria-hidden": "true" });
  const cells = range(ROWS).map((level) => cell(picture, level));
  const number = html("span", { class: "c4-number", "aria-hidden": "true" }, String(index + 1));
  const reach = index === 3 ? 0 : -1; // the centre is where Tab comes first
  const button = html("button", { type: "button", class: "c4-column", tabindex: reach }, hint, picture, number);
  button.addEventListener("click", () => {
    button.focus(); // not every browser does
    ask("play", index);
  });

  const update = (view) => {
    const stones = range(ROWS).map((level) => view.cells[(ROWS - 1 - level) * COLUMNS + index]);
    const open = view.open.includes(index);
    const best = view.hints.includes(index);
    cells.forEach((group, level) => {
      const place = (ROWS - 1 - level) * COLUMNS + index;
      const landing = open && level === stones.indexOf(0);
      group.dataset.stone = landing ? view.mover : stones[level];
      group.classList.toggle("c4-ghost", landing);
      group.classList.toggle("c4-line", view.line.includes(place));
      group.classList.toggle("c4-last", view.last === place && !view.line.length);
    });
    hint.textContent = best ? "▼" : "";
    const letters = stones.filter(Boolean).map((stone) => LETTERS[stone]).join(" ");
    const content = letters ? `from the bottom: ${letters}` : "empty";
    button.setAttribute("aria-label", `Column ${index + 1}, ${content}${best ? "; best" : ""}`);
    button.setAttribute("aria-disabled", String(!open));
  };
  return { button, update };
}

// A stone has a mark as well as a colour: a cross for the first player, a ring for the second.
function cell(picture, level) {
  const group = svg("g", { class: "c4-cell", transform: `translate(${CELL / 2} ${(ROWS - level - 0.5) * CELL})` });
  group.append(
    svg("circle", { class: "c4-stone", r: 18 }),
    svg("path", { class: "c4-mark c4-x", d: "M-6-6 6 6M6-6-6 6" }),
    svg("circle", { class: "c4-mark c4-o", r: 7 }),
    svg("circle", { class: "c4-ring", r: 16.5 }),
  );
  picture.append(group);
  return group;
}

// The buttons, and the line of moves to read, copy or replace.
function panel(ask) {
  const button = (text, command, title) => {
    const made = html("button", { type: "button", title }, text);
    made.addEventListener("click", () => ask(command));
    return made;
  };
  const toggle = button("Analysis", "toggle_analysis", "What every column is worth");
  const input = html("input", { type: "text", spellcheck: "false", autocomplete: "off", placeholder: "4453" });
  const set = html("button", { type: "submit" }, "Set");
  const form = html("form", { class: "c4-moves" }, html("label", {}, "Moves ", input), set);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask("paste", input.value);
  });
  const buttons = [
    button("Take back", "take_back", "Key u, or Backspace"),
    button("Hint", "hint", "Mark the best columns"),
    toggle,
    button("New game", "new_game", "From the empty board"),
  ];
  let shown = null;
  const update = (view) => {
    toggle.setAttribute("aria-pressed", String(view.analysis));
    const kept = view.refused || input.matches(":focus"); // a line that was refused, or is being typed
    if (view.moves !== shown || !kept) input.value = shown = view.moves;
  };
  return { element: html("div", { class: "c4-controls" }, ...buttons, form), update };
}

// The table below the columns.
function analysis() {
  const rows = Object.entries(ANALYSIS).map(([key, kind]) => {
    const cells = range(COLUMNS).map(() => html("td"));
    return { key, kind, cells, element: html("tr", {}, html("th", { scope: "row" }, kind.name), ...cells) };
  });
  const numbers = range(COLUMNS).map((index) => html("th", { scope: "col" }, String(index + 1)));
  const head = html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "column"), ...numbers));
  const caption = html("caption");
  const body = html("tbody", {}, ...rows.map((row) => row.element));
  const element = html("table", { class: "c4-analysis" }, caption, head, body);

  const update = (view) => {
    element.hidden = !view.analysis;
    caption.textContent = view.summary || "\u00a0";
    const found = view.findings;
    rows.forEach(({ key, kind, cells, element: row }) => {
      row.hidden = key !== "scores" && view.model === null;
      cells.forEach((td, index) => {
        const number = found ? found[key][index] : null;
        const pending = found && key === "scores" && !found.complete && view.cells[index] === 0;
        td.textContent = number !== null ? kind.show(number) : pending ? "…" : "";
        td.style.setProperty("--share", kind.bar ? number ?? 0 : 0);
        td.dataset.sign = key === "scores" && number !== null ? Math.sign(number) : "";
        td.classList.toggle("c4-best", key === "scores" && Boolean(found?.best.includes(index)));
      });
    });
  };
  return { element, update };
}

// Keys are kept from the notebook, which has shortcuts of its own for some of them.
function onKey(event, ask, buttons) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.tagName === "INPUT") return event.stopPropagation();
  const at = buttons.indexOf(event.target);
  const goal = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: COLUMNS - 1 }[event.key];
  if (event.key >= "1" && event.key <= String(COLUMNS) && event.key.length === 1) ask("play", Number(event.key) - 1);
  else if (event.key === "u" || event.key === "Backspace") ask("take_back");
  else if (at >= 0 && goal !== undefined) buttons[Math.min(Math.max(goal, 0), COLUMNS - 1)].focus();
  else if (event.key === "Enter" || event.key === " ") return event.stopPropagation(); // the button's own
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}) {
  return filled(document.createElementNS(SVG, tag), attributes, []);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function range(n) {
  return Array.from({ length: n }, (_, i) => i);
}

function percent(share) {
  return `${Math.round(100 * share)}%`;
}

function signed(number, places) {
  return (number > 0 ? "+" : "") + number.toFixed(places);
}
