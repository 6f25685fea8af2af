// Building blocks of the page. What comes from documents becomes text nodes and nowhere anything more.

export const $ = (id) => document.getElementById(id);

/** el('button', {class: 'x', onclick: f}, 'text', node): text is text. */
export function el(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill(e, props, children) {
  for (const [k, v] of Object.entries(props || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

/** A word to the user that goes away by itself. */
export function toast(text) {
  const box = $('toast');
  box.textContent = text;
  box.classList.add('on');
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => box.classList.remove('on'), 2200);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'hidden' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy'); // where the page is not served from a secure origin
    area.remove();
  }
  toast('Copied');
}

/** A question in a dialog of its own, which is gone when it is closed. */
export function ask(titleID, title, ...children) {
  const form = el('form', { method: 'dialog' }, el('h2', { id: titleID }, title), ...children);
  const dialog = el('dialog', { 'aria-labelledby': titleID }, form);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return { form, dialog };
}

/** A share of 1, with two decimals. */
export const share = (x) => x.toFixed(2);

/** How many of something, as in 1 document, 2,000 documents. */
export const count = (n, what) => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`;

/** A number as people read it: 3 significant digits below 100. */
export function number(x) {
  if (typeof x !== 'number' || !isFinite(x)) return '–';
  if (Number.isInteger(x)) return x.toLocaleString('en');
  if (Math.abs(x) >= 100) return x.toFixed(0);
  if (Math.abs(x) >= 10) return x.toFixed(1);
  return Math.abs(x) < 0.095 && x !== 0 ? x.toPrecision(2) : x.toFixed(2);
}

/** A time that is left, as people say it: 40 s, 3 min, 2 h. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toPrecision(2)} ${units[i]}`;
}

/** An <svg> or <canvas> cannot use light-dark() by itself: the colour as the browser computes it. */
export function computed(name) {
  const probe = computed.probe ??= document.body.appendChild(el('span', { hidden: true }));
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
