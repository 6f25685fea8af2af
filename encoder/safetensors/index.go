package safetensors

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"example.com/searchd/internal/strictjson"
)

// Shards returns the names of the files that an index lists, sorted.
func Shards(index []byte) ([]string, error) {
	weightMap, err := decodeIndex(index)
	return slices.Compact(slices.Sorted(maps.Values(weightMap))), err
}

// decodeIndex decodes the weight_map of an index: tensor name to file name. File names must lie in
// the same folder.
func decodeIndex(raw []byte) (map[string]string, error) {
	r := strictjson.New(raw)
	weightMap := map[string]string{}
	err := r.Object(func(key string) error {
		if key != "weight_map" {
			_, err := r.Raw()
			return err
		}
		return r.Pairs(func(tensor string) error {
			file, err := r.String()
			if err != nil {
				return fmt.Errorf("%s: %w", tensor, err)
			}
			if _, dup := weightMap[tensor]; dup {
				return fmt.Errorf("tensor %q occurs twice", tensor)
			}
			if len(weightMap) == MaxTensors {
				return fmt.Errorf("more than %d tensors", MaxTensors)
			}
			if !fs.ValidPath(file) || strings.ContainsAny(file, `/\`) || !strings.HasSuffix(file, ".safetensors") {
				return fmt.Errorf("tensor %q lies in %q, want the name of a .safetensors file in the same folder", tensor, file)
			}
			weightMap[tensor] = file
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrFormat, err)
	}
	if len(weightMap) == 0 {
		return nil, fmt.Errorf("%w: no weight_map", ErrFormat)
	}
	return weightMap, nil
}

// readLimited reads a whole file of at most limit bytes.
func readLimited(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s is longer than %d bytes", ErrFormat, name, limit)
	}
	return b, nil
}
