// The inside view: what the model does with the query and a text.
import * as api from './api.js';
import { $, el } from './dom.js';
import { drawSmall, Heatmap, Weights } from './heatmap.js';
import { titleOf } from './title.js';
import { layerChart } from './layers.js';
import { encodedText } from './passage.js';
import { appendShares } from './shares.js';
import { state, writeURL } from './state.js';
import { trouble } from './trouble.js';
import { View } from './view.js';

const rivals = 5; // other hits beside the text in the chart of layers

export class Inside extends View {
  constructor(root, page) {
    super();
    this.root = root;
    this.page = page;
    this.side = 'query';
    this.text = el('textarea', { id: 'insideText', dir: 'auto', rows: '5', spellcheck: 'false', maxlength: '8000' });
    this.text.addEventListener('input', () => {
      state.own.text = this.text.value.slice(0, 2000);
      writeURL(false);
      this.change({ typed: true });
    });
    this.parts = el('div', { class: 'parts' });
    root.append(el('p', { class: 'lead' }, 'The model turns each text into one vector: its tokens pass through layers, in which they look at each other, and the mean of what comes out is the vector. Here is what happens on the way.'),
      el('label', { class: 'asked', for: 'insideText' }, 'Compare the query with this text ', el('span', { class: 'quiet small', id: 'insideFrom' })), this.text, this.parts);
    this.heat = new Heatmap();
    this.watchColours();
  }

  async ask() {
    const signal = this.begin();
    if (state.own.text !== undefined && this.text.value !== state.own.text) this.text.value = state.own.text;
    const query = state.q.trim();
    if (!query) {
      this.parts.replaceChildren(el('p', { class: 'blank quiet' }, 'Type a query above: it is compared with the nearest passage, or with a text of your own.'));
      return;
    }
    try {
      const hits = await this.hits(query, signal);
      const text = this.chosen(hits);
      if (!text.trim()) {
        this.parts.replaceChildren(el('p', { class: 'blank quiet' }, 'There is no passage to compare with: type a text.'));
        return;
      }
      const answer = await api.attention({ text: query, input_type: 'query', with: text, layerwise: true }, signal).catch(withoutShares);
      const maps = await this.maps(query, text, signal);
      if (signal.aborted) return;
      this.render(answer, maps, hits, text);
      if (answer.layer_cosines) await this.rivals(query, hits, text, answer.layer_cosines, signal);
    } catch (err) {
      if (err.name !== 'AbortError') this.parts.replaceChildren(trouble(err, () => this.ask()));
    }
  }

  /** The nearest documents, for a text to begin with and for the chart. */
  async hits(query, signal) {
    if (!state.c) return [];
    const res = await api.search(state.c, { q: query, mode: 'semantic', limit: rivals + 1, analytics: false }, signal);
    return res.hits.filter((h) => h.passages[0]?.text);
  }

  chosen(hits) {
    const from = $('insideFrom');
    if (state.own.text) {
      from.textContent = '';
      return state.own.text;
    }
    const best = hits[0];
    this.text.value = best ? encodedText(best, this.page.info()).slice(0, 2000) : '';
    from.textContent = best ? `– the nearest passage, “${titleOf(best).text}”, as it is in the index: with its title` : '';
    return this.text.value;
  }

  maps(query, text, signal) {
    const side = this.side === 'query' ? { text: query, input_type: 'query' } : { text };
    return api.attention({ ...side, maps: true }, signal).catch((err) => {
      if (err.code === 'not_supported') return null;
      throw err;
    });
  }

  render(answer, maps, hits, text) {
    this.layers = el('div', { class: 'fills' });
    this.grid = el('div', { class: 'fills' });
    this.parts.replaceChildren(
      answer.shares ? this.contributions(answer) : el('section', { class: 'part' }, el('h2', null, 'What each token adds'), el('p', { class: 'quiet' }, answer.refused)),
      answer.layer_cosines ? el('section', { class: 'part' }, el('h2', null, 'Layer by layer'),
        el('p', { class: 'quiet' }, 'How near query and text are after each layer. “words” is before the first: every token still means the same everywhere. Thin lines are other passages: good layers pull the right one away from them.'), this.layers) : '',
      maps ? el('section', { class: 'part' }, el('h2', null, 'What the tokens look at'), this.sides(), this.grid, this.heat.root) : '');
    if (answer.layer_cosines) this.layers.append(layerChart([{ name: 'this text', values: answer.layer_cosines, main: true }]));
    if (maps) this.renderMaps(maps);
  }

