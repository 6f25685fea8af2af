// The search view: asks at each key and when the typing pauses, and shows the hits without moving them under the reader.
import * as api from './api.js';
import { $, copy, el, number, toast } from './dom.js';
import { texts } from './fields.js';
import { refuse } from './fusion.js';
import { Card } from './hit.js';
import { Narrow } from './narrow.js';
import { address, documentAddress, state, writeURL } from './state.js';
import { browses } from './text.js';
import { textFields, titleFields, titleOf, untitled } from './title.js';
import { trouble } from './trouble.js';

const readDelay = 2000; // ms until an answer counts as read
const pauseDelay = 150; // ms without a key until the meaning is asked for too
const busyDelay = 150; // ms until waiting is shown
const slowDelay = 4000; // ms until it is said
const pageSize = 10;
const spare = 10; // hits behind the last that is shown, which the slider may bring forward
const mostHits = 200;
const relevance = { cutoff: 'auto', less_relevant: 10 }; // what is below the cutoff is folded
const closest = 3; // results below it that are offered where there is nothing else

const ui = {};

/** Whether there is something to search for, in a collection: without words or a filter an order, or the values to narrow by, of all documents. */
function asks() {
  return Boolean(state.c && (state.q.trim() || state.filter || state.sort || state.narrow));
}

/** The view. page: {changed(options), filterWrong(message)}. */
export class Results {
  constructor(page) {
    for (const id of ['box', 'status', 'timingsToggle', 'timings', 'curl', 'marks', 'degraded', 'respelled', 'warnings', 'held', 'results', 'more', 'end', 'blank', 'density', 'weak', 'weakToggle', 'weakResults']) ui[id] = $(id);
    this.page = page;
    this.answer = null; // {asked, res, preview} that is on the page
    this.fusedWith = null;
    this.held = null; // an answer that waits until the reader has left the hits
    this.running = null; // AbortController
    this.timer = 0;
    this.shown = pageSize;
    this.cards = new Map(); // id -> Card
    this.from = undefined; // the collection of the cards
    this.typing = false; // the last word may be unfinished
    this.lastKey = 0;
    this.lastMove = 0;
    this.narrow = new Narrow(page);
    this.firsts = new Map(); // collection and id -> the beginning of the text, for a title
    this.wire();
  }

  wire() {
    ui.timingsToggle.addEventListener('click', () => {
      ui.timings.hidden = !ui.timings.hidden;
      ui.timingsToggle.setAttribute('aria-expanded', String(!ui.timings.hidden));
    });
    ui.curl.addEventListener('click', () => copy(api.curl(state.c, this.query({ limit: pageSize }))));
    ui.more.addEventListener('click', () => this.more());
    ui.weakToggle.addEventListener('click', () => { this.showWeak = !this.showWeak; this.renderWeak(); });
    ui.density.addEventListener('click', () => compact(!isCompact()));
    compact(isCompact());
    ui.held.addEventListener('click', () => this.release(true));
    ui.results.addEventListener('pointerleave', () => { if (!ui.results.contains(document.activeElement)) this.release(true); });
    ui.results.addEventListener('focusout', (e) => { if (!ui.results.contains(e.relatedTarget) && !ui.results.matches(':hover')) this.release(true); });
    ui.results.addEventListener('focusin', (e) => this.rove(e.target.closest('article')));
    document.addEventListener('pointermove', () => { this.lastMove = performance.now(); }, { passive: true });
  }

  query(extra) {
    const q = { q: state.q, mode: state.mode };
    if (state.alpha !== null && state.mode === 'hybrid') q.alpha = state.alpha;
    if (state.filter) q.filter = state.filter;
    const [, field, order] = state.sort.match(/^(.+):(asc|desc)$/s) ?? [];
    if (field) q.sort = [{ field, order }];
    else if (state.boosts.length && !browses(state.q)) q.boosts = state.boosts;
    if (state.exact) q.spelling = 'exact';
    else if (this.typing) q.unfinished = true;
    return { ...q, ...relevance, limit: Math.min(this.shown + spare, mostHits), passages: 3, explain: !browses(state.q) || undefined, ...extra };
  }

