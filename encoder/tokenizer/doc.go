// Package tokenizer turns text into the ids that a model reads, and back, equal to Hugging Face's
// tokenizers for every tokenizer.json of the usual kinds: WordPiece, BPE (byte-level or with byte
// fallback), Unigram and WordLevel.
//
//	tok, err := tokenizer.New(file, tokenizer.Options{})
//	e := tok.Encode("What is a vector?", 256) // e.IDs, e.TypeIDs, e.Spans, e.Truncated
//
// # Pipeline
//
//  1. Added tokens, such as [SEP], are found in the text as it is (addedTokens).
//  2. Each stretch between them is normalised, step by step (normalizer). Every byte keeps the
//     range of the source that it came from (aligned), so that a token has a span in the text.
//  3. Added tokens that are declared normalised are found in the result.
//  4. The rest is cut into words (preTokenizer), and each word into tokens (model), with a bounded
//     cache between.
//  5. The ids go into the template (template).
//
// For BERT steps 2 and 4 are one pass over the text (bertScanner). Time is linear in the text, for
// BPE n log n in the length of a word. Memory is linear too; what a text of more than 1 MiB needed
// is released. Encode stops as soon as it has the ids that were asked for. Bytes that are not UTF-8
// read as U+FFFD.
//
// # Caveats
//
// Nothing is padded, and lengths are the caller's: those of tokenizer.json are checked and ignored.
// Texts are not stripped. BPE dropout is ignored. Regular expressions may use the part of
// Oniguruma's syntax that published checkpoints use (see oniguruma); anything else is an error at
// load. Characters that normalise together have the span of them all, where the Rust code names the
// first. From version 0.23 on the Rust code stops early in long texts, so that an odd id may go to
// the other text of a pair when both are cut.
//
// github.com/sugarme/tokenizer gives this package the entry of added_tokens (TokenConfig), the
// WordLevel model, the Decoder interface, and the decoders WordPiece, BPEDecoder, Fuse and
// Sequence. The rest is our own: sugarme 0.3.0 strips no accents where strip_accents is null,
// ignores fuse_unk, byte_fallback, ignore_merges and regular expressions in Replace, panics on JSON
// of the wrong type, and allocates some hundred times per token.
package tokenizer
