package e2e

import (
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"example.com/searchd/internal/longtest"
)

// TestPageLatency measures in the browser, on the bundled documents, and prints medians: `go test
// ./internal/e2e -run PageLatency -v`. It wants no more than that there are figures, since the
// machine may be busy.
func TestPageLatency(t *testing.T) {
	longtest.Skip(t)
	base := serve(t, openNotes(t))
	p := open(t, base)
	rounds := 7
	if testing.Short() || !testing.Verbose() {
		rounds = 1
	}
	var paints, words, meanings []float64
	for i := range rounds {
		p.do(t, chromedp.Navigate(base+"/"))
		p.until(t, "document.querySelectorAll('.teach section').length === 3 && performance.getEntriesByName('first-contentful-paint').length === 1")
		paints = append(paints, eval[float64](t, p, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
		// From the input event to the answer in the page; the second answer waits for a pause of
		// 150 ms first, which is taken off.
		p.js(t, `
			const seen = window.seen = {}, q = document.querySelector('#q'), status = document.querySelector('#status');
			new MutationObserver(() => {
				const now = performance.now() - seen.from;
				if (status.textContent.includes('…')) seen.words ??= now;
				else if (status.textContent.includes('result')) seen.meaning ??= now - 150;
			}).observe(status, {childList: true, characterData: true, subtree: true});
			q.value = 'looking after a sourdough number `+string(rune('0'+i))+`';
			seen.from = performance.now();
			q.dispatchEvent(new Event('input', {bubbles: true}));`)
		p.until(t, "window.seen.meaning !== undefined")
		words = append(words, eval[float64](t, p, "window.seen.words ?? -1"))
		meanings = append(meanings, eval[float64](t, p, "window.seen.meaning"))
	}
	median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
	t.Logf("medians of %d: first paint %.0f ms, answer by words %.1f ms after the key, by meaning and words %.1f ms after the pause", rounds, median(paints), median(words), median(meanings))
	if median(paints) <= 0 || median(meanings) <= 0 {
		t.Error("nothing was measured")
	}
	p.clean(t)
}