  /** The words that the answer is about: those typed, or what they were read as. */
  asked() {
    const read = this.answer?.res.query;
    return read?.respelled || read?.completed ? read.text : state.q;
  }

  // ---- asking

  /** Something of the question has changed. typed: by a key, so that the answer by words comes first. */
  change({ typed = false, delay = 0 } = {}) {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = null;
    this.release(false);
    this.typing = typed;
    if (typed) this.lastKey = performance.now();
    if (!asks()) {
      ui.box.classList.remove('busy');
      this.answer = null;
      this.cards.clear();
      this.render();
      return;
    }
    this.shown = Math.min(Math.max(state.shown, pageSize), mostHits);
    const pause = typed && state.mode !== 'keyword' ? pauseDelay : delay;
    if (typed && state.mode === 'hybrid') this.ask({ preview: true });
    if (pause === 0) this.ask({ preview: false });
    else this.timer = setTimeout(() => this.ask({ preview: false }), pause);
  }

  leave() {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = null;
    ui.box.classList.remove('busy');
  }

  async ask({ preview }) {
    this.running?.abort();
    const mine = (this.running = new AbortController());
    const asked = { ...state };
    const busy = setTimeout(() => ui.box.classList.add('busy'), busyDelay);
    const slow = setTimeout(() => { ui.status.textContent = 'Waiting for the server …'; }, slowDelay);
    try {
      const same = this.answer?.asked.q === asked.q && this.answer.asked.c === asked.c && !this.answer.preview && this.answer.res.search_id; // narrowed, sorted or finished: one search for the log
      const res = await this.search(asked.c, mine, preview, same);
      if (same && !preview) res.search_id = same;
      if (mine !== this.running) return;
      if (!this.answer) await this.narrow.ready(); // what is above the hits comes with the first of them
      if (mine !== this.running) return;
      const answer = { asked, res, preview };
      this.arrive(answer);
      if (res.search_id && !preview && (same || this.typing)) setTimeout(() => { if (this.answer === answer) api.report(asked.c, { event: 'view', search_id: res.search_id }); }, this.typing ? readDelay : 0);
      if (!preview) this.entitle(answer, mine.signal);
      if (!preview && asked.mode !== 'keyword' && !browses(asked.q) && res.hits.length) this.sentences(answer, 0, mine.signal);
    } catch (err) {
      if (err.name === 'AbortError' || mine !== this.running || preview) return;
      this.fail(err);
    } finally {
      clearTimeout(busy);
      clearTimeout(slow);
      if (mine === this.running && !preview) ui.box.classList.remove('busy');
    }
  }

  /** Hits come without their texts, whose passages they bring along; a card that is opened fetches its document. Counts come with them where they are shown. */
  async search(c, { signal }, preview, same) {
    const q = (facets) => this.query({ omit_fields: texts(this.page.info()), facets, analytics: same ? false : undefined, ...(preview && { mode: 'keyword', alpha: undefined, limit: pageSize, passages: 1 }) });
    if (!preview && state.narrow === null) await this.narrow.ready();
    let facets = preview || !this.narrow.wanted() ? undefined : await this.narrow.facetRequests();
    for (let refused = false; ; refused = true) {
      signal.throwIfAborted();
      const disjunctive = facets && this.narrow.disjunctive(c, facets, (changes) => this.query(changes), signal).catch(() => ({})); // those of the search itself are good, too
      try {
        const res = await api.search(c, q(facets), signal);
        if (facets) {
          const counts = { ...res.facets, ...await disjunctive };
          signal.throwIfAborted(); // what is known by now may be about another collection
          res.facets = await this.narrow.shownCounts(counts);
        } else if (refused) this.narrow.forget();
        return res;
      } catch (err) {
        if (!facets || err.status !== 400) throw err;
        signal.throwIfAborted();
        const asked = JSON.stringify(facets);
        facets = await this.narrow.countedFacets();
        if (JSON.stringify(facets) === asked) facets = undefined;
      }
    }
  }

