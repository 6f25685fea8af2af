// Narrowing and ordering: which values the documents found have, what was chosen of them, and the order of the hits.
import * as api from './api.js';
import { $, el } from './dom.js';
import { Facets, label } from './facets.js';
import { having, learn, offers, sampleOf } from './fields.js';
import { choices, ended, hasOne, textOf, toggled, without } from './filter.js';
import { state } from './state.js';
import { browses } from './text.js';

const mostFields = 6; // until more are wanted
const mostAsked = 16; // facets of one search
const mostValues = 10; // of a field, until more are wanted
const allValues = 100;
const mostNumbers = 20; // different numbers of a field whose values are shown; of others the ends are
const mostCounted = 50_000; // documents of a collection whose values are counted unasked
const patience = 400; // ms that the first hits wait for what is offered above them

/** The row above the hits and the values beside them. page: {changed(options), info()}. */
export class Narrow {
  constructor(page) {
    this.page = page;
    this.key = '';
    this.begin();
    for (const id of ['narrowing', 'narrowToggle', 'chosen', 'orderLabel', 'order', 'around', 'facets']) this[id] = $(id);
    this.room = matchMedia('(min-width: 1100px)'); // room for the values beside the hits
    this.room.addEventListener('change', () => { if (state.view === 'search' && state.narrow === null) page.changed(); });
    this.narrowToggle.addEventListener('click', () => { state.narrow = !this.wanted(); page.changed({ push: true }); });
    this.order.addEventListener('change', () => { state.sort = this.order.value; page.changed({ push: true }); });
    this.panel = new Facets(this.facets, {
      choose: (field, value) => this.filter(toggled(state.filter, field, value)),
      end: (field, end, at) => this.filter(ended(state.filter, field, end, at)),
      widen: (field) => {
        if (field) this.wide.add(field);
        else this.all = true;
        page.changed();
      },
    });
  }

  /** Begins with a collection, of which nothing is known yet. */
  begin(collection) {
    Object.assign(this, { collection, sample: null, offered: { narrow: [], order: [] }, facetFields: [], counts: null, found: new Map(), all: false, wide: new Set() });
  }

  /** Shows what of the state is about narrowing, and what the collection has to offer as soon as that is known. */
  show() {
    const info = this.page.info();
    const key = info ? `${info.name} ${info.sequence}` : '';
    if (key !== this.key) {
      this.key = key;
      if (info?.name !== this.collection) this.begin(info?.name);
      this.counted = null;
      this.known = info && this.learn(info, key);
    }
    this.render();
  }

  async learn(info, key) {
    const sample = await sampleOf(info).catch(() => null);
    if (this.key !== key || !sample) return;
    this.sample = sample;
    this.offered = offers(info, sample);
    this.render();
    if (state.view === 'search') await this.look();
  }

  /** Looks at which fields are worth showing where nobody has opened or closed them. */
  async look() {
    if (this.unasked() && this.sample) await this.countedFacets();
  }

  /** Whether the values are shown where nobody has opened or closed them. */
  unasked() {
    return state.narrow === null && this.room.matches && this.page.info()?.documents <= mostCounted;
  }

  /** Whether the values are to be shown. */
  wanted() {
    return state.narrow ?? (this.unasked() && this.facetFields.length > 0);
  }

  /** Resolves when the offered fields are known, or after a while. */
  ready() {
    return Promise.race([this.known?.then(() => this.look()), new Promise((resolve) => { setTimeout(resolve, patience); })]);
  }

  /** The facets to request where values are shown: those of all candidates until it is known which of them have values that recur. */
  async facetRequests() {
    await this.known;
    return this.requests(this.countAll() === this.settled ? this.facetFields : this.candidates());
  }

  /** The facets to request once it is known which fields have values that recur. */
  async countedFacets() {
    const counted = this.countAll(); // another one where the hits of an answer have had new fields meanwhile
    const facetFields = await counted;
    if (this.counted === counted) Object.assign(this, { facetFields, settled: counted });
    return this.requests(facetFields);
  }

  /** Those counts of an answer that are shown. */
  async shownCounts(counts) {
    const fields = (await this.countedFacets())?.map((f) => f.field) ?? [];
    return Object.fromEntries(Object.entries(counts).filter(([field]) => fields.includes(field)));
  }

  candidates() {
    return this.offered.narrow.slice(0, mostAsked);
  }

  /** Counts the candidates over the whole collection, once. */
  countAll() {
    return (this.counted ??= this.pick(this.collection, this.candidates()));
  }

  requests(fields) {
    return fields.length ? fields.map((field) => ({ field, limit: this.wide.has(field) ? allValues : mostValues })) : undefined;
  }

  /** The fields that are shown of those with counts: what documents that were found have, most of them first, and of which something is chosen. More where somebody wants to see them. */
  valueFields(selected) {
    const had = ([field, { documents = 0, missing = 0 }]) => (documents - missing) / documents || Number(isSelected(selected, field)); // a share: what is chosen of a field is counted over more
    return Object.entries(this.counts).filter((c) => had(c) > 0).sort((a, b) => had(b) - had(a));
  }

