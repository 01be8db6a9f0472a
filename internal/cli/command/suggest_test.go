package command

import "testing"

func TestSuggest(t *testing.T) {
	for word, want := range map[string]string{
		"clinets": "; did you mean --clients?", "CLIENTS": "; did you mean --clients?", "key_size": "; did you mean --key-size?",
		"connections": "; did you mean --conns?", "zzz": "", "c": "",
	} {
		if got := Suggest(word, []string{"clients", "conns", "key-size"}, "--"); got != want {
			t.Errorf("%q: %q, not %q", word, got, want)
		}
	}
}