  /** Marks the nearest sentences in the hits that an answer shows from a place on. They cost the server more than the search, so they are asked for behind it. */
  async sentences(a, offset, signal) {
    try {
      const q = { ...this.query({ offset, limit: this.shown - offset, passages: 1, highlight: false, sentences: true, return_fields: [], analytics: false }), explain: undefined };
      const res = await api.search(a.asked.c, q, signal);
      const near = new Map(res.hits.map((h) => [h.id, h.passages[0]?.sentence]));
      for (const h of a.res.hits) if (near.get(h.id) && h.passages[0]) h.passages[0].sentence = near.get(h.id);
      if (this.answer === a) this.render(); // one that is held back has them when it is shown
    } catch { /* the hits are good without */ }
  }

  /** Reads the beginning of documents without a title, which is their heading. */
  async entitle(a, signal) {
    const key = (h) => `${a.asked.c} ${h.id}`;
    const ids = a.res.hits.filter((h) => untitled(h) && !this.firsts.has(key(h))).map((h) => h.id);
    if (!ids.length) return;
    try {
      const list = ids.map((id) => `'${id.replaceAll("'", "''")}'`).join(', ');
      const res = await api.search(a.asked.c, { q: '', filter: `_id IN [${list}]`, limit: ids.length, passages: 0, highlight: false, return_fields: textFields }, signal);
      for (const h of res.hits) this.firsts.set(key(h), textFields.map((f) => h.document?.[f]).find((t) => typeof t === 'string') ?? '');
      if (this.answer === a) this.render();
    } catch { /* the hits have their file names */ }
  }

  /** Puts an answer on the page, unless that would move the hits under the pointer or the focus. */
  arrive(a) {
    const old = this.answer;
    const refines = old && old.asked.q === a.asked.q && old.asked.c === a.asked.c && old.asked.filter === a.asked.filter && old.asked.boosts === a.asked.boosts && old.asked.sort === a.asked.sort && old.asked.narrow === a.asked.narrow;
    const moves = refines && !sameOrder(old.res.hits.slice(0, this.shown), a.res.hits.slice(0, this.shown));
    const pointing = ui.results.matches(':hover') && this.lastMove > this.lastKey;
    if (moves && (pointing || ui.results.contains(document.activeElement))) {
      this.held = a;
      ui.held.hidden = false;
      return;
    }
    this.answer = a;
    this.render();
  }

  release(show) {
    const a = this.held;
    this.held = null;
    ui.held.hidden = true;
    if (a && show) {
      this.answer = a;
      this.render();
    }
  }

  async more() {
    const base = this.answer;
    const had = this.shown;
    this.shown += pageSize;
    if (base.res.hits.length < this.shown && !base.end) {
      ui.more.disabled = true;
      try {
        const res = await api.search(state.c, this.query({ omit_fields: texts(this.page.info()), offset: base.res.hits.length, limit: pageSize + spare }));
        if (this.answer !== base) return;
        const known = new Set(base.res.hits.map((h) => h.id));
        const added = res.hits.filter((h) => !known.has(h.id));
        base.res.hits.push(...added);
        base.end = added.length < pageSize;
      } catch (err) {
        this.shown = had;
        toast(err.message);
        return;
      } finally {
        ui.more.disabled = false;
      }
    }
    this.render();
    state.shown = this.shown;
    writeURL(false);
    this.cards.get(base.res.hits[had]?.id)?.article.focus();
    if (state.mode !== 'keyword' && !browses(state.q)) this.sentences(base, had, this.running?.signal);
  }

  /** While the slider moves, the hits are fused again from their keyword and vector scores; then the server is asked. */
  slide() {
    const order = this.answer && !this.answer.preview && !state.sort ? refuse(this.answer.res.hits, state.alpha) : null;
    if (order) {
      this.answer.res.hits = order;
      this.render(state.alpha);
    }
    this.change({ delay: pauseDelay });
  }

  // ---- showing

  /** The weight that the last fused answer had, so that the slider stays while one types; null before the first. */
  alpha() {
    return this.fusedWith;
  }

