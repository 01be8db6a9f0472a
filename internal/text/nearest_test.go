package text

import "testing"

func TestSimilarWordsAreSuggested(t *testing.T) {
	known := []string{"clients", "connections", "value-size", "p99"}
	for word, want := range map[string]string{
		"clietns":    `; did you mean "clients"?`,
		"Value_Size": `; did you mean "value-size"?`,
		"p9":         `; did you mean "p99"?`,
		"x":          "; choose one of clients, connections, value-size, p99",
		"":           "; choose one of clients, connections, value-size, p99",
	} {
		if got := SuggestOrList(word, known); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
