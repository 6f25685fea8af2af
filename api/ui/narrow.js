// Narrowing and ordering: which values the documents found have, the ones that were chosen, and the order of the hits.
import * as api from './api.js';
import { $, el } from './dom.js';
import { byteLength, isDate, offers, sampleOf } from './fields.js';
import { state } from './state.js';
import { browses, conditions, equality, equals, narrowed, widened } from './text.js';

const mostFields = 6;
const mostAsked = 16; // facets of one search
const mostValues = 10; // of a field
const mostNumbers = 100; // different numbers of a field that is narrowed by
const longest = 1024; // bytes of a value; of longer ones a facet shows the beginning
const patience = 400; // ms that the first hits wait for what is offered above them

/** The conditions of the filter that are chips: [{field, text, same, condition}]. */
export function chosen(filter) {
  return (conditions(filter) ?? []).map((condition) => ({ ...equality(condition), condition })).filter((c) => c.field);
}

/** Whether chips say all of a filter. */
export const plain = (filter) => conditions(filter)?.every(equality) === true;

/** The row above the hits and the values beside them. page: {changed(options), info()}. */
export class Narrow {
  constructor(page) {
    Object.assign(this, { page, collection: '', key: '', offered: { narrow: [], order: [] }, fields: null, counts: null });
    for (const id of ['narrowing', 'narrowToggle', 'chosen', 'orderLabel', 'order', 'around', 'facets']) this[id] = $(id);
    this.narrowToggle.addEventListener('click', () => { state.narrow = !state.narrow; page.changed({ push: true }); });
    this.order.addEventListener('change', () => { state.sort = this.order.value; page.changed({ push: true }); });
    this.facets.addEventListener('click', (e) => {
      const b = e.target.closest('button');
      if (b) this.choose(b.dataset.same, b.getAttribute('aria-pressed') !== 'true');
    });
  }

  /** Shows what of the state is about narrowing, and what the collection has to offer as soon as that is known. */
  show() {
    const info = this.page.info();
    const key = info ? `${info.name} ${info.sequence}` : '';
    if (key !== this.key) {
      this.key = key;
      if (info?.name !== this.collection) Object.assign(this, { collection: info?.name, offered: { narrow: [], order: [] }, counts: null });
      this.fields = null;
      this.known = info && this.learn(info, key);
    }
    this.render();
  }

  async learn(info, key) {
    const sample = await sampleOf(info).catch(() => null);
    if (this.key !== key || !sample) return;
    this.offered = offers(info, sample);
    this.render();
  }

  /** Resolves when the page knows what is offered, or has waited long enough. */
  ready() {
    return Promise.race([this.known, new Promise((resolve) => { setTimeout(resolve, patience); })]);
  }

  /** The facets to ask for, where the values are shown. */
  async wanted() {
    await this.known;
    this.fields ??= this.pick(this.collection, this.offered.narrow.slice(0, mostAsked));
    const fields = await this.fields;
    return fields.length ? fields.map((field) => ({ field, limit: mostValues })) : undefined;
  }

  /** Those of some fields in which values recur in all of the collection. A field with too many values is refused, and left out. */
  async pick(c, fields) {
    const ask = (some) => api.search(c, { q: '', limit: 0, facets: some }).then((res) => res.facets ?? {});
    const refused = (err) => { if (err.status === 400) return {}; throw err; };
    try {
      const counts = !fields.length ? {} : await ask(fields).catch(async (err) => {
        refused(err);
        return Object.assign({}, ...await Promise.all(fields.map((f) => ask([f]).catch(refused))));
      });
      return fields.filter((f) => counts[f] && worth(counts[f])).slice(0, mostFields);
    } catch {
      this.fields = null; // the next search asks again
      return [];
    }
  }

  /** A search was refused with facets and is asked again without: the documents may have more values than before. */
  forget() {
    this.fields = Promise.resolve([]);
  }

  /** Takes the counts of an answer; one that is soon followed by a better one comes without, and those that are shown stay. */
  take(answer) {
    if (!answer?.preview) this.counts = state.narrow && answer ? answer.res.facets ?? {} : null;
    this.render();
  }

  choose(same, on) {
    const held = chosen(state.filter).find((c) => c.same === same);
    if (Boolean(held) !== on) {
      state.filter = on ? narrowed(state.filter, same) : widened(state.filter, held.condition);
      this.page.changed({ push: true });
    }
  }

  // ---- showing

