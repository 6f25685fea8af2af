package pdf

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// endless is a module with a function that loops for ever. It imports a function and a global, and
// has a global of its own, which the function returns.
var endless = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x09\x02\x60\x01\x7f\x00\x60\x00\x01\x7f" + // types: func(i32), func() i32
	"\x02\x27\x01\x03env\x1femscripten_notify_memory_growth\x00\x00" +
	"\x03\x03\x02\x01\x01" +
	"\x06\x06\x01\x7f\x00\x41\x2a\x0b" + // a constant of 42
	"\x07\x11\x02\x06answer\x00\x01\x04spin\x00\x02" +
	"\x0a\x12\x02\x04\x00\x23\x00\x0b" + // answer
	"\x0b\x01\x01\x7f\x03\x40\x0c\x00\x0b\x41\x00\x0b") // spin

// An endless loop lets the garbage collector run, and ends when it is interrupted.
func TestInterruptible(t *testing.T) {
	module, err := interruptible(endless)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig())
	defer rt.Close(ctx)
	yielded := make(chan struct{})
	yields := 0
	_, err = rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(int32) {
		if yields++; yields == 3 {
			close(yielded)
		}
	}).Export(yieldName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := rt.Instantiate(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.ExportedFunction("answer").Call(ctx); err != nil || got[0] != 42 {
		t.Errorf("answer = %v, %v", got, err)
	}
	interrupt := m.ExportedFunction(interruptName)
	ended := make(chan error)
	go func() {
		_, err := m.ExportedFunction("spin").Call(ctx)
		ended <- err
	}()
	<-yielded
	runtime.GC()
	if _, err := interrupt.Call(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("the loop ended with %v", err)
	}
}

// PDFium itself is understood, whatever the release; what is not a module is refused.
func TestInterruptibleModules(t *testing.T) {
	module, err := interruptible(pdfiumModule)
	if err != nil {
		t.Fatal(err)
	}
	if added := len(module) - len(pdfiumModule); added < 100_000 {
		t.Errorf("%d bytes of checks", added)
	}
	whole := 0 // sections
	for n := range len(endless) {
		if _, err := interruptible(endless[:n]); err == nil {
			whole++
		}
	}
	if whole != 6 {
		t.Errorf("%d of the beginnings of a module with six sections are understood", whole)
	}
	unknown := []byte(strings.Replace(string(endless), "\x0c\x00\x0b", "\xff\x00\x0b", 1))
	if _, err := interruptible(unknown); err == nil {
		t.Error("an unknown instruction is understood")
	}
}