  render(alpha) {
    if (this.answer && !this.answer.preview) this.fusedWith = this.answer.res.hits[0]?.explain?.fusion?.alpha ?? this.fusedWith;
    const hits = (this.answer?.res.hits || []).slice(0, this.shown);
    this.page.filterWrong('');
    this.narrow.take(this.answer);
    this.place(hits, alpha);
    this.renderStatus();
    this.renderWeak();
    this.renderBlank(hits);
    const res = this.answer?.res;
    ui.more.hidden = !hits.length || this.answer.preview || this.shown >= mostHits || res.hits.length <= this.shown && (this.answer.end || res.hits.length < this.shown);
    ui.end.hidden = !hits.length || this.answer.preview || !ui.more.hidden || hits.length < mostHits || res.total.value <= hits.length;
    ui.end.textContent = ui.end.hidden ? '' : `The page shows the first ${mostHits}. For others say more of what you look for, or narrow it down with a filter.`;
    this.page.showAlpha();
  }

  /** Makes the list show hits in their order; cards that stay glide to their new places. */
  place(hits, alpha) {
    const from = this.answer?.asked.c;
    if (from !== this.from) this.cards.clear(); // another document may have the same id
    this.from = from;
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const before = new Map();
    for (const [id, card] of this.cards) if (card.root.isConnected) before.set(id, card.root.getBoundingClientRect().top);
    const keep = new Set(hits.map((h) => h.id));
    for (const id of [...this.cards.keys()]) if (!keep.has(id)) this.cards.delete(id);
    const nodes = hits.map((h) => {
      let card = this.cards.get(h.id);
      if (card) card.update(h, alpha);
      else this.cards.set(h.id, (card = this.card(h)));
      return card.root;
    });
    const focused = document.activeElement;
    const changes = nodes.length !== ui.results.children.length || nodes.some((n, i) => ui.results.children[i] !== n);
    if (changes) ui.results.replaceChildren(...nodes);
    if (focused && focused !== document.activeElement && ui.results.contains(focused)) focused.focus({ preventScroll: true });
    this.rove();
    if (still || !changes || !before.size) return;
    // The layout that the new places are read from is the frame's own, so it is made once.
    cancelAnimationFrame(this.gliding);
    this.gliding = requestAnimationFrame(() => {
      for (const [id, top] of before) {
        const node = this.cards.get(id)?.root;
        const dy = node?.isConnected ? top - node.getBoundingClientRect().top : 0;
        if (dy) node.animate([{ transform: `translateY(${dy}px)` }, { transform: 'none' }], { duration: 180, easing: 'ease-out' });
      }
    });
  }

  card(hit) {
    const c = this.answer.asked.c;
    return new Card(hit, { first: (id) => this.firsts.get(`${c} ${id}`), filter: (f) => this.page.addFilter(f), query: () => this.asked(), info: () => this.page.info(), whole: (id) => api.fetchDocument(c, id), opened: (id) => this.opened(c, id) });
  }

  /** Reports that a hit was opened, to a server that logs searches. */
  opened(c, id) {
    const res = this.answer?.asked.c === c ? this.answer.res : null;
    const position = res ? res.hits.findIndex((h) => h.id === id) + 1 : 0;
    if (res?.search_id && position) api.report(c, { event: 'click', search_id: res.search_id, document: id, position });
  }

  /** Exactly one card can be reached with Tab; the arrows move on. */
  rove(to) {
    const articles = [...ui.results.querySelectorAll('article')];
    const current = to || articles.find((a) => a.contains(document.activeElement)) || articles[0];
    for (const a of articles) a.setAttribute('tabindex', a === current ? '0' : '-1');
  }

