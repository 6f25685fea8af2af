package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// decodeIndex decodes the weight_map of an index: tensor name to file name. File names must lie in the same folder.
func decodeIndex(raw []byte) (map[string]string, error) {
	d := &headerDecoder{dec: json.NewDecoder(bytes.NewReader(raw))}
	weightMap := map[string]string{}
	found := false
	err := d.object(func(key string) error {
		if key != "weight_map" {
			var skip json.RawMessage
			if err := d.dec.Decode(&skip); err != nil {
				return fmt.Errorf("%w: %s: %v", ErrFormat, key, err)
			}
			return nil
		}
		if found {
			return fmt.Errorf("%w: weight_map occurs twice", ErrFormat)
		}
		found = true
		return d.object(func(tensor string) error {
			file, err := d.str("weight_map " + tensor)
			if err != nil {
				return err
			}
			if _, dup := weightMap[tensor]; dup {
				return fmt.Errorf("%w: weight_map: tensor %q occurs twice", ErrFormat, tensor)
			}
			if len(weightMap) == MaxTensors {
				return fmt.Errorf("%w: weight_map: more than %d tensors", ErrFormat, MaxTensors)
			}
			if !fs.ValidPath(file) || strings.ContainsAny(file, `/\`) || !strings.HasSuffix(file, ".safetensors") {
				return fmt.Errorf("%w: weight_map: tensor %q lies in %q, want the name of a .safetensors file in the same folder", ErrFormat, tensor, file)
			}
			weightMap[tensor] = file
			return nil
		})
	})
	if err != nil {
		return nil, err
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
