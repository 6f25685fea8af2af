// The map view: the passages of a collection as points, near ones being near in meaning, and the query among them.
import * as api from './api.js';
import { computed, el, number } from './dom.js';
import { Scatter } from './scatter.js';
import { address, state, writeURL } from './state.js';
import { titleOfPoint } from './title.js';
import { trouble } from './trouble.js';
import { nothingYet, View } from './view.js';

const refinable = 1500; // points that t-SNE can place in reasonable time
const components = 32; // of the vectors, for t-SNE
const colours = 8;

export class PassageMap extends View {
  constructor(root, page) {
    super();
    this.page = page;
    this.answer = null;
    this.placed = null; // Float32Array [2n] of t-SNE
    this.scatter = new Scatter('Passages as points; the list beside it names those nearest to the query. Plus and minus change the size, arrows move, 0 goes back.', {
      point: (i) => this.describe(i),
      choose: (i) => this.describe(i),
    });
    this.by = el('select', { class: 'select', id: 'mapColour', onchange: () => { state.own.color = this.by.value; writeURL(false); this.repaint(); } });
    this.refineButton = el('button', { type: 'button', class: 'button', onclick: () => (this.placed ? this.unrefine() : this.refine()) }, 'Refine (t-SNE)');
    this.zoomButtons = el('span', { class: 'zooms' }, ...[['+', 'Larger', () => this.scatter.zoom(1.4)], ['−', 'Smaller', () => this.scatter.zoom(1 / 1.4)], ['⤢', 'All of it', () => this.scatter.reset()]].map(([sign, name, f]) => el('button', { type: 'button', class: 'tool', title: name, onclick: f }, el('span', { 'aria-hidden': 'true' }, sign), el('span', { class: 'hidden' }, name))));
    this.legend = el('ul', { class: 'legend', 'aria-label': 'Colours' });
    this.about = el('div', { class: 'pointed', role: 'status' });
    this.nearest = el('div');
    this.facts = el('p', { class: 'facts', role: 'status' });
    this.body = el('div', { class: 'mapbody' },
      el('div', { class: 'mapbox' }, this.scatter.canvas, this.zoomButtons),
      el('section', { class: 'mapside', 'aria-label': 'About the map' }, el('div', { class: 'row' }, el('label', { for: 'mapColour' }, 'Colour by'), this.by), this.legend, this.nearest, this.about, this.facts, el('p', { class: 'row' }, this.refineButton)));
    this.message = el('div');
    root.append(el('p', { class: 'lead' }, 'Every point is a passage. Its vector has hundreds of numbers; this is the flattest view of them that keeps the most of their differences. What is near in meaning tends to be near here.'), this.message, this.body);
    this.watchColours();
  }

  leave() {
    super.leave();
    this.stop();
  }

  async ask() {
    if (!state.c) {
      this.blank(el('p', { class: 'blank quiet' }, nothingYet()));
      return;
    }
    const signal = this.begin();
    const slow = setTimeout(() => { this.facts.textContent = 'Drawing …'; }, 300);
    try {
      const answer = await api.map(state.c, { q: state.q.trim() || undefined }, signal);
      this.arrive(answer);
    } catch (err) {
      if (err.name !== 'AbortError') this.blank(trouble(err, () => this.ask()));
    } finally {
      clearTimeout(slow);
    }
  }

  blank(what) {
    this.message.replaceChildren(what);
    this.body.hidden = true;
    this.answer = null;
  }

  arrive(answer) {
    if (answer.points.length === 0) {
      this.blank(el('p', { class: 'blank quiet' }, `${state.c} is empty: `, el('a', { href: address({ view: 'collections', own: {} }) }, 'bring documents in'), '.'));
      return;
    }
    const same = this.answer && this.collection === state.c && this.answer.sequence === answer.sequence;
    if (!same) {
      this.stop();
      this.placed = null;
      this.scatter.reset();
    }
    for (const p of answer.points) p.title = titleOfPoint(p);
    this.answer = answer;
    this.collection = state.c;
    this.message.replaceChildren();
    this.body.hidden = false;
    if (!same) this.choices();
    this.refineButton.hidden = answer.points.length < 5 || answer.points.length > refinable;
    this.refineButton.textContent = this.worker ? 'Refining …' : this.placed ? 'Back to the plain view' : 'Refine (t-SNE)';
    this.repaint();
    this.listNearest();
    this.describe(-1);
    this.tell();
  }

