// Runs before the first paint, so that a choice of colours does not flash: light, dark, or none, which is the system's.
{
  let chosen = '';
  try {
    chosen = localStorage.getItem('searchd.theme') || '';
  } catch { /* storage may be switched off */ }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
}
