// The boosts of a search: what is newer, or has more of something, comes first among what is about as relevant.
import { el } from './dom.js';
import { isDate, sampleOf } from './fields.js';
import { state } from './state.js';

const most = 8; // boosts of one search
const strengths = [[0.1, 'a little'], [0.3, 'clearly'], [1, 'strongly']];
const spans = [['1d', 'a day'], ['1w', 'a week'], ['30d', 'a month'], ['52w', 'a year'], ['520w', 'ten years']];
const yearSpans = [[1, 'a year'], [5, '5 years'], [20, '20 years'], [100, 'a century']];

const isYear = (v) => Number.isInteger(v) && v >= 1000 && v <= 2100;

/** What to begin with for a field that has these values; null where it has neither dates nor numbers. */
function offer(field, values) {
  if (values.every(isDate)) return { field, origin: 'now', scale: '52w', weight: 0.3 };
  if (!values.every((v) => typeof v === 'number')) return null;
  if (values.every(isYear)) return { field, origin: new Date().getFullYear(), scale: 5, weight: 0.3 };
  const middle = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  return { field, scale: middle > 0 ? Number(middle.toPrecision(1)) : 1, weight: 0.3 };
}

/** The row of controls under the box. changed() is called after each choice. */
export class Boost {
  constructor(row, changed) {
    Object.assign(this, { row, changed, key: '', offers: [] });
  }

  /** Shows the boosts of the state, and what the collection has to offer. */
  async show(info) {
    const key = `${info?.name} ${info?.sequence}`;
    if (this.key !== key && info) {
      this.key = key;
      this.offers = [];
      const sample = await sampleOf(info).catch(() => null);
      if (this.key !== key) return;
      if (!sample) this.key = '';
      this.offers = [...sample?.values ?? []].map(([name, v]) => offer(name, v)).filter(Boolean);
    }
    this.render();
  }

  render() {
    const shown = JSON.stringify([state.boosts, this.offers]);
    if (shown === this.shown) return;
    this.shown = shown;
    const focused = this.row.contains(document.activeElement) && document.activeElement.id;
    const rows = state.boosts.map((b, i) => this.one(b, i));
    if (state.boosts.length < most && this.left().length) rows.push(this.one(null, rows.length));
    if (!state.boosts.length) rows.push(el('span', { class: 'quiet small' }, rows.length ? 'Among what is about as relevant, what is newer or has more comes first.' : 'None of the documents looked at has a date or a number.'));
    this.row.replaceChildren(...rows);
    if (focused) document.getElementById(focused)?.focus();
  }

  /** What is offered and not in use. */
  left() {
    return this.offers.filter((o) => !state.boosts.some((b) => b.field === o.field));
  }

  /** The controls of the boost at a place, or of one more. */
  one(b, at) {
    const id = (name) => `boost${name}${at || ''}`;
    const set = (...put) => { state.boosts = state.boosts.toSpliced(at, b ? 1 : 0, ...put); this.changed(); };
    const select = (name, label, value, options, choose) => {
      if (!options.some((o) => o[0] === value)) options = [...options, [value, String(value)]];
      return el('label', null, `${label} `, el('select', { class: 'select', id: id(name), onchange: (e) => choose(options[e.target.selectedIndex][0]) }, options.map(([v, text]) => el('option', { selected: v === value }, text))));
    };
    const offers = this.offers.filter((o) => o.field === b?.field || this.left().includes(o));
    if (b && !offers.some((o) => o.field === b.field)) offers.push(b);
    const near = b && b.origin !== undefined;
    return el('span', { class: 'one' },
      select('Field', at ? 'and' : 'Raise', b?.field ?? '', [['', 'nothing'], ...offers.map((o) => [o.field, o.origin === undefined ? `more ${o.field}` : `newer by ${o.field}`])],
        (name) => set(...offers.filter((o) => o.field === name))),
      near && select('Scale', 'half as much after', b.scale, typeof b.scale === 'number' ? yearSpans : spans, (scale) => set({ ...b, scale })),
      b && !near && el('label', null, 'half of it at ', el('input', { id: id('Scale'), type: 'number', min: '0', step: 'any', value: b.scale, onchange: (e) => set({ ...b, scale: Number(e.target.value) }) })),
      b && select('Weight', 'counting', b.weight, strengths, (weight) => set({ ...b, weight })));
  }
}
