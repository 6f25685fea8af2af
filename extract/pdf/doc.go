// Package pdf reads the text of PDF files by PDFium, which is compiled to WebAssembly and runs in a
// sandbox: a hostile file cannot reach the memory, the files or the network of this process, and is
// stopped by limits on its time and memory. PDFium is started by the first file.
//
// PDFium gives characters with their places. This package makes words, lines, columns and
// paragraphs of them, adds the values of form fields and annotations, and names in a warning each
// page of which something could not be read.
package pdf