  tell() {
    const { points, total, variance } = this.answer;
    const shown = points.length < total ? `A sample of ${points.length.toLocaleString('en')} of ${total.toLocaleString('en')} passages.` : `${total.toLocaleString('en')} passages.`;
    this.facts.textContent = this.placed ? `${shown} Placed by t-SNE: neighbours stay together, distances between groups mean little.`
      : `${shown} The two directions hold ${Math.round(100 * (variance[0] + variance[1]))}\u00a0% of the differences.`;
  }

  choices() {
    const names = this.answer.fields.map((f) => f.name);
    const having = (f) => this.answer.points.filter((p) => p.values?.[f.name] !== undefined).length;
    const best = [...this.answer.fields].sort((a, b) => !!a.number - !!b.number || having(b) - having(a))[0]; // not a number, and of most points
    const wanted = names.includes(state.own.color) ? state.own.color : best?.name ?? '';
    this.by.replaceChildren(new Option('nothing', ''), ...names.map((n) => new Option(n, n)));
    this.by.value = wanted;
  }

  // ---- colours

  /** Gives the points their colours and places, and draws. */
  repaint() {
    if (!this.answer) return;
    const colour = this.scale();
    const points = this.answer.points.map((p, i) => ({ ...this.at(i), title: p.title, colour: colour(p.values?.[this.by.value]) }));
    this.scatter.show(points, this.queryAt(), this.answer.query?.nearest.map((m) => m.point) ?? []);
  }

  at(i) {
    return this.placed ? { x: this.placed[2 * i], y: this.placed[2 * i + 1] } : { x: this.answer.points[i].at[0], y: this.answer.points[i].at[1] };
  }

  /** The query's place: its own, or after t-SNE, which places no new points, amid its nearest. */
  queryAt() {
    const q = this.answer.query;
    if (!q) return null;
    if (!this.placed) return { x: q.at[0], y: q.at[1] };
    const top = q.nearest.slice(0, 3).map((m) => ({ ...this.at(m.point), weight: Math.exp(10 * m.cosine) }));
    const sum = top.reduce((s, p) => s + p.weight, 0);
    return { x: top.reduce((s, p) => s + p.x * p.weight, 0) / sum, y: top.reduce((s, p) => s + p.y * p.weight, 0) / sum };
  }

  /** A function from a value to its colour; and the legend. */
  scale() {
    const field = this.answer.fields.find((f) => f.name === this.by.value);
    const other = computed('--line-strong');
    if (!field) {
      this.legend.replaceChildren();
      const plain = computed('--meaning');
      return () => plain;
    }
    const all = this.answer.points.map((p) => p.values?.[field.name]).filter((v) => v !== undefined);
    const short = shortened(all);
    const values = all.map(short);
    const without = this.answer.points.length - all.length;
    if (field.number) return this.ramp(values, other, without);
    const counts = new Map();
    for (const v of values) counts.set(v, (counts.get(v) || 0) + 1);
    const top = [...counts].sort((a, b) => b[1] - a[1] || String(a[0]).localeCompare(String(b[0]))).slice(0, colours);
    const palette = new Map(top.map(([v], i) => [v, computed(`--c${i + 1}`)]));
    const rest = values.length - top.reduce((s, t) => s + t[1], 0);
    this.legend.replaceChildren(...top.map(([v, n]) => key(palette.get(v), `${v}`, n)), rest > 0 ? key(other, `${counts.size - top.length} others`, rest) : '', without > 0 ? key(other, 'without', without) : '');
    return (v) => palette.get(short(v)) ?? other;
  }

