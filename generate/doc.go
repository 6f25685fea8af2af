// Package generate produces text with a decoder: greedy, by beam search or by sampling, with stop
// strings, forced tokens, chat templates and streaming.
//
// Load opens a checkpoint; Defaults are the options of its generation_config.json, and Generate
// continues a prompt, or rewrites it where the checkpoint has an encoder. Requests of several
// callers run as one batch without padding, which is several times as fast as one after another. A
// result does not depend on what else is in the batch, except where two tokens are equally likely
// up to rounding.
//
// Greedy and beam search give the ids that transformers gives. Sampling draws from the same
// distribution with its own random numbers.
package generate
