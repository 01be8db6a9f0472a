package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Problem is an error in the value of a key or flag: one sentence, without a position.
type Problem struct {
	Key  string // key in scenario files, such as key-size
	Text string
}

// Error returns the sentence.
func (p *Problem) Error() string { return p.Text }

func newProblem(key, format string, args ...any) *Problem {
	return &Problem{Key: key, Text: fmt.Sprintf(format, args...)}
}

// suggest does the same as text.Suggest, but first looks the word up in keyAliases.
func suggest(word string, known []string) string {
	if key := keyAliases[word]; slices.Contains(known, key) {
		return text.Suggest(key, known)
	}
	return text.Suggest(word, known)
}

// keyAliases maps names in flags and other tools to the keys in scenario files.
var keyAliases = map[string]string{
	"conns":           "connections",
	"val-size":        "value-size",
	"key-space-size":  "key-space",
	"sequential-keys": "distribution",
	"ops":             "total",
	"operations":      "mix",
	"warm-up":         "warmup",
	"iterations":      "repeats",
}

// keyNamer determines how messages name parameters: by flags if the values are from flags, and by
// keys if the values are from a file. A message format contains the parameter's key in angle
// brackets, such as <key-size>, and keyNamer replaces it with the name. The zero value uses the
// keys themselves.
type keyNamer struct {
	// name returns the name for a key. If name is nil, the key itself is used.
	name func(key string) string
	// forFlags is set if values follow their names on the command line. It selects the wording of
	// messages about values that are out of bounds.
	forFlags bool
}

func (w keyNamer) keyName(key string) string {
	if w.name == nil {
		return key
	}
	return w.name(key)
}

// fill replaces the keys in a message format with names. Call it before user input is inserted.
func (w keyNamer) fill(format string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		key, after, _ := strings.Cut(rest, ">")
		b.WriteString(w.keyName(key))
		format = after
	}
}

func (w keyNamer) sprintf(format string, args ...any) string {
	return fmt.Sprintf(w.fill(format), args...)
}

// outOfBounds returns a sentence that says that a value is out of bounds. bounds is a phrase such
// as "at least 1".
func (w keyNamer) outOfBounds(key, value, bounds string) string {
	if w.forFlags {
		return fmt.Sprintf("%s must be %s, not %s", w.keyName(key), bounds, value)
	}
	return fmt.Sprintf("%s is %s, but must be %s", w.keyName(key), value, bounds)
}

// checks collects the errors in a load.
type checks struct {
	namer    keyNamer
	apps     []application.Application
	problems []*Problem
}

// add adds an error. It replaces <key> in the format with the name of that parameter.
func (c *checks) add(key, format string, args ...any) {
	c.problems = append(c.problems, newProblem(key, c.namer.fill(format), args...))
}

// addOutOfBounds adds an error for a value that is out of bounds.
func (c *checks) addOutOfBounds(key, value, bounds string) {
	c.problems = append(c.problems, &Problem{Key: key, Text: c.namer.outOfBounds(key, value, bounds)})
}

// hasProblem reports whether any of the keys already has an error.
func (c *checks) hasProblem(keys ...string) bool {
	return slices.ContainsFunc(c.problems, func(p *Problem) bool { return slices.Contains(keys, p.Key) })
}

func (c *checks) checkSize(key string, n, limit int) {
	switch {
	case n < 0:
		c.add(key, "<"+key+"> is %d, but must be at least 0", n)
	case n > limit:
		c.add(key, "<"+key+"> is %s, but must be at most %s", text.FormatSize(n), text.FormatSize(limit))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
