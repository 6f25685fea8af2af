// Package tokenizer turns text into the ids that a model reads, and back, equal to Hugging Face's
// tokenizers for every tokenizer.json of the usual kinds: WordPiece, BPE (byte-level or with byte
// fallback), Unigram and WordLevel.
//
//	tok, err := tokenizer.New(file, tokenizer.Options{})
//	e := tok.Encode("What is a vector?", 256) // e.IDs, e.TypeIDs, e.Spans, e.Truncated
//
// # The way of a text
//
//  1. Added tokens, such as [SEP], are found in the text as it is (addedTokens).
//  2. Each stretch between them is normalised, step by step (normalizer). Every byte keeps the
//     range of the source that it came from (aligned), so that a token knows its place in the text.
//  3. Added tokens that are declared normalised are found in the result.
//  4. The rest is cut into words (preTokenizer), and each word into tokens (model), with a bounded
//     cache between.
//  5. The ids go into the template (template).
//
// For BERT steps 2 and 4 are one pass over the text (bertScanner).
//
// Normalisers, pre-tokenisers and models do time linear in the text, BPE n log n in the length of a
// word; memory is linear too, up to some 60 bytes per byte of a text without word ends, and what a
// text of more than 1 MiB needed is given back. Encode stops as soon as it has the ids that were
// asked for. Bytes that are not UTF-8 read as U+FFFD.
//
// # Caveats
//
// What tokenizer.json says of lengths is checked and then ignored, for lengths are the caller's,
// and its padding is not read: nothing is padded. The side at which texts are cut counts. Texts are
// not stripped. BPE dropout is ignored. A regular expression is one of Oniguruma. What of it Go
// lacks or reads in another way is translated, or else an error at load that names it: look-around
// (but for the ending \s+(?!\S)|\s+ of the GPT family), possessive quantifiers, \b, \Z, references,
// octal numbers, sets inside [], what folds to several characters where (?i) holds, and a pattern
// that matches the empty text. Spans of characters that normalise together are the range of them
// all, where the Rust code names the first. From version 0.23 on the Rust code stops early in long
// texts, so that an odd id may go to the other text of a pair when both are cut.
//
// # Package sugarme
//
// github.com/sugarme/tokenizer gives this package its interfaces (Model, Normalizer and Decoder,
// which Tokenizer.Model, Tokenizer.Normalizer and every decoder here implement, so that parts can
// be exchanged), the entry of added_tokens (TokenConfig), the WordLevel model, and the decoders
// WordPiece, BPEDecoder, Fuse, CTC and Sequence. The rest is our own: sugarme 0.3.0 strips no
// accents where strip_accents is null, ignores fuse_unk, byte_fallback, ignore_merges and regular
// expressions in Replace, panics on JSON of the wrong type and on Nmt, and allocates some hundred
// times per token. The tests run its pipeline beside ours.
package tokenizer
