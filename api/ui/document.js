// The document view: the text with its matching passages marked, its fields, similar documents.
import * as api from './api.js';
import { copy, el, toast } from './dom.js';
import { Card } from './hit.js';
import { address, documentAddress, state } from './state.js';
import { browses } from './text.js';
import { textFields, titleOf } from './title.js';
import { trouble } from './trouble.js';
import { View } from './view.js';
import { relevanceBar } from './why.js';

const mostPassages = 20; // that are marked
const similarDocuments = 5;

export class DocumentView extends View {
  constructor(root, page) {
    super();
    Object.assign(this, { root, page });
  }

  async ask() {
    const id = state.own.doc ?? '';
    const key = JSON.stringify([state.c, id, state.q, state.mode]);
    if (key === this.shown) return;
    const signal = this.begin();
    try {
      const [hit, document] = await Promise.all([this.found(id, signal), api.fetchDocument(state.c, id)]);
      if (signal.aborted) return;
      this.shown = key;
      this.show(hit, document);
      this.similar(id, signal);
      this.versions(id, signal);
    } catch (err) {
      if (err.name === 'AbortError') return;
      this.shown = '';
      const missing = err.code === 'document_not_found' && el('div', { class: 'blank' }, el('h2', null, 'There is no such document'), el('p', null, `${state.c} has no document `, el('code', null, id), '. It may have been deleted.'));
      this.root.replaceChildren(this.back(), missing || trouble(err, () => this.ask()));
    }
  }

  /** The document as the query finds it; without a query, or where it is not found, as it is. */
  async found(id, signal) {
    const plain = { id, score: 0, document: {}, passages: [] };
    if (!state.q.trim() || browses(state.q)) return plain;
    const res = await api.search(state.c, { q: state.q, mode: state.mode, filter: `_id = '${id.replaceAll("'", "''")}'`, limit: 1, passages: mostPassages, explain: true, sentences: state.mode !== 'keyword', analytics: false }, signal);
    return res.hits.find((h) => h.id === id) ?? plain;
  }

  back() {
    return el('p', { class: 'back' }, el('a', { href: address({ view: 'search', own: {} }) }, state.q || state.filter ? '← Back to the results' : '← Back to the search'), state.q && el('span', { class: 'quiet' }, ` for “${state.q}”`));
  }

  show(hit, doc) {
    const whole = { ...hit, document: doc };
    const card = new Card(whole, { query: () => state.q, info: () => this.page.info(), filter: (f) => { state.view = 'search'; state.own = {}; this.page.addFilter(f); }, whole: async () => doc });
    card.document = doc;
    card.openText = true;
    card.fill();
    const title = titleOf(whole);
    document.title = `${title.text} – searchd`;
    const trail = (hit.passages?.[0]?.trail ?? []).filter((t) => t !== title.text);
    this.root.replaceChildren(this.back(), el('article', { class: 'document', 'aria-label': title.text },
      el('header', null, el('h2', { id: 'documentTitle', tabindex: '-1', dir: 'auto' }, title.text), hit.explain && relevanceBar(hit.score, hit.explain)),
      trail.length > 0 && el('p', { class: 'crumb' }, trail.join(' › ')),
      el('p', { class: 'actions' }, el('button', { type: 'button', class: 'button', onclick: () => copy(new URL(documentAddress(state.own.doc), location.href).href) }, 'Copy link'),
        card.link && el('a', { class: 'button', href: card.link.href, target: '_blank', rel: 'noopener noreferrer' }, 'Open source ↗'),
        el('a', { class: 'button', href: '#similar', onclick: (e) => { e.preventDefault(); this.more.scrollIntoView({ block: 'start' }); } }, 'More like this')),
      card.text, this.fields(doc, title)),
    (this.more = el('section', { id: 'similar', class: 'similar', 'aria-labelledby': 'similarTitle' }, el('h3', { id: 'similarTitle' }, 'More like this'), el('p', { class: 'quiet small' }, 'Searching …'))));
    card.text.classList.remove('panel');
    this.root.querySelector('#documentTitle').focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  /** The fields that are not shown as text. */
  fields(doc, title) {
    const rest = Object.entries(doc).filter(([name]) => name !== title.field && !textFields.includes(name));
    const text = (v) => (JSON.isRawJSON?.(v) ? v.rawJSON : typeof v === 'string' ? v : Array.isArray(v) && v.every((x) => typeof x === 'string') ? v.join(', ') : JSON.stringify(v));
    return el('section', { class: 'fields', 'aria-label': 'Fields' }, el('h3', null, 'Fields'), el('dl', { class: 'rest' }, el('dt', null, 'id'), el('dd', null, state.own.doc), rest.flatMap(([name, v]) => [el('dt', null, name), el('dd', { dir: 'auto' }, text(v))])));
  }

  /** The former versions, where the collection keeps any. A key that reads no documents does not see them. */
  async versions(id, signal) {
    if (!this.page.info()?.settings?.versions) return;
    const list = await api.versions(state.c, id).catch(() => []);
    if (signal.aborted || !list.length) return;
    this.more.before(el('section', { class: 'similar', 'aria-labelledby': 'versionsTitle' }, el('h3', { id: 'versionsTitle' }, 'Former versions'), list.map((v) => this.version(id, v))));
  }

  version(id, v) {
    const text = el('pre', { class: 'full', tabindex: '0' }, 'Loading …');
    const restore = el('button', { type: 'button', class: 'button' }, 'Restore this version');
    restore.onclick = async () => {
      restore.disabled = true;
      try {
        await api.restoreVersion(state.c, id, v.revision);
        toast('Restored');
        this.shown = '';
        this.ask();
      } catch (err) {
        restore.disabled = false;
        toast(`Not restored: ${err.message}`);
      }
    };
    const details = el('details', null, el('summary', null, `${v.deleted ? 'Deleted' : 'Replaced'} ${new Date(v.until).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'short' })}`), text, el('p', null, restore));
    details.addEventListener('toggle', async () => {
      const whole = await api.version(state.c, id, v.revision).catch((err) => ({ document: err.message }));
      text.textContent = typeof whole.document === 'string' ? whole.document : JSON.stringify(whole.document, null, 2);
    }, { once: true });
    return details;
  }

  async similar(id, signal) {
    const into = this.more;
    let body;
    try {
      const res = await api.similar(state.c, { ids: [id], limit: similarDocuments, passages: 1 }, signal);
      body = res.hits.length ? el('ul', null, res.hits.map((h) => el('li', null, el('a', { href: documentAddress(h.id) }, titleOf(h).text), el('span', { class: 'quiet small' }, ` ${h.score.toFixed(2)}`)))) : el('p', { class: 'quiet small' }, 'No other document is similar.');
    } catch (err) {
      if (err.name === 'AbortError') return;
      body = el('p', { class: 'quiet small' }, `Similar documents could not be searched: ${err.message}`);
    }
    into.lastChild.replaceWith(body);
  }
}
