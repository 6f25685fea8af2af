// Package gguf shows a model file of llama.cpp and Ollama as the folder of a checkpoint: config,
// tokenizer, modules and weights in the layout of sentence-transformers, so that the encoder has
// one way of reading models.
//
//	fsys, err := gguf.Open(os.DirFS("models"), "embeddinggemma-300m-q8_0.gguf")
//	model, err := encoder.Load(fsys, encoder.Options{})
//
// Weights become float32 when they are read, a part at a time; quantised blocks of the types in
// [Types] are expanded. Names, the order of rows and offsets of norms are turned back into what the
// published checkpoint has. The tokenizer is written anew from the vocabulary, the scores or the
// merges.
//
// # Caveats
//
// A GGUF file has no prompts, except that those of EmbeddingGemma are known; it does not say
// whether a WordPiece vocabulary is cased, so texts are put into lower case, as llama.cpp does; and
// the converter drops the bias of NomicBERT's mixtures of experts. Files in parts are refused.
package gguf
