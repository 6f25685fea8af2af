package extract

import (
	"strings"
	"testing"
)

// What opens a letter or a chat is no title, and stays in the text.
func TestOpeningLines(t *testing.T) {
	for _, first := range []string{
		"Sehr geehrte Frau Müller,", "Dear Mrs Smith,", "Dear Sir or Madam:", "Dear Mrs. Smith", "Sehr geehrte Damen und Herren", "Liebe Oma!", "Lieber Herr Dr. Weiß,", "Chère Madame,", "Hi Anna,", "hello,", "Guten Tag Herr Koch,",
		"To whom it may concern:", "Уважаемая Анна Петровна!", "Estimado señor García:", "Bonjour,", "Gentile Dottore,",
		"[05/01/2024, 18:02:11] Mum: Did you water the beans?",
		"\u200e[1/5/24, 6:02:11\u202fPM] Mum: Did you water the beans?",
		"05.01.24, 18:02 - Mum: Did you water the beans?",
		"1/5/24, 6:02 PM - Mum: Did you water the beans?",
		"05.01.24, 18:02 - Messages are encrypted.\n05.01.24, 18:03 - Mum: Did you?",
		"[18:02] <anna> Did you water the beans?",
		"2024-01-05 18:02 <anna> Did you?",
	} {
		text := first + "\n\nSome words."
		out := readBytes(t, []byte(text), "Allotment 2024.txt", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != "Allotment 2024" || out.docs[0].Fields["text"] != text {
			t.Errorf("%q: %v, want the title of the file and all of the text", first, out)
		}
	}
	for _, first := range []string{
		"Watering the beds", "Dearth of water", "Liebesbriefe", "Carolina beans", "Hello, World!", "Hi-Fi systems", "Hallo Welt", "Beste Reisezeit: Mai", "Cara: a life", "Cherry trees", "Beste Pizza in Berlin", "Liebe in Zeiten der Cholera", "Dear Allotment",
		"2024-01-05 Meeting", "05.01.24, 18:02 - Meeting with Anna", "[05/01/2024] Minutes", "10:30 Standup", "Dear Data, Dear Reader: two books",
	} {
		out := readBytes(t, []byte(first+"\n\nSome words."), "a.txt", Options{})
		if len(out.docs) != 1 || out.docs[0].Fields["title"] != first || strings.Contains(out.docs[0].Fields["text"].(string), first) {
			t.Errorf("%q: %v, want it as the title", first, out)
		}
	}
	if out := readBytes(t, []byte(`{\rtf1 Dear Mrs Smith,\par\par The roof leaks.}`), "Roof.rtf", Options{}); len(out.docs) != 1 || out.docs[0].Fields["title"] != "Roof" {
		t.Errorf("%v, want the title Roof", out)
	}
}
