// The values and the ends to narrow by, beside the hits.
import { el } from './dom.js';
import { byteLength } from './fields.js';
import { hasOne, literal, textOf } from './filter.js';

const longest = 1024; // bytes of a value; of longer ones a facet shows the beginning

export const label = (text) => el('span', { class: 'of', dir: 'auto' }, text.trim() ? text : '(empty)');

/** The panel. on: {choose(field, value as literal writes it), end(field, 'from' or 'to', text), widen(field)}: all its values, or without a field more fields. */
export class Facets {
  constructor(root, on) {
    Object.assign(this, { root, on, ends: new Map() });
    this.values = el('div', { class: 'values' });
    this.ranges = el('div', { class: 'values' });
    this.none = el('p', { class: 'quiet small' }, 'These results have no common values to filter by.');
    this.more = el('button', { type: 'button', class: 'link', onclick: () => on.widen() }, 'More fields');
    root.append(this.values, this.ranges, this.none, this.more);
  }

  /** counts: of values, as [field, counts]; ranges: [{name, dates}] of the fields to show ends of; selected: the choices; wide: the fields of which all values are shown; more: there are more fields. */
  show({ counts, ranges, selected, wide, more }) {
    const focused = this.values.contains(document.activeElement) && document.activeElement.dataset;
    const scrolled = new Map([...this.values.querySelectorAll('ul')].map((ul) => [ul.dataset.field, ul.scrollLeft]));
    this.values.replaceChildren(...counts.map(([field, c], i) => this.facet(field, c, `facet${i}`, selected, wide.has(field))));
    for (const ul of this.values.querySelectorAll('ul')) ul.scrollLeft = scrolled.get(ul.dataset.field) ?? 0;
    this.showRanges(ranges, selected);
    this.none.hidden = Boolean(more || this.values.firstChild || this.ranges.firstChild);
    if (!more && this.more === document.activeElement) this.root.querySelector('button, input')?.focus({ preventScroll: true });
    this.more.hidden = !more;
    if (focused) this.refocus(focused);
  }

  /** Puts the focus on the value that had it, or where there were no more values before on the first of those. */
  refocus({ same, at, more }) {
    const buttons = [...this.values.querySelectorAll('button')];
    const next = buttons.find((b) => (same ? b.dataset.same === same : b.dataset.field === more && b.dataset.at === at));
    (next ?? document.getElementById('narrowToggle')).focus({ preventScroll: true });
  }

  /** The values of a field. What is chosen stays among them, so that it can be taken back where it was pressed. */
  facet(field, { values = [], distinct = 0 }, id, selected, wide) {
    const on = new Set(selected.filter((c) => c.field === field).flatMap((c) => c.values ?? []));
    const rows = values.filter((v) => typeof v.value !== 'string' || byteLength(v.value) <= longest).map((v) => ({ value: literal(v.value), n: v.count.toLocaleString('en') }));
    const gone = [...on].filter((value) => !rows.some((r) => r.value === value)).map((value) => ({ value, n: '–' }));
    const button = ({ value, n }, i) => el('button', {
      type: 'button', class: 'choice', title: textOf(value), 'data-same': hasOne(field, [value]), 'data-field': field, 'data-at': i, 'aria-pressed': String(on.has(value)), onclick: () => this.on.choose(field, value),
    }, label(textOf(value)), el('span', { class: 'n' }, n));
    const shown = [...gone, ...rows];
    const left = distinct - values.length;
    const rest = left > 0 && (wide ? `and ${left.toLocaleString('en')} more`
      : el('button', { type: 'button', class: 'link', 'data-more': field, 'data-at': shown.length, 'aria-label': `More values of ${field}`, onclick: () => this.on.widen(field) }, `${left.toLocaleString('en')} more`));
    return el('div', { class: 'facet' }, el('h2', { id }, field),
      el('ul', { 'aria-labelledby': id, 'data-field': field }, shown.map((r, i) => el('li', null, button(r, i))),
        rest && el('li', { class: 'quiet small' }, rest),
        !shown.length && el('li', { class: 'quiet small' }, 'none')));
  }

  /** The ends of numbers and dates. The controls stay as long as their fields do, so that what somebody types is not lost when counts come. */
  showRanges(ranges, selected) {
    const key = JSON.stringify(ranges);
    if (key !== this.shown && !this.ranges.contains(document.activeElement)) {
      this.shown = key;
      this.ends.clear();
      this.ranges.replaceChildren(...ranges.map((r) => this.range(r)));
    }
    for (const [field, inputs] of this.ends) {
      for (const [end, input] of Object.entries(inputs)) {
        const at = selected.find((c) => c.field === field && c.end === end)?.at ?? '';
        if (input.dataset.shown !== at) input.value = input.dataset.shown = at;
      }
    }
  }

  range({ name, dates }) {
    const input = (end) => el('input', {
      ...(dates ? { type: 'date', min: '1000-01-01', max: '9999-12-30' } : { type: 'number', step: 'any', placeholder: end }), 'aria-label': `${name} ${end}`, 'data-shown': '', 'data-end': end,
      onchange: ({ target }) => {
        if (!target.validity.valid) return; // a year with digits to come, or no number: the browser marks it
        target.dataset.shown = target.value;
        this.on.end(name, end, target.value);
      },
    });
    const inputs = { from: input('from'), to: input('to') };
    this.ends.set(name, inputs);
    return el('div', { class: 'facet' }, el('h2', null, name), el('div', { class: dates ? 'ends days' : 'ends' }, Object.entries(inputs).flatMap(([end, i]) => [dates && el('span', { 'aria-hidden': 'true' }, end), i])));
  }
}
