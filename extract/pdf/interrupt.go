package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	_ "unsafe" // for go:linkname
)

// pdfiumModule is PDFium as go-pdfium embeds it. It is nil if another release has no such variable.
//
//go:linkname pdfiumModule github.com/klippa-app/go-pdfium/internal/pdfium_wasm.Module
var pdfiumModule []byte

const (
	// interruptName is the function that interruptible adds to a module.
	interruptName = "interrupt"
	// yieldName is a function without an effect, by which a module leaves its code for a moment.
	yieldName = "emscripten_notify_memory_growth"
	// yieldEvery is the number of rounds of loops between two yields: some 20 µs.
	yieldEvery = 4096
)

// interruptible adds a check to each loop of a WebAssembly module. Every yieldEvery rounds the
// module calls a function of the host, which lets the garbage collector and other goroutines run,
// and traps if its function interruptName was called meanwhile. wazero's own check, by
// WithCloseOnContextDone, calls the host in each round, which makes PDFium three times slower.
//
// The check uses two new globals and a new function, all behind those of the module, so that its
// indexes stay as they are:
//
//	loop
//	  rounds--
//	  if rounds == 0 { yield() }
//
//	func yield()     { host(0); rounds = yieldEvery; if interrupted { trap } }
//	func interrupt() { interrupted = 1 }
func interruptible(module []byte) (_ []byte, err error) {
	defer func() {
		if e := recover(); e != nil { // of wasmReader
			err = fmt.Errorf("pdf: module not understood: %v", e)
		}
	}()
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(module, []byte(header)) {
		return nil, errors.New("pdf: not a WebAssembly module")
	}
	out := append(make([]byte, 0, len(module)+len(module)/8), header...)
	r := &wasmReader{b: module[len(header):]}
	var types, functions, globals uint64 // so many there are: the indexes of new ones
	host := -1                           // index of the function yieldName
	for len(r.b) > 0 {
		id := r.byte()
		s := &wasmReader{b: r.bytes(r.uint())}
		var section []byte
		switch id {
		case sectionType:
			types = s.uint()
			section = appendUint(nil, types+1)
			section = append(section, s.b...)
			section = append(section, 0x60, 0, 0) // func()
		case sectionImport:
			section = s.b
			host, functions, globals = s.imports()
		case sectionFunction:
			n := s.uint()
			section = appendUint(nil, n+2)
			section = append(section, s.b...)
			section = appendUint(section, types, types)
			functions += n
		case sectionGlobal:
			n := s.uint()
			section = appendUint(nil, n+2)
			section = append(section, s.b...)
			section = append(section, typeI32, mutable, opI32Const)
			section = append(appendInt(section, yieldEvery), opEnd, typeI32, mutable, opI32Const, 0, opEnd)
			globals += n
		case sectionExport:
			section = appendUint(nil, s.uint()+1)
			section = append(section, s.b...)
			section = appendUint(section, uint64(len(interruptName)))
			section = append(append(section, interruptName...), 0)
			section = appendUint(section, functions+1)
		case sectionCode:
			if host < 0 {
				return nil, fmt.Errorf("pdf: the module does not import %s", yieldName)
			}
			section = s.code(uint64(host), functions, globals)
		default:
			section = s.b
		}
		out = append(out, id)
		out = appendUint(out, uint64(len(section)))
		out = append(out, section...)
	}
	return out, nil
}

// Values of the binary format of WebAssembly.
const (
	sectionType, sectionImport, sectionFunction, sectionGlobal, sectionExport, sectionCode = 1, 2, 3, 6, 7, 10

	typeI32, mutable, noResult                              = 0x7f, 1, 0x40
	importFunction, importTable, importMemory, importGlobal = 0, 1, 2, 3

	opUnreachable, opLoop, opIf, opEnd, opCall               = 0x00, 0x03, 0x04, 0x0b, 0x10
	opGlobalGet, opGlobalSet, opI32Const, opI32Eqz, opI32Sub = 0x23, 0x24, 0x41, 0x45, 0x6b
)

// imports returns the index of the function yieldName, and the numbers of imported functions and
// globals.
func (r *wasmReader) imports() (host int, functions, globals uint64) {
	host = -1
	s := &wasmReader{b: r.b}
	for range s.uint() {
		s.bytes(s.uint())
		name := s.bytes(s.uint())
		switch kind := s.byte(); kind {
		case importFunction:
			s.uint()
			if string(name) == yieldName {
				host = int(functions)
			}
			functions++
		case importTable:
			s.byte()
			s.limits()
		case importMemory:
			s.limits()
		case importGlobal:
			s.bytes(2)
			globals++
		default:
			panic(fmt.Sprintf("import of kind %d", kind))
		}
	}
	return host, functions, globals
}

