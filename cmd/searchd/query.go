package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.com/searchd/client"
	"example.com/searchd/cmd/internal/command"
	"example.com/searchd/cmd/internal/ingest"
	"example.com/searchd/internal/settings"
	"example.com/searchd/search"
)

func newQueryCommand() *cobra.Command {
	var f queryFlags
	cmd := &cobra.Command{
		Use: "query TEXT...", SuggestFor: []string{"search", "find", "ask"}, Short: "Search a data folder or a running server",
		Long: `Search a data folder or a running server. In TEXT, "two words" is a phrase that must occur, and -word or -"two words"
leaves out the documents that have it; quote TEXT for the shell: searchd query '"emergency fund" -mortgage'. Where TEXT begins with a
minus, put -- in front of it.`,
		Args: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 && f.vector == "" {
				return errors.New("name what to look for")
			}
			if f.open == 1 && len(words) > 1 && cmd.Flags().Changed("open") {
				if _, err := strconv.Atoi(words[0]); err == nil {
					return fmt.Errorf("--open %[1]s: write --open=%[1]s for the hit of this number, or TEXT in quotes", words[0])
				}
			}
			return nil
		}, PreRunE: command.Fill,
	}
	f.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q, err := f.query(cmd, strings.Join(args, " "))
		if err != nil {
			return err
		}
		ask := f.askFolder
		if f.server != "" {
			ask = f.askServer
		}
		r, err := ask(cmd, q)
		if err != nil {
			return err
		}
		if f.asJSON {
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetEscapeHTML(false)
			err = enc.Encode(r)
		} else {
			printHits(cmd.OutOrStdout(), r, stylesFor(cmd.OutOrStdout()))
		}
		if err != nil || f.open == 0 {
			return err
		}
		return f.openHit(r)
	}
	return cmd
}

// queryFlags are a query and where to send it.
type queryFlags struct {
	engineFlags
	server, key, collection                      string
	mode, filter, operator, fields, facets, sort string
	spelling, cutoff                             string
	limit, open                                  int
	vector                                       string
	alpha, diversity                             float64
	boosts                                       []string
	asJSON, explain, sentences                   bool
}

func (f *queryFlags) add(cmd *cobra.Command) {
	f.addServer(cmd)
	cmd.Flags().StringVar(&f.mode, "mode", "hybrid", "hybrid, semantic or keyword")
	settings.Choices(cmd, "mode", "hybrid", "semantic", "keyword")
	cmd.Flags().StringVar(&f.vector, "vector", "", "`file` with the vector of the query as a JSON list of numbers or a line of searchd embed, - for standard input; TEXT may be left out")
	cmd.Flags().StringVar(&f.filter, "filter", "", "e.g. \"lang = 'en' AND year >= 2020\"")
	cmd.Flags().StringVar(&f.operator, "operator", "or", "or, and: whether keyword search requires all the words")
	settings.Choices(cmd, "operator", "or", "and")
	cmd.Flags().StringVar(&f.spelling, "spelling", "corrected", "corrected, exact: whether misspelled words are corrected")
	settings.Choices(cmd, "spelling", "corrected", "exact")
	cmd.Flags().StringVar(&f.fields, "fields", "", "text fields of keyword search, e.g. title^3,body (default: all)")
	cmd.Flags().StringVar(&f.facets, "facets", "", "fields whose values are counted, e.g. lang,year")
	cmd.Flags().StringVar(&f.sort, "sort", "", "sort by fields instead of by score, e.g. year:desc,_score or location(48.9,2.34) for the nearest first")
	cmd.Flags().StringArrayVar(&f.boosts, "boost", nil, `raises or lowers hits, as JSON: '{"field": "published", "origin": "now", "scale": "30d", "weight": 0.5}'; can be given again`)
	cmd.Flags().StringVar(&f.cutoff, "cutoff", "auto", "auto, none, or the score below which results are less relevant: not counted, listed after the others")
	settings.Choices(cmd, "cutoff", "auto", "none")
	cmd.Flags().IntVar(&f.limit, "limit", search.DefaultLimit, "hits")
	cmd.Flags().Float64Var(&f.alpha, "alpha", 0, "weight of vector search, 0 to 1 (default: chosen for the query)")
	cmd.Flags().Float64Var(&f.diversity, "diversity", 0, "0 to 1: how far down hits similar to earlier ones move")
	cmd.Flags().IntVar(&f.open, "open", 0, "open the file of the first hit with the desktop's program; --open=3: of the third")
	cmd.Flags().Lookup("open").NoOptDefVal = "1"
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the answer as JSON")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "explain each score")
	cmd.Flags().BoolVar(&f.sentences, "sentences", false, "show the sentence of each hit that is nearest to the query")
}

// addServer adds the flags that say where to search.
func (f *queryFlags) addServer(cmd *cobra.Command) {
	f.engineFlags.add(cmd)
	cmd.Flags().StringVar(&f.server, "server", "", "URL of a running server, instead of --data")
	cmd.Flags().StringVar(&f.key, "key", "", "API key of the server")
	cmd.Flags().StringVar(&f.collection, "collection", "", "collection (default: the only one, or docs)")
}

