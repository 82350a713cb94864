// Sliders for all attributes of a class: built once, filtered and sorted in the browser.
// `props.value` holds a number for each attribute; the server sets it and is sent it.
const { attributes, average, low, high } = props;
const root = element.querySelector(".zk-editor");
const make = (tag, given, ...inside) => {
  const made = Object.assign(document.createElement(tag), given);
  made.append(...inside);
  return made;
};
const key = Math.random().toString(36).slice(2);
const search = make("input", { type: "search", id: `find-${key}`, placeholder: "a part of its name" });
const count = make("span", { className: "zk-count", role: "status" });
const list = make("ul", { className: "zk-attributes" });

const rows = attributes.map((name, i) => {
  const range = make("input", { type: "range", min: low, max: high, step: "any", id: `${key}-${i}` });
  const number = make("input", { type: "number", step: "any" });
  number.setAttribute("aria-label", `number input for ${name}`);
  const keep = (given) => {
    props.value = Object.assign([...props.value], { [i]: given });
    show();
  };
  range.addEventListener("input", () => {
    keep(Number(Number(range.value).toPrecision(3)));
    number.value = props.value[i];
  });
  number.addEventListener("input", () => {
    if (Number.isFinite(number.valueAsNumber)) {
      keep(number.valueAsNumber);
      range.value = number.value;
    }
  });
  number.addEventListener("change", () => { number.value = props.value[i]; });
  const item = make("li", {}, make("label", { htmlFor: range.id, textContent: name }), range, number);
  return { item, range, number, name: name.toLowerCase() };
});

function show() {
  const wanted = search.value.trim().toLowerCase();
  let found = 0;
  for (const { item, name } of rows) {
    item.hidden = !name.includes(wanted);
    found += !item.hidden;
  }
  const set = props.value.filter((one) => one !== 0).length;
  const shown = wanted ? `${found} of ${rows.length} attributes` : `${rows.length} attributes`;
  count.textContent = found ? `${shown}, ${set} not 0` : "no attribute is called that";
}

// What sets a class most apart comes first; without a class, attributes stand as they were given.
function fill() {
  const own = props.value;
  const order = rows.map((_, i) => i);
  if (own.some((one) => one !== 0)) {
    order.sort((i, j) => own[j] - average[j] - (own[i] - average[i]) || i - j);
  }
  list.append(...order.map((i) => rows[i].item));
  rows.forEach(({ range, number }, i) => {
    range.value = own[i];
    number.value = Number(own[i].toPrecision(3));
  });
  list.scrollTop = 0;
  show();
}

search.addEventListener("input", show);
root.append(
  make("div", { className: "zk-find" },
    make("label", { htmlFor: search.id, textContent: "Find an attribute" }), search, count),
  list,
);
fill();
watch("value", fill);
