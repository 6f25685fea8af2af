package search

// ForgetTokens empties the cache of tokens.
func (e *Engine) ForgetTokens() { e.encodings.own.passages = newTokenCache(matchBudget) }