  contributions(answer) {
    const row = (name, part) => {
      const p = el('p', { class: 'shares big', dir: 'auto' });
      appendShares(p, part);
      const sum = (special) => part.shares.reduce((s, x, i) => s + (Boolean(part.tokens[i].special) === special ? x : 0), 0);
      const frame = part.tokens.some((t) => t.special) ? `${sum(true) < 0 ? ' − ' : ' + '}${Math.abs(sum(true)).toFixed(3)} from the tokens that frame it` : '';
      return el('div', null, el('h3', null, name), p, el('p', { class: 'facts', 'data-sum': sum(true) + sum(false) }, `${sum(false).toFixed(3)} from the words${frame} = ${answer.cosine.toFixed(3)}`));
    };
    return el('section', { class: 'part' },
      el('h2', null, 'What each token adds'),
      el('p', { class: 'quiet' }, 'The cosine of the two is ', el('strong', { id: 'insideCosine' }, answer.cosine.toFixed(3)), '. Since a vector is the mean of its tokens, every token has an exact share in it: blue brings the two together, red holds them apart.'),
      row('Query', answer), row('Text', answer.with), answer.with.truncated ? el('p', { class: 'facts' }, 'The text is longer than the model reads; its end is left out.') : '');
  }

  async rivals(query, hits, text, main, signal) {
    const lines = [{ name: 'this text', values: main, main: true }];
    const others = hits.map((hit) => ({ hit, encoded: encodedText(hit, this.page.info()).slice(0, 2000) })).filter((o) => o.encoded !== text);
    for (const { hit, encoded } of others.slice(0, rivals)) {
      const answer = await api.attention({ text: query, input_type: 'query', with: encoded, layerwise: true }, signal);
      lines.push({ name: titleOf(hit).text, values: answer.layer_cosines });
    }
    if (!signal.aborted) this.layers.replaceChildren(layerChart(lines));
  }

  sides() {
    const side = (value, name) => {
      const input = el('input', { type: 'radio', name: 'side', value, checked: this.side === value });
      input.addEventListener('change', () => { this.side = value; this.remap(); });
      return el('label', null, input, el('span', null, name));
    };
    return el('fieldset', { class: 'modes' }, el('legend', { class: 'hidden' }, 'Which text'), side('query', 'Query'), side('text', 'Text'));
  }

  async remap() {
    const signal = this.begin();
    try {
      const maps = await this.maps(state.q.trim(), this.text.value, signal);
      if (!signal.aborted) this.renderMaps(maps);
    } catch (err) {
      if (err.name !== 'AbortError') this.grid.replaceChildren(trouble(err));
    }
  }

  renderMaps(maps) {
    this.shown = maps;
    this.all = maps.maps.map((heads) => heads.map((h) => new Weights(h)));
    const layer = pick(state.own.layer, this.all.length), head = pick(state.own.head, this.all[0].length);
    const rows = this.all.map((heads, l) => el('tr', null, el('th', { scope: 'row' }, `layer ${l + 1}`), ...heads.map((weights, h) => {
      const canvas = el('canvas', { 'aria-hidden': 'true' });
      drawSmall(canvas, weights);
      return el('td', null, el('button', { type: 'button', class: 'head', 'aria-label': `Layer ${l + 1}, head ${h + 1}`, 'aria-pressed': 'false', 'data-layer': l, 'data-head': h, onclick: () => this.choose(l, h) }, canvas));
    })));
    const head0 = el('tr', null, el('td'), ...this.all[0].map((_, h) => el('th', { scope: 'col' }, String(h + 1))));
    this.grid.replaceChildren(el('div', { class: 'scroll' }, el('table', { class: 'heads' }, el('caption', { class: 'quiet' }, 'Heads across, layers down; choose one'), el('thead', null, head0), el('tbody', null, ...rows))),
      maps.truncated ? el('p', { class: 'facts' }, `Only the first ${maps.tokens.length} tokens are shown.`) : '');
    this.choose(layer, head, true);
  }

  choose(layer, head, quiet) {
    for (const b of this.grid.querySelectorAll('.head')) b.setAttribute('aria-pressed', String(+b.dataset.layer === layer && +b.dataset.head === head));
    this.heat.show(this.all[layer][head], this.shown.tokens.map((t) => t.token));
    this.heat.canvas.setAttribute('aria-label', `Attention of layer ${layer + 1}, head ${head + 1}; the arrow keys move through it`);
    if (quiet) return;
    Object.assign(state.own, { layer: String(layer), head: String(head) });
    writeURL(false);
  }

  repaint() {
    if (this.shown && !this.root.hidden) this.renderMaps(this.shown);
  }
}

/** A checkpoint whose vectors are no plain mean has no shares; the other parts may still be shown. */
function withoutShares(err) {
  if (err.code === 'not_supported') return { refused: err.message };
  throw err;
}

function pick(value, count) {
  const n = Number.parseInt(value, 10);
  return n >= 0 && n < count ? n : 0;
}