  ramp(values, other, without) {
    const low = Math.min(...values), high = Math.max(...values);
    const [a, b] = ['--words', '--meaning'].map((name) => computed(name).match(/[\d.]+/g).map(Number));
    const mix = (x) => `rgb(${a.slice(0, 3).map((v, i) => Math.round(v + (b[i] - v) * x)).join(' ')})`;
    this.legend.replaceChildren(...[0, 0.5, 1].map((x) => key(mix(x), String(+(low + (high - low) * x).toPrecision(4)))), without > 0 ? key(other, 'without', without) : '');
    return (v) => (typeof v === 'number' ? mix((v - low) / (high - low || 1)) : other);
  }

  // ---- words

  listNearest() {
    const q = this.answer.query;
    if (!q) {
      this.nearest.replaceChildren(el('p', { class: 'quiet small' }, 'Type a query to see where it falls.'));
      return;
    }
    const items = q.nearest.slice(0, 8).map((m) => {
      const p = this.answer.points[m.point];
      const show = () => this.scatter.light(m.point);
      const button = el('button', { type: 'button', class: 'link', 'data-point': m.point, onclick: () => this.describe(m.point), onpointerenter: show, onfocus: show, title: p.title }, p.title);
      return el('li', null, button, el('span', { class: 'n' }, number(m.cosine)));
    });
    this.nearest.replaceChildren(el('h2', null, 'Nearest to the query'), el('ol', { class: 'nearest' }, ...items));
  }

  describe(i) {
    if (i < 0) {
      this.about.replaceChildren();
      return;
    }
    const p = this.answer.points[i];
    const values = Object.entries(p.values || {}).map(([k, v]) => el('span', { class: 'chip' }, el('span', { class: 'name' }, k), String(v)));
    this.about.replaceChildren(el('h2', null, p.title), el('p', null, p.text), el('p', { class: 'chips' }, ...values), el('p', null, el('a', { href: address({ view: 'search', q: p.title, own: {} }) }, 'Search for this')));
  }

  // ---- t-SNE

  async refine() {
    if (this.worker) return;
    const { answer } = this;
    this.refineButton.textContent = 'Refining …';
    const worker = (this.worker = new Worker('ui/tsne.js'));
    worker.onmessage = ({ data }) => {
      if (this.worker !== worker) return;
      this.placed = data.at;
      this.repaint();
      if (data.done) {
        this.stop();
        this.refineButton.textContent = 'Back to the plain view';
        this.tell();
      } else {
        this.facts.textContent = `t-SNE, round ${data.round} of ${data.rounds} …`;
      }
    };
    try {
      const wide = await api.map(state.c, { components });
      if (this.worker !== worker) return;
      if (wide.sequence !== answer.sequence) throw new Error('The collection has changed meanwhile.');
      worker.postMessage({ points: wide.points.map((p) => p.at) });
    } catch (err) {
      this.stop();
      this.refineButton.textContent = 'Refine (t-SNE)';
      this.facts.textContent = err.message;
    }
  }

  unrefine() {
    this.stop();
    this.placed = null;
    this.refineButton.textContent = 'Refine (t-SNE)';
    this.scatter.reset();
    this.repaint();
    this.tell();
  }

  stop() {
    this.worker?.terminate();
    this.worker = null;
  }
}

/** How points are coloured by a field: points in time by the day, month or year, the finest that has a colour for each. */
function shortened(values) {
  const plain = (v) => v;
  if (!values.length || !values.every((v) => /^\d{4}-\d\d-\d\d(T|$)/.test(v))) return plain;
  const to = [10, 7].find((n) => new Set(values.map((v) => v.slice(0, n))).size <= colours) ?? 4;
  return (v) => v?.slice(0, to);
}

function key(colour, name, count) {
  const dot = el('i', { 'aria-hidden': 'true' });
  dot.style.background = colour;
  return el('li', null, dot, name, count === undefined ? '' : el('span', { class: 'quiet' }, ` ${count}`));
}
