'use strict';
const report = JSON.parse(document.getElementById('report').textContent);
const pictures = [...document.querySelectorAll('#pictures svg')];
const about = document.getElementById('about');
const results = document.getElementById('results');
const whole = new Map(pictures.map(svg => [svg, svg.getAttribute('viewBox').split(' ').map(Number)]));
const largest = Math.max(...report.kernels.map(kernel => kernel.share), 0);
let shown = pictures[0];
let chosen = [];
let pinned = false;

const count = n => n.toLocaleString('en');
const percent = share => (share * 100).toFixed(1) + ' %';
const numbers = text => (text || '').split(' ').filter(Boolean).map(Number);
const element = (name, text, parent) => {
  const made = document.createElement(name);
  made.textContent = text;
  parent?.append(made);
  return made;
};

// the part of the picture in the window
const view = () => shown.getAttribute('viewBox').split(' ').map(Number);
const look = box => shown.setAttribute('viewBox', box.map(n => n.toFixed(2)).join(' '));
const scale = () => {
  const [, , width, height] = view();
  return Math.min(shown.clientWidth / width, shown.clientHeight / height);
};
function fit() {
  const [, , width, height] = whole.get(shown);
  look([0, 0, width, height]);
}
function start() {
  // the upper part in the window's width, if the whole were too small to read
  fit();
  if (scale() >= 0.6) return;
  const [, , width] = whole.get(shown);
  look([0, 0, width, width * shown.clientHeight / shown.clientWidth]);
}
function zoom(factor, x = shown.clientWidth / 2, y = shown.clientHeight / 2) {
  const [left, top, width, height] = view();
  const [, , most] = whole.get(shown);
  const now = Math.min(Math.max(width / factor, 120), most * 3) / width;
  const s = scale();
  const atX = left + width / 2 + (x - shown.clientWidth / 2) / s;
  const atY = top + height / 2 + (y - shown.clientHeight / 2) / s;
  look([atX + (left - atX) * now, atY + (top - atY) * now, width * now, height * now]);
}

function show(svg) {
  for (const other of pictures) other.toggleAttribute('hidden', other !== svg);
  shown = svg;
}

// everything that is known about kernels, layers and tensors
function list(pairs) {
  const made = element('dl', '', about);
  for (const [key, value] of pairs) {
    if (value === '' || value === 0) continue;
    element('dt', key, made);
    element('dd', typeof value === 'number' ? count(value) : value, made);
  }
}
function ofLayer(i) {
  const layer = report.layers[i];
  element('h2', `${layer.kind} ${layer.name}`, about);
  list([
    ['shape', layer.shapes.map(shape => `[${shape.join(', ')}]`).join(', ')],
    ['done', layer.done.replace('_', ' ')],
    ['runs', layer.runs === 1 ? 0 : layer.runs],
    ['multiply-adds', layer.multiply_adds],
    ['weight bytes', layer.weight_bytes],
    ['operation', layer.operation],
    ...layer.attributes.map(text => ['attribute', text]),
  ]);
}
function ofKernels(all) {
  const sum = key => all.reduce((total, k) => total + report.kernels[k][key], 0);
  const [first] = all.map(k => report.kernels[k]);
  element('h2', all.length === 1 ? first.name : `${all.length} kernels, ${first.name} first`, about);
  list([
    ['time', `${percent(sum('share'))}, about ${count(Math.round(sum('cycles')))} cycles`],
    ['multiply-adds', sum('multiply_adds')],
    ['weight bytes', sum('weight_bytes')],
    ['bytes read', sum('weight_bytes_read')],
    ['vector operations', sum('operations')],
    ['plan', first.plan.join('; ')],
    ['work', first.note],
  ]);
  const layers = [...new Set(all.flatMap(k => report.kernels[k].layers))];
  layers.slice(0, 6).forEach(ofLayer);
  if (layers.length > 6) {
    const kinds = new Map();
    for (const i of layers) kinds.set(report.layers[i].kind, (kinds.get(report.layers[i].kind) ?? 0) + 1);
    element('p', `${layers.length} layers: ` + [...kinds].map(([kind, n]) => `${n} ${kind}`).join(', '), about);
  }
}
function ofName(name) {
  const kinds = [['input', report.inputs], ['output', report.outputs], ['variable', report.variables]];
  for (const [kind, all] of kinds) {
    for (const one of all.filter(one => one.name === name)) {
      element('h2', one.name, about);
      list([['role', one.role ?? kind], ['element', one.element ?? 'f32'], ['shape', `[${one.shape.join(', ')}]`]]);
    }
  }
}
function describe(target) {
  about.replaceChildren();
  const { kernels, names, layers } = target.dataset;
  if (kernels) ofKernels(numbers(kernels));
  if (names) names.split(', ').slice(0, 8).forEach(ofName);
  if (layers) {
    element('h2', 'without work, on this edge', about);
    numbers(layers).forEach(ofLayer);
  }
  about.hidden = about.childElementCount === 0;
}
function place(x, y) {
  const { clientWidth: width, clientHeight: height } = about.parentElement;
  const box = about.getBoundingClientRect();
  const left = x + 18 + box.width < width ? x + 18 : Math.max(x - box.width - 18, 8);
  about.style.left = `${left}px`;
  about.style.top = `${Math.max(Math.min(y + 12, height - box.height - 8), 8)}px`;
}
function choose(elements) {
  for (const old of chosen) old.classList.remove('chosen');
  chosen = elements;
  for (const one of chosen) one.classList.add('chosen');
}