// code returns the section of code with checks in its loops and the new functions.
func (r *wasmReader) code(host, functions, globals uint64) []byte {
	yield, rounds, interrupted := functions, globals, globals+1
	check := appendUint([]byte{opGlobalGet}, rounds)
	check = appendUint(append(check, opI32Const, 1, opI32Sub, opGlobalSet), rounds)
	check = appendUint(append(check, opGlobalGet), rounds)
	check = appendUint(append(check, opI32Eqz, opIf, noResult, opCall), yield)
	check = append(check, opEnd)

	n := r.uint()
	out := appendUint(make([]byte, 0, len(r.b)+len(r.b)/8), n+2)
	var body []byte
	for range n {
		f := &wasmReader{b: r.bytes(r.uint())}
		whole := f.b
		for range f.uint() { // local variables
			f.uint()
			f.byte()
		}
		body = body[:0]
		for begin := 0; ; {
			at := len(whole)
			if len(f.b) > 0 {
				loop := f.b[0] == opLoop
				f.instruction()
				if at -= len(f.b); !loop {
					continue
				}
			}
			body = append(body, whole[begin:at]...)
			if begin = at; len(f.b) == 0 {
				break
			}
			body = append(body, check...)
		}
		out = append(appendUint(out, uint64(len(body))), body...)
	}
	body = appendUint([]byte{0, opI32Const, 0, opCall}, host)
	body = appendUint(append(appendInt(append(body, opI32Const), yieldEvery), opGlobalSet), rounds)
	body = appendUint(append(body, opGlobalGet), interrupted)
	body = append(body, opIf, noResult, opUnreachable, opEnd, opEnd)
	out = append(appendUint(out, uint64(len(body))), body...)
	body = appendUint([]byte{0, opI32Const, 1, opGlobalSet}, interrupted)
	body = append(body, opEnd)
	return append(appendUint(out, uint64(len(body))), body...)
}

// wasmReader reads the binary format of WebAssembly. It panics where there are fewer bytes than
// expected, or unknown ones.
type wasmReader struct{ b []byte }

func (r *wasmReader) byte() byte {
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *wasmReader) bytes(n uint64) []byte {
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *wasmReader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		panic("broken number")
	}
	r.b = r.b[n:]
	return v
}

// skip skips n numbers of any type.
func (r *wasmReader) skip(n int) {
	for range n {
		for r.byte() >= 0x80 {
		}
	}
}

func (r *wasmReader) limits() {
	r.skip(2 + int(r.b[0]&1))
}

// instruction skips an instruction with its immediate operands.
func (r *wasmReader) instruction() {
	switch op := r.byte(); {
	case op == 0x0e: // br_table
		r.skip(int(r.uint()) + 1)
	case op == 0x1c: // select with types
		r.skip(int(r.uint()))
	case op == 0x1f: // try_table
		r.skip(1)
		for range r.uint() {
			r.skip(2 - int(r.byte()>>1)) // catch and catch_ref have a tag
		}
	case op == 0x43: // f32.const
		r.bytes(4)
	case op == 0x44: // f64.const
		r.bytes(8)
	case op == 0xfc:
		sub := r.uint()
		if sub >= uint64(len(operandsFC)) {
			panic(fmt.Sprintf("instruction 0xfc %d", sub))
		}
		r.skip(int(operandsFC[sub] - '0'))
	case op == 0xfd:
		r.vector()
	default:
		n := operands[op]
		if n == 0 {
			panic(fmt.Sprintf("instruction %#x", op))
		}
		r.skip(int(n) - 1)
	}
}

// vector skips the operands of a vector instruction.
func (r *wasmReader) vector() {
	switch sub := r.uint(); {
	case sub <= 11, sub == 92, sub == 93: // loads and stores
		r.skip(2)
	case sub == 12, sub == 13: // v128.const, i8x16.shuffle
		r.bytes(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		r.skip(2)
		r.byte()
	case sub > 0x113:
		panic(fmt.Sprintf("instruction 0xfd %d", sub))
	}
}

// operandsFC are the numbers of operands of the instructions with the prefix 0xfc.
const operandsFC = "000000002121212111"

// operands are the numbers of operands of instructions, plus one; 0 for unknown ones.
var operands = func() (n [256]uint8) {
	for _, s := range []struct{ from, to, n int }{
		{0x00, 0x01, 0}, {0x02, 0x04, 1}, {0x05, 0x05, 0}, {0x08, 0x08, 1}, {0x0a, 0x0b, 0}, {0x0c, 0x0d, 1}, {0x0f, 0x0f, 0}, {0x10, 0x10, 1}, {0x11, 0x11, 2},
		{0x1a, 0x1b, 0}, {0x20, 0x26, 1}, {0x28, 0x3e, 2}, {0x3f, 0x42, 1}, {0x45, 0xc4, 0}, {0xd0, 0xd0, 1}, {0xd1, 0xd1, 0}, {0xd2, 0xd2, 1},
	} {
		for op := s.from; op <= s.to; op++ {
			n[op] = uint8(s.n) + 1
		}
	}
	return n
}()

func appendUint(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// appendInt appends a signed number.
func appendInt(b []byte, v int64) []byte {
	for v < -64 || v > 63 {
		b = append(b, byte(v)&0x7f|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}