  render() {
    const held = chosen(state.filter);
    const open = state.narrow && this.counts !== null; // with the hits, so that these move once
    const shown = JSON.stringify([held, open, state.narrow, state.sort, browses(state.q), this.offered, this.counts]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.narrowToggle.hidden = !this.offered.narrow.length;
    this.narrowToggle.setAttribute('aria-expanded', String(state.narrow));
    this.orderLabel.hidden = !this.offered.order.length && !state.sort;
    this.narrowing.hidden = !held.length && this.narrowToggle.hidden && this.orderLabel.hidden;
    this.around.classList.toggle('open', open);
    this.facets.hidden = !open;
    this.renderOrder();
    this.renderChosen(held);
    if (open) this.renderFacets(held);
  }

  renderOrder() {
    const options = [new Option(browses(state.q) ? 'first arrival' : 'relevance', '')];
    for (const { name, dates } of this.offered.order) {
      options.push(new Option(`${name}, ${dates ? 'latest' : 'highest'} first`, `${name}:desc`), new Option(`${name}, ${dates ? 'earliest' : 'lowest'} first`, `${name}:asc`));
    }
    if (!options.some((o) => o.value === state.sort)) options.push(new Option(state.sort.replace(/:desc$/, ', falling').replace(/:asc$/, ', rising'), state.sort));
    this.order.replaceChildren(...options);
    this.order.value = state.sort;
  }

  renderChosen(held) {
    const buttons = [...this.chosen.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement);
    this.chosen.replaceChildren(...held.map((c) => el('li', null, el('button', {
      type: 'button', class: 'chip', title: c.text, 'aria-label': `Search without ${c.condition}`,
      onclick: () => { state.filter = widened(state.filter, c.condition); this.page.changed({ push: true }); },
    }, el('span', { class: 'name' }, c.field), label(c.text), el('span', { class: 'cross', 'aria-hidden': 'true' }, '×')))));
    if (at >= 0) (this.chosen.querySelectorAll('button')[Math.min(at, held.length - 1)] ?? (this.narrowToggle.hidden ? $('q') : this.narrowToggle)).focus({ preventScroll: true });
  }

  /** The values by field. What is chosen stays among them, so that it can be taken back where it was pressed. */
  renderFacets(held) {
    const focused = this.facets.contains(document.activeElement) && document.activeElement.dataset.same;
    const same = new Set(held.map((c) => c.same));
    const scrolled = new Map([...this.facets.querySelectorAll('ul')].map((ul) => [ul.dataset.field, ul.scrollLeft]));
    this.facets.replaceChildren(...Object.entries(this.counts).map(([field, counts], i) => {
      const rows = (counts.values ?? []).filter((v) => typeof v.value !== 'string' || byteLength(v.value) <= longest)
        .map((v) => ({ same: equals(field, v.value), text: textOf(v.value), n: v.count }));
      const gone = held.filter((c) => c.field === field && !rows.some((r) => r.same === c.same)).map((c) => ({ ...c, n: 0, out: true }));
      const more = (counts.distinct ?? 0) - (counts.values ?? []).length;
      return el('div', { class: 'facet' }, el('h2', { id: `facet${i}` }, field),
        el('ul', { 'aria-labelledby': `facet${i}`, 'data-field': field }, ...[...gone, ...rows].map((r) => el('li', null, el('button', {
          type: 'button', class: 'choice', title: r.text, 'data-same': r.same, 'aria-pressed': String(same.has(r.same)),
        }, label(r.text), el('span', { class: 'n' }, r.out ? '–' : r.n.toLocaleString('en'))))),
        more > 0 && el('li', { class: 'quiet small' }, `and ${more.toLocaleString('en')} more`),
        !rows.length && !gone.length && el('li', { class: 'quiet small' }, 'none')));
    }));
    if (!this.facets.firstChild) this.facets.append(el('p', { class: 'quiet small' }, 'No field has values that come often enough to narrow by.'));
    for (const ul of this.facets.querySelectorAll('ul')) ul.scrollLeft = scrolled.get(ul.dataset.field) ?? 0;
    if (focused) ([...this.facets.querySelectorAll('button')].find((b) => b.dataset.same === focused) ?? this.narrowToggle).focus({ preventScroll: true });
  }
}

const textOf = (v) => (JSON.isRawJSON?.(v) ? v.rawJSON : String(v));

const label = (text) => el('span', { class: 'of', dir: 'auto' }, text.trim() ? text : '(empty)');

/** Whether a field's counts, over all of a collection, have something to narrow by. */
function worth({ distinct = 0, values = [] }) {
  return distinct > 1 && values[0].count > 1 && (values.some((v) => typeof v.value === 'string') || distinct <= mostNumbers);
}
