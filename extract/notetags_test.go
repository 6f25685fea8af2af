package extract

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestNoteTags(t *testing.T) {
	for _, tt := range []struct{ in, tags string }{
		{"---\ntags: diary, weekend\n---\nText", "[diary weekend]"},
		{"---\ntags: \"#diary #weekend\"\n---\nText", "[diary weekend]"},
		{"---\ntags: [diary, 'week end'\n  x: y: z\n---\nText", "[diary week end]"},
		{"---\ntags: home improvement\n---\nText", "[home improvement]"},
		{"---\ntags: [\"#a b\", C, 3]\n---\nText #c, #A, #Dd", "[a b C 3 Dd]"},
		{"---\nTags: a\n---\nText #d", "<nil>"},
		{"---\ntags: 2024\n---\nText #diary", "[2024 diary]"},
		{"---\ntags:\n  a: b\n---\nText #diary", "map[a:b]"},
		{"---\ntags: \"[[Diary]], ,#x y\"\n---\nText", "[Diary x y]"},
		{"Paint #home/kitchen, #to-do and #Übung_2. (#no) #home/kitchen #HOME/Kitchen", "[home/kitchen to-do Übung_2]"},
		{"#diary #weekend\n\n- #todo call Anna\n- [ ] buy #paint!\n> #quoted\n\n| a | #cell |\n|---|---|\n", "[diary weekend todo paint quoted cell]"},
		{"#todo call Anna\n#Book", "[todo Book]"},
		{"## Log #work\n\n# Title\n\n*#no* **see #bold**", "[work bold]"},
		{"今天 #日记。明天 #日记2 #हिन्दी", "[日记 日记2 हिन्दी]"},
		{"#[[two words]] and #[[Home|home]]", "[two words home]"},
		{"tags:: diary, [[Two words]]\n\n- a\n  tags:: #x #yy\n- `tags:: no`", "[yy diary Two words x]"},
		{"Fixes #123, GH-#12a and a#b, C#, x.html#top, http://x.org/#y <http://x.org/ #z>", "<nil>"},
		{"Colours #fff #A1B2C3 #12345678 #abcd, #a, #1, #_, #-- #/x and \\#escaped", "<nil>"},
		{"`#code`\n\n```\n#fenced\n```\n\n    #indented\n\n<div class=\"#x\">\n #html\n</div>", "<nil>"},
		{"#include <a.h>\n#define MAX 3\n#ifdef X\n#endif\n#!/bin/sh", "<nil>"},
		{"#Getting started\n\nText\n\n#Usage\n\nText #kept", "[kept]"},
		{"#install\n\nText\n\n##from source\n\nText #kept", "[kept]"},
		{"#main{ } #a.bc #x=1 #fn(x) #a:b [see](x.md #y) [[Note #head]]", "<nil>"},
	} {
		out := readBytes(t, []byte(tt.in), "a.md", Options{})
		if len(out.docs) != 1 || fmt.Sprint(out.docs[0].Fields["tags"]) != tt.tags {
			t.Errorf("%q: %v\nwant the tags %s", tt.in, out, tt.tags)
		}
	}
	out := readBytes(t, []byte("---\nkeywords: soil, clay\ncategories: Garden\ntag: x\nTags: y\nauthors: A, B\n---\nDig #here."), "a.md", Options{})
	want := map[string]any{"keywords": []any{"soil", "clay"}, "categories": []any{"Garden"}, "tag": []any{"x"}, "Tags": []any{"y", "here"}, "authors": "A, B", "text": "Dig #here."}
	for key, value := range want {
		if got := out.docs[0].Fields[key]; !reflect.DeepEqual(got, value) {
			t.Errorf("%s = %v, want %v", key, got, value)
		}
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "word #tag%d\n\n", i)
	}
	if tags, _ := readBytes(t, []byte(many.String()), "a.md", Options{}).docs[0].Fields["tags"].([]any); len(tags) != 256 {
		t.Errorf("%d tags of 5000, want %d", len(tags), 256)
	}
}
