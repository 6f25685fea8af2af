// What the views beside the search have in common: they ask when something of the question changes, and draw again when the colours do.
import { el } from './dom.js';
import { address } from './state.js';

const pause = 200; // ms without a key until a view asks

/** A view: ask() asks the server, with the signal of begin(); repaint() draws what has colours of its own. */
export class View {
  change({ typed = false }) {
    this.end();
    if (typed) this.timer = setTimeout(() => this.ask(), pause);
    else this.ask();
  }

  leave() {
    this.end();
  }

  /** Ends what was asked or waits to be. */
  end() {
    clearTimeout(this.timer);
    this.running?.abort();
  }

  /** The signal of a request that takes the place of the one before. */
  begin() {
    this.running?.abort();
    this.running = new AbortController();
    return this.running.signal;
  }

  watchColours() {
    window.addEventListener('themechange', () => this.repaint());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.repaint());
  }
}

/** What a view shows on a server without a collection. */
export const nothingYet = () => ['There is nothing to search yet: ', el('a', { href: address({ view: 'collections', own: {} }) }, 'bring documents in'), '.'];