  renderStatus() {
    const res = this.answer?.res;
    ui.curl.hidden = !asks();
    ui.density.hidden = !res?.hits.length;
    ui.timingsToggle.hidden = !res;
    ui.marks.hidden = !res?.hits.length || state.mode === 'keyword' || browses(state.q);
    ui.degraded.hidden = !res?.degraded;
    const warnings = [...(res?.warnings || []), ...(res?.query?.ignored || []).map((p) => `“${p}” has only words that are too common to be looked for`)];
    ui.warnings.hidden = !warnings.length;
    ui.warnings.textContent = warnings.join('; ');
    renderRespelled(res?.query?.respelled ?? [], () => { state.exact = true; this.page.changed({ push: true }); });
    if (!res) {
      ui.status.textContent = '';
      ui.timings.hidden = true;
      return;
    }
    if (res.degraded) ui.degraded.textContent = `Only one of the two searches could run. ${res.degraded_reason || ''}`.trim();
    const n = res.total.value;
    const without = (res.query?.without || []).map((w, i) => `${i ? ',' : ' without'} “${w}”`).join('');
    ui.status.textContent = counted(res.total) + without + (this.answer.preview ? ' …' : '');
    ui.timingsToggle.textContent = `${number(res.took_ms)} ms`;
    renderTimings(res);
  }

  /** The results below the cutoff, folded: they count as no results. */
  renderWeak() {
    const { hits = [], less_relevant: all = [] } = this.answer?.res ?? {};
    const weak = hits.length ? all : all.slice(0, closest);
    ui.weak.hidden = !weak.length || this.answer.preview || (hits.length > 0 && !ui.more.hidden);
    if (ui.weak.hidden || this.weakOf !== this.answer.asked.q) this.showWeak = false;
    this.weakOf = this.answer?.asked.q;
    ui.weakToggle.textContent = hits.length ? `Less relevant (${weak.length})` : `${this.showWeak ? 'Hide' : 'Show'} the closest ${weak.length}`;
    ui.weakToggle.setAttribute('aria-expanded', String(this.showWeak));
    ui.weakResults.hidden = !this.showWeak;
    if (!this.showWeak) return;
    ui.weakResults.replaceChildren(...weak.map((h) => this.card(h).root));
    for (const a of ui.weakResults.querySelectorAll('article')) a.setAttribute('tabindex', '0');
  }

  renderBlank(hits) {
    ui.blank.hidden = hits.length > 0;
    if (hits.length) return;
    ui.blank.replaceChildren(...this.blank());
  }

  blank() {
    const info = this.page.info();
    if (!state.c) return [el('h2', null, 'Nothing to search yet'), ...this.ways('docs')];
    if (info?.documents === 0) return [el('h2', null, `${state.c} has no documents yet`), ...this.ways(state.c)];
    if (!asks()) {
      return [...invite(), this.tries(), teach(info)];
    }
    if (!this.answer) return [];
    const tips = [];
    const tip = (text, change) => tips.push(el('li', null, el('button', { type: 'button', class: 'link', onclick: () => { change(); this.page.changed(); } }, text)));
    if (state.filter) tip('Search without the filter', () => { state.filter = ''; });
    if (state.mode === 'keyword') tip('Use hybrid search', () => { state.mode = 'hybrid'; });
    return [el('h2', null, 'No results'), tips.length ? el('ul', { class: 'tips' }, ...tips) : el('p', { class: 'quiet' }, 'Try other or fewer words.')];
  }

  /** How to add documents: by dropping files, on the command line, by the API. */
  ways(c) {
    const way = (title, ...children) => el('section', null, el('h3', null, title), ...children);
    const url = (path) => new URL(path, document.baseURI).href;
    const zone = el('div', { class: 'teach ways' },
      way('Drop files here', el('p', null, el('a', { class: 'button primary', href: address({ view: 'collections', own: {} }) }, 'Add documents'), ' or drop files and folders: Markdown, HTML, PDF, office files, CSV, JSON lines, mail and more.')),
      way('Command line', el('pre', { tabindex: '0' }, `searchd ingest \\\n  --server ${location.origin} \\\n  --collection ${c} FOLDER`)),
      way('API', el('pre', { tabindex: '0' }, `curl ${url(`v1/collections/${encodeURIComponent(c)}/documents`)} \\\n  -d '{"title": "Hello", "text": "A first document"}'`)));
    import('./upload.js').then(({ dropped }) => {
      for (const type of ['dragenter', 'dragover']) zone.addEventListener(type, (e) => { e.preventDefault(); zone.classList.add('over'); });
      for (const type of ['dragleave', 'drop']) zone.addEventListener(type, (e) => { if (type === 'drop' || !zone.contains(e.relatedTarget)) zone.classList.remove('over'); });
      zone.addEventListener('drop', (e) => { e.preventDefault(); dropped(e.dataTransfer).then(({ files }) => this.page.upload(files), (err) => toast(err.message)); });
    }, () => { /* the link to the collections is there */ });
    return [zone];
  }

