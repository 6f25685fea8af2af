package encoder

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestEncodeTokensPoolsToEncode(t *testing.T) {
	m := mustLoad(t, variant(t, nil), Options{})
	r, err := m.EncodeTokens(t.Context(), sampleTexts, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := encode(t, m, EncodeOptions{}, sampleTexts...)
	again, err := m.EncodeTokensIDs(t.Context(), r.IDs, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := m.Info().Hidden
	for n := range sampleTexts {
		mean := make([]float32, h)
		for j := range mean {
			sum := 0.0
			for i := j; i < len(r.States[n]); i += h {
				sum += float64(r.States[n][i])
			}
			mean[j] = float32(sum / float64(len(r.IDs[n])))
		}
		got := m.finishVectors(mean, 1, 0)[0]
		if d := difference(got, want[n]); d > 1e-6 {
			t.Errorf("text %d: the mean of the token states differs from the vector by %v", n, d)
		}
		if d := difference(again.States[n], r.States[n]); d > 1e-6 {
			t.Errorf("text %d: from ids the states differ by %v", n, d)
		}
	}
	if _, err := m.EncodeTokensIDs(t.Context(), [][]int32{{99999}}, EncodeOptions{}); !errors.Is(err, ErrTokenID) {
		t.Errorf("an id outside the vocabulary: %v, want ErrTokenID", err)
	}
}

func TestContributions(t *testing.T) {
	a, b := "A quick brown fox.", "The dog sleeps in the sun, and the fox does not."
	for _, mode := range []string{"mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "mean+max"} {
		t.Run(mode, func(t *testing.T) {
			m := mustLoad(t, variant(t, nil), Options{Pooling: mode})
			v := encode(t, m, EncodeOptions{}, a, b)
			want := dot64(v[0], v[1]) / math.Sqrt(dot64(v[0], v[0])*dot64(v[1], v[1]))
			c, err := m.Contributions(t.Context(), [2]string{a, b}, [2]string{})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(c.Cosine-want) > 1e-6 {
				t.Errorf("cosine %v, the vectors have %v", c.Cosine, want)
			}
			for i, s := range c.Texts {
				sum := 0.0
				for _, share := range s.Shares {
					sum += share
				}
				if math.Abs(sum-want) > 1e-6 || len(s.Shares) != len(s.Tokens) || len(s.Tokens) != len(s.Spans) {
					t.Errorf("text %d: the shares sum to %v, want the cosine %v", i, sum, want)
				}
			}
		})
	}
	dense := variant(t, map[string]string{"modules.json": fmt.Sprintf(oldModules, `,{"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"}`),
		"2_Dense/config.json":       `{"in_features":48,"out_features":8,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`,
		"2_Dense/model.safetensors": string(draw(1, map[string][]int{"linear.weight": {8, 48}}).safetensors())})
	if _, err := mustLoad(t, dense, Options{}).Contributions(t.Context(), [2]string{a, b}, [2]string{}); !errors.Is(err, ErrInspect) {
		t.Errorf("with a Dense module: %v, want ErrInspect", err)
	}
}

// A prompt that the pooling leaves out has no share.
func TestContributionsLeaveThePromptOut(t *testing.T) {
	fsys := variant(t, map[string]string{
		"config_sentence_transformers.json": `{"prompts":{"query":"the quick fox: "}}`,
		"1_Pooling/config.json":             edited(t, "1_Pooling/config.json", map[string]string{"include_prompt": "false"})})
	m := mustLoad(t, fsys, Options{})
	q, d := encode(t, m, EncodeOptions{Prompt: "query"}, "sun"), encode(t, m, EncodeOptions{}, "sun")
	c, err := m.Contributions(t.Context(), [2]string{"sun", "sun"}, [2]string{"query", ""})
	if err != nil {
		t.Fatal(err)
	}
	want := dot64(q[0], d[0]) / math.Sqrt(dot64(q[0], q[0])*dot64(d[0], d[0]))
	if math.Abs(c.Cosine-want) > 1e-6 || c.Texts[0].Shares[1] != 0 {
		t.Errorf("cosine %v, want %v; shares %v", c.Cosine, want, c.Texts[0].Shares)
	}
}

func TestSigmoid(t *testing.T) {
	for _, test := range []struct {
		config string
		want   bool
		err    string
	}{
		{`{}`, true, ""},
		{`{"sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity"}`, false, ""},
		{`{"sbert_ce_default_activation_function":null}`, true, ""},
		{`{"sentence_transformers":{"activation_fn":"torch.nn.modules.linear.Identity","version":"4.0.1"}}`, false, ""},
		{`{"sentence_transformers":{"version":"4.0.1"}}`, true, ""},
		{`{"sentence_transformers":{"activation_fn":"torch.nn.modules.activation.Sigmoid"},"sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity"}`, true, ""},
		{`{"sentence_transformers":{"activation_fn":"evil.Exec"}}`, true, "evil.Exec"},
	} {
		f, err := parseFields("config.json", []byte(test.config))
		if err != nil {
			t.Fatal(err)
		}
		got := readSigmoid(f)
		if err := f.err(); got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %t, %v, want %t, %q", test.config, got, err, test.want, test.err)
		}
	}
}
