package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Problem says what is wrong with the value of one key (or of the flag that
// stands for it), in one sentence that names no position.
type Problem struct {
	Key  string // as scenario files spell it, such as key-size
	Text string
}

// Error returns the sentence.
func (p *Problem) Error() string { return p.Text }

func problem(key, format string, args ...any) *Problem {
	return &Problem{Key: key, Text: fmt.Sprintf(format, args...)}
}

// Error is one sentence about one place of a scenario file.
type Error struct {
	File         string
	Line, Column int // from 1; Line is 0 for the file as a whole
	Text         string
}

// Error returns FILE:LINE:COLUMN and the sentence.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Errors is everything that is wrong with a scenario file, in the file's order.
type Errors []*Error

// shown is how many sentences are worth reading at once.
const shown = 10

// Error returns the sentences, a line each.
func (es Errors) Error() string { return strings.Join(es.Lines(), "\n") }

// Lines returns the sentences, ten at most.
func (es Errors) Lines() []string {
	var lines []string
	for i, e := range es {
		if i == shown {
			lines = append(lines, fmt.Sprintf("and %d more", len(es)-shown))
			break
		}
		lines = append(lines, e.Error())
	}
	return lines
}

// kept is how many sentences are gathered.
const kept = 1000

// add takes one more, unless the same was said of the same place: a default is
// looked at once for each trial that uses it.
func (es *Errors) add(e *Error) {
	if len(*es) < kept && !slices.ContainsFunc(*es, func(old *Error) bool { return *old == *e }) {
		*es = append(*es, e)
	}
}

func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}

// place is a position in a scenario file, from 1, or an assignment that was set.
type place struct {
	line, column int
	set          string // KEY=VALUE
}

func (p place) errorf(format string, args ...any) *Error {
	e := &Error{Line: p.line, Column: p.column, Text: fmt.Sprintf(format, args...)}
	if p.set != "" {
		e.File = "--set " + p.set
	}
	return e
}

func (p place) after(q place) bool {
	return p.line > q.line || p.line == q.line && p.column > q.column
}

// suggest returns a question that names the known word nearest to the given
// one, or nothing when none is near.
func suggest(word string, known []string) string {
	best := flagNames[word]
	if !slices.Contains(known, best) {
		best = Nearest(word, known)
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// Nearest returns the known word that a misspelt one most likely means, or
// nothing when none is near.
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

// flagNames maps what a key is called elsewhere to what files call it.
var flagNames = map[string]string{
	"conns":           "connections",
	"val-size":        "value-size",
	"key-space-size":  "key-space",
	"sequential-keys": "distribution",
	"ops":             "total",
	"operations":      "mix",
	"warm-up":         "warmup",
	"iterations":      "repeats",
}

// words are the names of parameters in sentences: a flag's where the value came
// from a flag, a key's where it came from a file. Sentences name a parameter by its
// key in angle brackets, as <key-size>, which is replaced by that name. The zero
// value has the keys as names, as files do.
type words struct {
	// name returns what a key is called; nil leaves it as it is.
	name func(key string) string
	// behind says that a value stands behind its name on the command line, and
	// need not come first in a sentence.
	behind bool
}

func (w words) of(key string) string {
	if w.name == nil {
		return key
	}
	return w.name(key)
}

// fill replaces the keys in a sentence by their names. It must be done before
// what users wrote comes into it.
func (w words) fill(format string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		key, after, _ := strings.Cut(rest, ">")
		b.WriteString(w.of(key))
		format = after
	}
}

func (w words) sprintf(format string, args ...any) string {
	return fmt.Sprintf(w.fill(format), args...)
}

// outOf says that a value is not within its bounds, which must be a phrase such
// as "at least 1".
func (w words) outOf(key, value, bounds string) string {
	if w.behind {
		return fmt.Sprintf("%s must be %s, not %s", w.of(key), bounds, value)
	}
	return fmt.Sprintf("%s is %s and must be %s", w.of(key), value, bounds)
}

// checks collects what is wrong with a load.
type checks struct {
	words words
	apps  []application.Application
	found []*Problem
}

// add takes a sentence, in which <key> stands for what the writer calls it.
func (c *checks) add(key, format string, args ...any) {
	c.found = append(c.found, problem(key, c.words.fill(format), args...))
}

// outOf says that a value is not within its bounds.
func (c *checks) outOf(key, value, bounds string) {
	c.found = append(c.found, &Problem{Key: key, Text: c.words.outOf(key, value, bounds)})
}

// wrong reports whether something was found about any of the keys.
func (c *checks) wrong(keys ...string) bool {
	return slices.ContainsFunc(c.found, func(p *Problem) bool { return slices.Contains(keys, p.Key) })
}

func (c *checks) size(key string, n, most int) {
	switch {
	case n < 0:
		c.add(key, "<"+key+"> is %d and cannot be negative", n)
	case n > most:
		c.add(key, "<"+key+"> is %s and can be at most %s", text.FormatSize(n), text.FormatSize(most))
	}
}