  fail(err, retry = () => this.page.changed()) {
    if (err.errors?.some((e) => e.pointer.startsWith('/filter'))) { // half of it may be typed: the last results stay
      if (!this.answer) ui.blank.hidden = true;
      this.page.filterWrong(err.message.replace(/^filter: got .*(, allowed: (filter: )?|: (?=at byte))/, ''));
      ui.status.textContent = this.answer ? `${counted(this.answer.res.total)} of the last valid filter` : 'No results until the filter is valid';
      ui.density.hidden = !this.answer;
      return;
    }
    this.answer = null;
    this.cards.clear();
    this.render();
    ui.status.textContent = 'The search failed';
    ui.blank.replaceChildren(...(err.code === 'collection_not_found' ? this.missing(err) : [trouble(err, retry)]));
    ui.blank.hidden = false;
  }

  /** The address names a collection that is not here: those that are. */
  missing(err) {
    const names = this.page.infos().map((i) => i.name);
    const links = names.slice(0, 12).map((c) => el('li', null, el('a', { href: address({ c, filter: '', sort: '' }) }, `Search ${c}`)));
    return [el('h2', null, `There is no collection ${state.c}`), links.length ? el('ul', { class: 'tips' }, ...links) : el('p', null, el('a', { href: '?view=collections' }, 'Make one')), el('p', { class: 'quiet small' }, err.code)];
  }

  /** Titles from the collection with different meanings, as first queries. */
  tries() {
    const list = el('ul', { class: 'tries', 'aria-label': 'For example' });
    const asked = state.c;
    this.sample(asked).then((titles) => {
      if (!list.isConnected || asked !== state.c) return;
      list.replaceChildren(...titles.map((q) => el('li', null, el('button', { type: 'button', class: 'try', onclick: () => { state.q = q; this.page.changed({ push: true }); } }, q))));
    }, () => { /* the page is good without */ });
    return list;
  }

  /** The titles for tries, asked for once as long as the collection stays as it is. */
  sample(c) {
    const key = `${c} ${this.page.info()?.sequence}`;
    if (this.sampled?.key !== key) {
      const pick = (res) => [...new Set(res.hits.map(titleOf).filter((t) => t.field && t.text.length <= 60).map((t) => t.text))].slice(0, 5);
      this.sampled = { key, titles: api.search(c, { q: 'how it works', mode: 'semantic', limit: 12, diversity: 0.8, passages: 0, highlight: false, return_fields: titleFields, analytics: false }).then(pick) };
    }
    return this.sampled.titles;
  }

  // ---- keys

  /** Takes a key press that is meant for the hits; says whether it was. */
  key(e, fromBox) {
    const card = e.target.closest?.('.hit')?.card;
    if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && (card || (fromBox && e.key === 'ArrowDown'))) {
      if (e.target.matches('.full, .scroll')) return false; // its own scrolling
      this.moveFocus(e.key === 'ArrowDown' ? 1 : -1);
      return true;
    }
    if (!card) return false;
    if (e.key === 'Escape' && (card.openText || card.openWhy)) {
      card.openText = card.openWhy = false;
      card.fill();
      card.article.focus();
    } else if (e.key === 'Enter' && e.target === card.article) {
      card.toggleText();
    } else if (e.key === 'o') {
      this.opened(this.from, card.hit.id);
      this.page.go(documentAddress(card.hit.id));
    } else if (e.key === 'w') {
      card.toggleWhy();
    } else if (e.key === 'n' || e.key === 'N') {
      card.nextMark(e.key === 'n' ? 1 : -1);
    } else if (e.key === 'i' && card.inside()) {
      this.page.go(card.inside());
    } else {
      return false;
    }
    return true;
  }

  moveFocus(by) {
    const articles = [...ui.results.querySelectorAll('article')];
    if (!articles.length) return;
    const at = articles.findIndex((a) => a.contains(document.activeElement));
    if (at === 0 && by < 0) {
      $('q').focus();
      return;
    }
    const next = articles[Math.max(0, Math.min(articles.length - 1, at + by))];
    this.rove(next);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  }
}

