// Suggestions under the box while a query is typed: a combobox with a list, as the ARIA practices
// describe it.
import * as api from './api.js';
import { el } from './dom.js';

const pause = 80; // ms without a key before the server is asked
const longest = 50; // characters that are completed

export class Completions {
  /** input: the box. list: an empty ul. collection(): whose titles and phrases. take(text): one was chosen. */
  constructor(input, list, collection, take) {
    Object.assign(this, { input, list, collection, take, at: -1 });
    input.addEventListener('input', () => this.later());
    input.addEventListener('keydown', (e) => this.key(e));
    input.addEventListener('blur', () => this.close());
    list.addEventListener('mousedown', (e) => e.preventDefault()); // the box keeps the focus
    list.addEventListener('click', (e) => this.choose(e.target.closest('li')));
  }

  later() {
    clearTimeout(this.timer);
    this.running?.abort();
    if (!this.input.value.trim() || this.input.value.length > longest || !this.collection()) this.close();
    else this.timer = setTimeout(() => this.ask(), pause);
  }

  async ask() {
    this.running = new AbortController();
    const { signal } = this.running;
    const typed = this.input.value;
    try {
      const { suggestions } = await api.suggest(this.collection(), typed, signal);
      if (!signal.aborted && this.input.value === typed && document.activeElement === this.input) this.show(suggestions);
    } catch {
      if (!signal.aborted) this.close(); // the search says what is wrong
    }
  }

  show(suggestions) {
    const active = this.list.hidden ? null : this.list.children[this.at]?.textContent; // chosen by arrows before a late answer
    this.list.replaceChildren(...suggestions.map((s, i) => el('li', { id: `suggestion${i}`, role: 'option', 'aria-selected': 'false' }, s.text)));
    this.at = -1;
    this.open(suggestions.length > 0);
    this.move(suggestions.findIndex((s) => s.text === active));
  }

  open(open) {
    this.list.hidden = !open;
    this.input.setAttribute('aria-expanded', String(open));
    this.input.removeAttribute('aria-activedescendant');
  }

  close() {
    clearTimeout(this.timer);
    this.running?.abort();
    this.at = -1;
    this.open(false);
  }

  /** Makes option n the active one; -1: none, the text as it is typed. */
  move(n) {
    const options = [...this.list.children];
    this.at = (n + 1 + options.length + 1) % (options.length + 1) - 1;
    options.forEach((o, i) => o.setAttribute('aria-selected', String(i === this.at)));
    if (this.at < 0) {
      this.input.removeAttribute('aria-activedescendant');
    } else {
      this.input.setAttribute('aria-activedescendant', options[this.at].id);
      options[this.at].scrollIntoView({ block: 'nearest' });
    }
  }

  key(e) {
    if (e.key === 'Enter' && this.at < 0) this.close(); // the form is sent
    if (this.list.hidden || e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'ArrowDown') this.move(this.at + 1);
    else if (e.key === 'ArrowUp') this.move(this.at - 1);
    else if (e.key === 'Escape') this.close();
    else if (e.key === 'Enter') this.choose(this.list.children[this.at]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  choose(option) {
    if (!option) return;
    this.close();
    this.take(option.textContent);
  }
}
