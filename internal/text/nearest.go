package text

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known word that the user most likely intended, or "" if no known word is
// similar.
func Nearest(word string, known []string) string {
	plain := strings.ReplaceAll(strings.ToLower(word), "_", "-")
	best, distance := "", 3
	for _, k := range known {
		d := levenshtein.ComputeDistance(plain, k)
		if d < distance && d*2 <= len(k) {
			best, distance = k, d
		}
	}
	return best
}

// Suggest returns "; did you mean" and the known word that is most similar to the given word, or ""
// if no known word is similar.
func Suggest(word string, known []string) string {
	best := Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// SuggestOrList returns the end of a message about an unknown word: a question with the most
// similar known word, or a list of all known words if none is similar.
func SuggestOrList(word string, known []string) string {
	return cmp.Or(Suggest(word, known), "; choose one of "+strings.Join(known, ", "))
}
