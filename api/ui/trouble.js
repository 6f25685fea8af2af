// What went wrong, in the reader's words: what it means, what the server says, and what can be done.
import { el } from './dom.js';
import { ask } from './key.js';

const look = 3000; // ms between two looks whether the server is ready again

const busy = ['overloaded', 'rate_limited', 'too_many_writes', 'deadline_exceeded', 'canceled'];

/** By the code of an answer: a title, and a sentence in front of the message of the server. */
const meanings = {
  unreachable: ['The server does not answer', 'It may be restarting, or the network is down.'],
  shutting_down: ['The server is stopping', 'It may be restarting.'],
};

/** What went wrong, with what to tell whoever runs the server, and a way to try again: by itself, where the server says that it is ready again. */
export function trouble(err, retry) {
  const [title, meaning] = meanings[err.code] ?? [busy.includes(err.code) ? 'The server is busy' : 'That did not work', ''];
  const forbidden = err.status === 403;
  const facts = [err.code !== 'unreachable' && err.code, err.requestID && `request ${err.requestID}`].filter(Boolean).join(' · ');
  const again = forbidden ? async () => { if (await ask(err.message)) retry(); } : retry;
  const box = el('div', { class: 'blank failed', role: 'alert' }, el('h2', null, title), meaning && el('p', null, meaning),
    err.code !== 'unreachable' && el('p', { class: meaning ? 'quiet small' : null }, err.message), meanings[err.code] && retry && el('p', null, 'The page tries again as soon as it is ready.'),
    facts && el('p', { class: 'quiet small' }, facts), retry && el('button', { type: 'button', class: 'button', onclick: again }, forbidden ? 'Use another key' : 'Try again'));
  if (meanings[err.code] && retry) waitFor(box, retry);
  return box;
}

/** Calls retry once the server is ready, as long as the box is on the page. */
async function waitFor(box, retry) {
  for (;;) {
    await new Promise((resolve) => { setTimeout(resolve, look); });
    if (!box.isConnected) return;
    const ready = !document.hidden && (await fetch('readyz').then((r) => r.ok, () => false));
    if (!ready) continue;
    if (box.isConnected) retry();
    return;
  }
}
