// The page of the REST API works without this script; it adds a box that finds operations, copying, and the server's own address.
import { copy } from './dom.js';

const written = 'http://127.0.0.1:8080';
const contents = document.querySelector('#contents');
const box = document.querySelector('#find');
const links = [...contents.querySelectorAll('li a')];

// The requests go to where the page came from, also below a proxy's path.
const here = new URL('.', location.href).href.replace(/\/$/, '');
for (const code of document.querySelectorAll('.copied code')) code.textContent = code.textContent.replace(written, here);

for (const button of document.querySelectorAll('.copy')) {
  button.hidden = false;
  button.addEventListener('click', () => copy(button.closest('.copied').querySelector('code').textContent));
}

// On a phone the list is closed until somebody opens it.
const narrow = matchMedia('(max-width: 900px)');
const fold = () => { contents.querySelector('details').open = !narrow.matches; };
narrow.addEventListener('change', fold);
fold();
contents.addEventListener('click', (e) => {
  if (narrow.matches && e.target.closest('a')) contents.querySelector('details').open = false;
});

box.parentElement.hidden = false;
box.addEventListener('input', () => {
  const wanted = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const a of links) {
    const text = a.textContent.toLowerCase();
    a.parentElement.hidden = !wanted.every((w) => text.includes(w));
    if (!a.parentElement.hidden) shown++;
  }
  for (const s of contents.querySelectorAll('section')) s.hidden = !s.querySelector('li:not([hidden])');
  document.querySelector('#found').textContent = wanted.length === 0 ? '' : `${shown} of ${links.length}`;
});
box.addEventListener('keydown', (e) => {
  if (e.key === 'Enter') links.find((a) => !a.parentElement.hidden)?.click();
});
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === 'Escape' && box.value !== '') {
    e.preventDefault();
    box.value = '';
    box.dispatchEvent(new Event('input'));
  }
  if (e.key !== '/' || e.target.closest('input, textarea, select')) return;
  e.preventDefault();
  contents.querySelector('details').open = true;
  box.focus();
});

// Marks in the list what is being read.
const seen = new IntersectionObserver((entries) => {
  for (const e of entries) {
    if (!e.isIntersecting) continue;
    for (const a of links) {
      if (a.hash === `#${e.target.id}`) a.setAttribute('aria-current', 'true');
      else a.removeAttribute('aria-current');
    }
  }
}, { rootMargin: '-10% 0px -80% 0px' });
for (const o of document.querySelectorAll('.operation')) seen.observe(o);
