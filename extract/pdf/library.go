package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// pageSize is the unit in which the memory of WebAssembly grows.
const pageSize = 64 << 10

// start compiles PDFium, or loads it from the cache, for at most n files at a time. It gets no
// access to files, clock and environment.
func start(cache string, memory int64, n int) (pdfium.Pool, error) {
	p, err := compile(cache, memory, n)
	if err == nil || cache == "" {
		return p, err
	}
	// The cache may be damaged: make it anew, or do without.
	old, _ := filepath.Glob(filepath.Join(cache, "wazero-*"))
	for _, dir := range old {
		if os.RemoveAll(dir) != nil {
			break
		}
	}
	if p, err = compile(cache, memory, n); err == nil {
		return p, nil
	}
	return compile("", memory, n)
}

func compile(cache string, memory int64, n int) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(uint32(min(memory/pageSize, 1<<16)))
	init := webassembly.InitWithWASM
	module, err := interruptible(pdfiumModule)
	if err != nil { // another release of go-pdfium: as fast as it can be without
		init, config = webassembly.Init, config.WithCloseOnContextDone(true)
	}
	if cache != "" {
		c, err := wazero.NewCompilationCacheWithDir(cache)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(c)
	}
	p, err := init(webassembly.Config{
		WASM: module, Context: experimental.WithMemoryAllocator(context.Background(), newAllocator()),
		MaxIdle: 1, MaxTotal: n, RuntimeConfig: config,
		FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
	})
	debug.FreeOSMemory() // compiling leaves some 300 MB of garbage
	return p, err
}

// CacheIn returns the folder for [Reader.Cache] of a program with that data folder; without one, a
// folder in the user's cache. It is empty if there is none.
func CacheIn(data string) string {
	if data != "" {
		return filepath.Join(data, "pdfium")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "searchd", "pdfium")
}

// instance is a PDFium with its own memory. It reads one file, so that files cannot influence each
// other.
//
// It calls the functions of PDFium by name, as go-pdfium's own calls allocate several objects for
// each character.
type instance struct {
	pdfium    pdfium.Pdfium
	lookup    reflect.Value // func(name string) with a result that can be called
	functions map[string]function
	names     map[string]uint64 // addresses of strings in memory
	memory    api.Memory
	glyphs    func() map[string]map[rune]string // see glyphNames
	scratch   uint32                            // scratchSize bytes in memory, for results
	interrupt function                          // see interruptible; nil if calls end with their context
	stack     [8]uint64
	err       error // of the first call that failed; later calls do nothing
}

type function interface {
	CallWithStack(ctx context.Context, stack []uint64) error
}

const scratchSize = 64 << 10

var errInterface = errors.New("pdf: this release of go-pdfium does not give access to the functions of PDFium")

func newInstance(p pdfium.Pdfium) (*instance, error) {
	i := &instance{pdfium: p, functions: map[string]function{}, names: map[string]uint64{}}
	impl := reflect.ValueOf(p.GetImplementation())
	if i.lookup = impl.MethodByName("Fn"); !i.lookup.IsValid() {
		return nil, errInterface
	}
	if impl.Kind() != reflect.Pointer || !impl.Elem().FieldByName("Module").IsValid() {
		return nil, errInterface
	}
	memory := reflect.ValueOf(impl.Elem().FieldByName("Module").Interface()).MethodByName("Memory")
	if !memory.IsValid() {
		return nil, errInterface
	}
	var ok bool
	if i.memory, ok = memory.Call(nil)[0].Interface().(api.Memory); !ok {
		return nil, errInterface
	}
	i.interrupt, _ = i.function(interruptName)
	i.scratch = i.malloc(scratchSize)
	return i, i.err
}

// function returns a function of the module, if it has one of that name.
func (i *instance) function(name string) (function, bool) {
	v := i.lookup.Call([]reflect.Value{reflect.ValueOf(name)})[0]
	if v.IsNil() {
		return nil, false
	}
	f, ok := v.Interface().(function)
	return f, ok
}

// call calls a function of PDFium and returns its result; it stops when ctx ends. Watching ctx
// costs more than fast functions do; see quick.
func (i *instance) call(ctx context.Context, name string, args ...uint64) uint64 {
	if i.err != nil {
		return 0
	}
	f, ok := i.functions[name]
	if !ok {
		if f, ok = i.function(name); !ok {
			i.err = fmt.Errorf("%w: %s", errInterface, name)
			return 0
		}
		i.functions[name] = f
	}
	if i.interrupt != nil && ctx.Done() != nil {
		ended := make(chan struct{})
		unwatch := context.AfterFunc(ctx, func() {
			defer close(ended)
			_ = i.interrupt.CallWithStack(context.Background(), nil)
		})
		defer func() {
			if !unwatch() {
				<-ended
				i.err = ctx.Err() // the instance is of no use any more
			}
		}()
	}
	i.stack[0] = 0
	copy(i.stack[:], args)
	if i.err = f.CallWithStack(ctx, i.stack[:]); i.err != nil {
		return 0
	}
	return i.stack[0]
}

// quick is call for functions whose time does not depend on the file.
func (i *instance) quick(name string, args ...uint64) uint64 {
	return i.call(context.Background(), name, args...)
}

func (i *instance) malloc(n int) uint32 {
	p := uint32(i.quick("malloc", uint64(n)))
	if p == 0 && i.err == nil {
		i.err = errMemory
	}
	return p
}

// float32 returns the n-th number in scratch.
func (i *instance) float32(n int) float64 {
	v, _ := i.memory.ReadFloat32Le(i.scratch + 4*uint32(n))
	return finite(float64(v))
}

func (i *instance) float64(n int) float64 {
	v, _ := i.memory.ReadFloat64Le(i.scratch + 8*uint32(n))
	return finite(v)
}

// finite replaces numbers that would spoil sums and comparisons.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.Abs(v) > 1e6 {
		return 0
	}
	return v
}

// text calls a function whose last two arguments are a buffer for UTF-16 and its size, and which
// returns the size that it needs.
func (i *instance) text(ctx context.Context, name string, args ...uint64) string {
	n := uint32(i.call(ctx, name, append(args, 0, 0)...))
	if n <= 2 || n > maxString || i.err != nil {
		return ""
	}
	at, free := i.scratch, false
	if n > scratchSize {
		at, free = i.malloc(int(n)), true
	}
	n = min(n, uint32(i.call(ctx, name, append(args, uint64(at), uint64(n))...)))
	b, _ := i.memory.Read(at, n)
	units := make([]uint16, len(b)/2)
	for k := range units {
		units[k] = uint16(b[2*k]) | uint16(b[2*k+1])<<8
	}
	if free {
		i.quick("free", uint64(at))
	}
	for len(units) > 0 && units[len(units)-1] == 0 {
		units = units[:len(units)-1]
	}
	return string(utf16.Decode(units))
}

// maxString limits a string outside of pages.
const maxString = 4 << 20
