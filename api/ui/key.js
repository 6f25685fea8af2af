// The API key, for servers that ask for one. It is kept for this tab alone and sent to this server alone.
import { ask as inDialog, el } from './dom.js';

const slot = 'searchd.key';
let asking = null;

export function headers() {
  const key = stored();
  return key ? { Authorization: 'Bearer ' + key } : {};
}

function stored() {
  try {
    return sessionStorage.getItem(slot) || '';
  } catch {
    return stored.kept || '';
  }
}

function keep(key) {
  stored.kept = key;
  try {
    sessionStorage.setItem(slot, key);
  } catch { /* storage is switched off: the key lives as long as the page */ }
}

/** Asks for a key, once for all requests that miss one. Resolves to whether there is one now. */
export function ask(reason) {
  return (asking ??= new Promise((resolve) => {
    const input = el('input', { id: 'apiKey', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
    const { dialog } = inDialog('keyTitle', 'The server requires an API key', el('p', { class: 'quiet' }, reason),
      el('label', { for: 'apiKey' }, 'API key'), input, el('p', { class: 'quiet small' }, 'Kept for this tab, forgotten when it is closed.'),
      el('p', { class: 'row' }, el('button', { class: 'button primary', value: 'use' }, 'Use it'), el('button', { class: 'button', value: 'no', formnovalidate: true }, 'Not now')));
    dialog.classList.add('key');
    dialog.addEventListener('close', () => {
      const given = dialog.returnValue === 'use' && input.value.trim();
      if (given) keep(given);
      asking = null;
      resolve(Boolean(given));
    });
    input.focus();
  }));
}