// the elements that show a kernel, or an edge with a layer without work
function elementsOf(kind, number) {
  return [...shown.querySelectorAll(`[data-${kind}]`)].filter(one => numbers(one.dataset[kind]).includes(number));
}
function go(kind, number) {
  let found = elementsOf(kind, number);
  for (const svg of pictures) {
    if (found.length > 0) break;
    show(svg);
    found = elementsOf(kind, number);
  }
  if (found.length === 0) return;
  const choice = document.getElementById('choice');
  if (choice) choice.value = String(pictures.indexOf(shown));
  const one = found[found.length - 1];
  const box = one.getBoundingClientRect();
  const frame = shown.getBoundingClientRect();
  const s = scale();
  const [left, top, width, height] = view();
  const x = left + width / 2 + (box.x + box.width / 2 - frame.x - frame.width / 2) / s;
  const y = top + height / 2 + (box.y + box.height / 2 - frame.y - frame.height / 2) / s;
  const wide = Math.min(width, shown.clientWidth);
  const high = wide * shown.clientHeight / shown.clientWidth;
  look([x - wide / 2, y - high / 2, wide, high]);
  choose([one]);
  describe(one);
  const now = one.getBoundingClientRect();
  place(now.right - frame.x, now.top - frame.y);
  pinned = true;
  about.classList.add('pinned');
}

// the list: the slowest kernels, or what the search finds
function row(text, note, share, action) {
  const button = element('button', '', element('li', '', results));
  element('span', text, button).title = text;
  element('span', note, button);
  button.style.setProperty('--share', `${(largest > 0 ? share / largest * 100 : 0).toFixed(1)}%`);
  button.addEventListener('click', action);
}
function title(kernel) {
  const layer = report.layers[kernel.layers[0]];
  return layer ? `${layer.name} (${kernel.name})` : kernel.name;
}
function search(text) {
  results.replaceChildren();
  const found = document.getElementById('found');
  const wanted = text.trim().toLowerCase();
  const kernels = report.kernels.map((kernel, k) => [kernel, k]);
  const kernelRow = ([kernel, k]) =>
    row(title(kernel), percent(kernel.share), kernel.share, () => go('kernels', k));
  if (!wanted) {
    const most = 200;
    kernels.sort(([a], [b]) => b.share - a.share).slice(0, most).forEach(kernelRow);
    found.textContent = `${report.kernels.length} kernels, by time`;
    return;
  }
  const layers = report.layers.map((layer, i) => [layer, i])
    .filter(([layer]) => `${layer.kind} ${layer.name}`.toLowerCase().includes(wanted));
  const named = kernels.filter(([kernel]) => kernel.name.toLowerCase().includes(wanted));
  found.textContent = `${layers.length} layers, ${named.length} kernels`;
  named.forEach(kernelRow);
  const shares = ([layer]) => layer.kernel === null ? -1 : report.kernels[layer.kernel].share;
  layers.sort((a, b) => shares(b) - shares(a));
  for (const [layer, i] of layers) {
    const name = `${layer.kind} ${layer.name}`;
    if (layer.kernel === null) row(name, 'no work', 0, () => go('layers', i));
    else row(name, percent(shares([layer])), shares([layer]), () => go('kernels', layer.kernel));
  }
}

for (const svg of pictures) {
  svg.setAttribute('preserveAspectRatio', 'xMidYMid meet');
  svg.removeAttribute('width');
  svg.removeAttribute('height');
  svg.querySelector('title')?.remove();
  svg.addEventListener('wheel', event => {
    event.preventDefault();
    const frame = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - frame.x, event.clientY - frame.y);
  }, { passive: false });
  let from = null;
  svg.addEventListener('pointerdown', event => { from = { x: event.clientX, y: event.clientY, view: view(), scale: scale() }; });
  svg.addEventListener('pointermove', event => {
    if (from && event.buttons) {
      const [left, top, width, height] = from.view;
      look([left - (event.clientX - from.x) / from.scale, top - (event.clientY - from.y) / from.scale, width, height]);
      return;
    }
    if (pinned) return;
    const target = event.target.closest('[data-kernels], [data-names], [data-layers]');
    if (!target) { about.hidden = true; return; }
    describe(target);
    const frame = svg.getBoundingClientRect();
    place(event.clientX - frame.x, event.clientY - frame.y);
  });
  svg.addEventListener('pointerup', event => {
    const moved = from && Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4;
    from = null;
    if (moved) return;
    const target = event.target.closest('[data-kernels], [data-names], [data-layers]');
    pinned = Boolean(target);
    about.classList.toggle('pinned', pinned);
    choose(target ? [target] : []);
    if (target) describe(target); else about.hidden = true;
  });
  svg.addEventListener('pointerleave', () => { if (!pinned) about.hidden = true; });
}
document.getElementById('closer').addEventListener('click', () => zoom(1.4));
document.getElementById('wider').addEventListener('click', () => zoom(1 / 1.4));
document.getElementById('fit').addEventListener('click', fit);
document.getElementById('choice')?.addEventListener('change', event => {
  show(pictures[Number(event.target.value)]);
  choose([]);
  start();
});
document.getElementById('search').addEventListener('input', event => search(event.target.value));
document.getElementById('search').addEventListener('keydown', event => {
  if (event.key === 'Enter') results.querySelector('button')?.click();
});
document.addEventListener('keydown', event => {
  if (event.target.matches('input, select')) return;
  const actions = { '+': () => zoom(1.4), '-': () => zoom(1 / 1.4), '0': fit, '/': () => document.getElementById('search').focus() };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
});
show(pictures[0]);
start();
search('');