  /** The fields whose ends are asked for, in the same order. Which of them were found the hits tell; those that none has come where somebody wants to see more. */
  rangeFields(selected) {
    const had = ({ name }) => (isSelected(selected, name) ? Infinity : this.found.get(name) ?? 0);
    const fields = this.offered.order.filter((f) => !this.facetFields.includes(f.name)).sort((a, b) => had(b) - had(a) || 0);
    return { fields, found: fields.filter((f) => had(f) > 0) };
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
      return fields.filter((f) => counts[f] && isUseful(counts[f]));
    } catch {
      this.counted = null; // the next search asks again
      return [];
    }
  }

  /** Disjunctive counts: of each facet with a selected value, counted without that selection. query(changes) is the search. */
  async disjunctive(c, facets, query, signal) {
    const selected = facets.filter(({ field }) => without(state.filter, field) !== state.filter);
    if (!selected.length) return {};
    const answers = await api.searches(c, selected.map((f) => query({ filter: without(state.filter, f.field) || undefined, facets: [f], limit: 0, explain: undefined })), signal);
    return Object.assign({}, ...answers.map((a) => a.facets));
  }

  /** A search was refused with facets and is asked again without: the documents may have more values than before. */
  forget() {
    this.counted = this.settled = Promise.resolve([]);
    this.facetFields = [];
  }

  /** Takes the fields and counts of an answer; one that is soon followed by a better one comes without, and those that are shown stay. */
  take(answer) {
    if (answer && this.sample && learn(this.sample, answer.res.hits)) {
      this.offered = offers(this.page.info(), this.sample);
      this.counted = null;
    }
    if (answer && !answer.preview) this.found = having(answer.res.hits);
    if (!answer?.preview) this.counts = this.wanted() && answer ? answer.res.facets ?? {} : null;
    this.hits = answer?.res.hits.length ?? 0;
    this.render();
  }

  filter(filter) {
    state.filter = filter;
    this.page.changed({ push: true });
  }

  // ---- showing

  render() {
    const selected = choices(state.filter);
    const wanted = this.wanted();
    const open = wanted && (state.narrow ? this.counts !== null : this.hits > 0); // with the hits, so that these move once
    const shown = JSON.stringify([selected, open, wanted, state.sort, browses(state.q), this.offered, this.counts, [...this.found], this.facetFields, this.all]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.narrowToggle.hidden = !this.offered.narrow.length && !this.offered.order.length;
    this.narrowToggle.setAttribute('aria-expanded', String(wanted));
    this.orderLabel.hidden = !this.offered.order.length && !state.sort;
    this.narrowing.hidden = !selected.length && this.narrowToggle.hidden && this.orderLabel.hidden;
    this.around.classList.toggle('open', open);
    this.facets.hidden = !open;
    this.renderOrder();
    this.renderChosen(selected);
    this.facets.classList.toggle('waiting', this.counts === null); // the first answer comes without
    if (!open || this.counts === null) return;
    const most = this.all ? mostAsked : mostFields;
    const valueFields = this.valueFields(selected);
    const { fields, found } = this.rangeFields(selected);
    const ranges = (this.all ? fields : found).slice(0, most);
    this.panel.show({ counts: valueFields.slice(0, most), ranges, selected, wide: this.wide, more: !this.all && (valueFields.length > most || fields.length > ranges.length) });
  }

  renderOrder() {
    const options = [new Option(browses(state.q) ? 'order added' : 'relevance', '')];
    for (const { name, dates } of this.offered.order) {
      options.push(new Option(`${name}, ${dates ? 'latest' : 'highest'} first`, `${name}:desc`), new Option(`${name}, ${dates ? 'earliest' : 'lowest'} first`, `${name}:asc`));
    }
    if (!options.some((o) => o.value === state.sort)) options.push(new Option(state.sort.replace(/:desc$/, ', falling').replace(/:asc$/, ', rising'), state.sort));
    this.order.replaceChildren(...options);
    this.order.value = state.sort;
  }

  /** A chip for each choice; values of which a document needs only one are joined by "or". */
  renderChosen(selected) {
    const at = [...this.chosen.querySelectorAll('button')].indexOf(document.activeElement);
    const chip = (field, text, condition, next) => el('button', { type: 'button', class: 'chip', title: `Search without ${condition}`, onclick: () => this.filter(next) },
      el('span', { class: 'name' }, field), ' ', label(text), el('span', { class: 'cross', 'aria-hidden': 'true' }, '×'));
    this.chosen.replaceChildren(...selected.map((c) => el('li', null, c.end
      ? chip(c.field, `${c.end} ${c.at}`, c.condition, ended(state.filter, c.field, c.end, ''))
      : c.values.flatMap((v, i) => [i > 0 && el('span', { class: 'quiet small' }, 'or'), chip(c.field, textOf(v), hasOne(c.field, [v]), toggled(state.filter, c.field, v))]))));
    const left = this.chosen.querySelectorAll('button');
    if (at >= 0) (left[Math.min(at, left.length - 1)] ?? (this.narrowToggle.hidden ? $('q') : this.narrowToggle)).focus({ preventScroll: true });
  }
}

function isSelected(selected, field) {
  return selected.some((c) => c.field === field);
}

/** Whether a field's counts, over all of a collection, have something to narrow by. */
function isUseful({ distinct = 0, values = [] }) {
  return distinct > 1 && values[0].count > 1 && (values.some((v) => typeof v.value === 'string') || distinct <= mostNumbers);
}
