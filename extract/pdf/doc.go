// Package pdf reads PDF files with PDFium, which is compiled to WebAssembly and runs in a sandbox:
// a hostile file cannot reach the memory, the files or the network of this process, and has limits
// on time and memory. The first file starts PDFium.
//
// PDFium returns characters with their positions. This package makes words, lines, columns and
// paragraphs of them, adds the values of form fields and annotations, and names in a warning each
// page that could not be read completely.
package pdf