// query returns the query of the flags.
func (f *queryFlags) query(cmd *cobra.Command, text string) (search.Query, error) {
	if f.open < 0 || f.open > max(f.limit, 1) {
		return search.Query{}, fmt.Errorf("--open: got %d, allowed: the number of a hit, 1 to %d", f.open, f.limit)
	}
	q := search.Query{Q: text, Mode: search.Mode(f.mode), Filter: f.filter, Limit: &f.limit, Explain: f.explain, Sentences: f.sentences}
	q.Spelling, q.Operator, q.Fields, q.Diversity = search.Spelling(f.spelling), f.operator, list(f.fields), f.diversity
	for _, name := range list(f.facets) {
		q.Facets = append(q.Facets, search.Facet{Field: name})
	}
	if f.sort != "" {
		var err error
		if q.Sort, err = search.ParseSortKeys(f.sort); err != nil {
			return q, err
		}
	}
	if f.vector != "" {
		if err := readVector(cmd, f.vector, &q); err != nil {
			return q, err
		}
	}
	for _, text := range f.boosts {
		var b search.Boost
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&b); err != nil || dec.More() {
			return q, fmt.Errorf(`--boost: got %q, allowed: an object such as {"filter": "kind = 'faq'", "weight": 0.3}, with filter or field, origin, scale and weight`, text)
		}
		q.Boosts = append(q.Boosts, b)
	}
	q.Cutoff = search.Cutoff(f.cutoff)
	if !f.asJSON {
		q.LessRelevant = lessRelevant
	}
	if cmd.Flags().Changed("alpha") {
		q.Alpha = &f.alpha
	}
	return q, nil
}

// maxVectorFile is longer than any vector.
const maxVectorFile = 1 << 20

// readVector reads the vector of --vector: a list, or a line of `searchd embed`.
func readVector(cmd *cobra.Command, path string, q *search.Query) error {
	in := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("--vector: %w", err)
		}
		defer file.Close()
		in = file
	}
	var raw json.RawMessage
	err := json.NewDecoder(io.LimitReader(in, maxVectorFile)).Decode(&raw)
	if err == nil && raw[0] == '{' {
		var line struct{ Embedding []float32 }
		err = json.Unmarshal(raw, &line)
		q.Vector = line.Embedding
	} else if err == nil {
		err = json.Unmarshal(raw, &q.Vector)
	}
	if err != nil || len(q.Vector) == 0 {
		return fmt.Errorf("--vector: %s has no list of numbers, such as [0.1, -0.2]: %w", path, err)
	}
	return nil
}

// lessRelevant is how many results below the cutoff are named.
const lessRelevant = 3

// list splits the value of a flag at commas.
func list(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func (f *queryFlags) askFolder(cmd *cobra.Command, q search.Query) (*search.Response, error) {
	e, err := f.openToRead(cmd)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if f.collection, err = folderCollection(cmd.Context(), e, f.collection); err != nil {
		return nil, err
	}
	return e.Search(cmd.Context(), f.collection, q)
}

func (f *queryFlags) askServer(cmd *cobra.Command, q search.Query) (*search.Response, error) {
	c, err := f.openCollection(cmd)
	if err != nil {
		return nil, err
	}
	return remoteEngine{c}.Search(cmd.Context(), f.collection, q)
}

// openCollection opens the server and finds the collection of the flags.
func (f *queryFlags) openCollection(cmd *cobra.Command) (*client.Client, error) {
	c, err := openServer(f.server, f.key)
	if err != nil {
		return nil, err
	}
	find := func(name string) error { _, err := c.Collection(cmd.Context(), name); return err }
	f.collection, err = onlyCollection(f.collection, "the server", find, func() (names []string, err error) {
		list, err := c.Collections(cmd.Context())
		for _, x := range list {
			names = append(names, x.Name)
		}
		return names, err
	})
	return c, err
}

// convert turns a value into another of the same JSON shape.
func convert(from, to any) error {
	b, err := json.Marshal(from)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // large integers stay exact
	return dec.Decode(to)
}

// openHit opens the file that a hit came from, or the address in its field url.
func (f *queryFlags) openHit(r *search.Response) error {
	if len(r.Hits) < f.open {
		return fmt.Errorf("--open: there is no hit %d", f.open)
	}
	h := r.Hits[f.open-1]
	target, err := ingest.FindFile(f.data, f.server, f.collection, h.ID)
	if err != nil {
		_, fields := fieldsInOrder(h.Document)
		address, _ := fields["url"].(string)
		if !webScheme.MatchString(address) {
			return fmt.Errorf("--open: hit %d: %w, and it has no url", f.open, err)
		}
		target = address
	}
	if err := openOnDesktop(target); err != nil {
		return fmt.Errorf("--open: %s: %w", target, err)
	}
	return nil
}

// openOnDesktop opens a file or address with the program that the desktop has for it. A variable
// for tests.
var openOnDesktop = func(target string) error {
	name, args := "xdg-open", []string{target}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", target}
	}
	if err := exec.Command(name, args...).Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
