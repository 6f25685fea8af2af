package inference

import (
	"context"
	"fmt"

	"example.com/searchd/search/fault"
)

// MaxRequestTokens bounds the tokens of the texts that one request has embedded or re-ranked, each
// counted up to where the checkpoint cuts it. OpenAI's API has the same bound. Without one, a
// request of 32 MiB kept all CPUs busy for minutes. A single text is never refused.
const MaxRequestTokens = 300_000

// perText is what the special tokens of a text count.
const perText = 2

// checkRequest refuses texts that have more than MaxRequestTokens tokens together. Each is cut
// after most tokens, if most is not 0, and has extra tokens beside its own. Texts are counted only
// where their bytes, of which a token has at least one, do not show that they fit.
func checkRequest(ctx context.Context, texts []string, extra, most int, count func(text string) int) error {
	if most == 0 {
		most = endlessTokens
	}
	bytes := 0
	for _, t := range texts {
		bytes += min(len(t)+extra+perText, most)
	}
	if bytes <= MaxRequestTokens {
		return nil
	}
	n := 0
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n += min(count(t)+extra+perText, most); n > MaxRequestTokens && i > 0 {
			return tooManyTokens(n, i, len(texts))
		}
	}
	return nil
}

// tooManyTokens is the error for a request whose i-th text, of texts, is the first that is too
// much. n is the number of tokens so far.
func tooManyTokens(n, i, texts int) error {
	return fault.Field("inputs", tokenCount(fmt.Sprintf("%d tokens in the first %d of %d texts", n, i+1, texts)),
		fmt.Sprintf("at most %d tokens in one request, special tokens included; send fewer texts at a time", MaxRequestTokens))
}

// tokenCount is printed without quotes.
type tokenCount string