function invite() {
  return [el('h2', null, 'Type a question, a few words, or an exact name'), el('p', { class: 'quiet' }, 'Results appear as you type: from keyword search at once, from vector search when you pause.')];
}

/** What a search does, for who sees the empty page. */
function teach(info) {
  const part = (cls, title, ...text) => el('section', null, el('h3', { class: cls }, title), el('p', null, ...text));
  return el('div', { class: 'teach' },
    part('words', 'Keyword search', 'Counts the query’s words in each document; rare words weigh more. Finds names and exact terms.'),
    part('meaning', 'Vector search', `A model turns each passage into ${info ? info.model.dimension : 'some hundred'} numbers; similar meanings have similar numbers. Finds the same thing in other words: see the `, el('a', { href: address({ view: 'map', own: {} }) }, 'map'), ' and the ', el('a', { href: address({ view: 'inside', own: {} }) }, 'model'), '.'),
    part('', 'Hybrid search', 'Combines both into one relevance between 0 and 1. The slider changes their weights; “Why this result?” shows the calculation.'));
}

/** How many results there are. */
function counted({ value: n, relation, of }) {
  if (n === 0) return 'No results';
  if (relation === 'gte') return of === 'vector' ? `Closest ${n.toLocaleString('en')}` : `At least ${rounded(n).toLocaleString('en')} results`;
  return `${n.toLocaleString('en')} ${n === 1 ? 'result' : 'results'}`;
}

/** A count, down to two significant digits. */
function rounded(n) {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(n)) - 1);
  return Math.floor(n / unit) * unit;
}

const isCompact = () => { try { return localStorage.getItem('searchd.density') === 'compact'; } catch { return document.body.classList.contains('compact'); } };

/** Shows results with one line each, or with their passages. */
function compact(on) {
  try { localStorage.setItem('searchd.density', on ? 'compact' : ''); } catch { /* the choice lives as long as the page */ }
  document.body.classList.toggle('compact', on);
  ui.density.setAttribute('aria-pressed', String(on));
}

function sameOrder(a, b) {
  return a.length === b.length && a.every((h, i) => h.id === b[i].id);
}

/** Says which words were read as others; exact asks for them as they stand. */
function renderRespelled(words, exact) {
  ui.respelled.hidden = !words.length;
  ui.respelled.replaceChildren(
    ...words.flatMap((w, i) => [i ? ', “' : 'No document has “', w.word, '”: read as ', el('b', null, w.as)]),
    '. ', el('button', { type: 'button', class: 'link', onclick: exact }, words.length > 1 ? 'Search for the exact words' : 'Search for the exact word'));
}

function renderTimings(res) {
  const order = ['filter', 'spell', 'tokenize', 'embed', 'keyword', 'vector', 'find', 'fill', 'fuse', 'rerank', 'fetch'];
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  const entries = Object.entries(res.timings_ms || {}).filter((e) => e[1] > 0).sort((a, b) => place(a[0]) - place(b[0]));
  const top = Math.max(...entries.map((e) => e[1]), 1e-9);
  const dl = el('dl', { class: 'stages' });
  for (const [name, ms] of entries) {
    const bar = el('i', { 'aria-hidden': 'true' });
    bar.style.width = `${(ms / top) * 100}%`;
    dl.append(el('dt', null, name), el('dd', null, el('span', { class: 'track' }, bar), el('span', { class: 'n' }, ms < 0.01 ? '< 0.01 ms' : `${ms.toFixed(2)} ms`)));
  }
  ui.timings.replaceChildren(el('h3', null, 'Where the time went'), dl);
}
