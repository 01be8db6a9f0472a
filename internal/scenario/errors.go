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

// Problem is a sentence, without a position, about an error in the value of a key (or of
// its flag).
type Problem struct {
	Key  string // as in scenario files, such as key-size
	Text string
}

// Error returns the sentence.
func (p *Problem) Error() string { return p.Text }

func problem(key, format string, args ...any) *Problem {
	return &Problem{Key: key, Text: fmt.Sprintf(format, args...)}
}

// Error is one sentence about a place in a scenario file.
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

// Errors holds all errors of a scenario file, in the file's order.
type Errors []*Error

// shown is the highest number of sentences that are printed.
const shown = 10

// Error returns the sentences, one per line.
func (es Errors) Error() string { return strings.Join(es.Lines(), "\n") }

// Lines returns the sentences, at most ten.
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

// kept is the highest number of sentences that are collected.
const kept = 1000

// add adds an error unless the same place already has it, because a default is checked once
// for each trial that uses it.
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

// place is a position in a scenario file, from 1, or an assignment of --set.
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

// suggest returns a question with the known word that is most similar to the given one, or
// "" if none is similar.
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

// Nearest returns the known word that a misspelt one most likely means, or "" if none is
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

// flagNames maps names used elsewhere to the keys of files.
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

// words returns names of parameters for sentences: flags for values from flags, keys for
// values from files. Sentences contain parameters as keys in angle brackets, such as
// <key-size>, which are replaced by these names. The zero value uses keys as names, as in
// files.
type words struct {
	// name returns the name of a key; nil means the key itself.
	name func(key string) string
	// behind reports that a value follows its name on the command line, so that the name
	// need not begin the sentence.
	behind bool
}

func (w words) nameOf(key string) string {
	if w.name == nil {
		return key
	}
	return w.name(key)
}

// fill replaces the keys in a sentence by their names. It must be called before users'
// texts are inserted.
func (w words) fill(format string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		key, after, _ := strings.Cut(rest, ">")
		b.WriteString(w.nameOf(key))
		format = after
	}
}

func (w words) sprintf(format string, args ...any) string {
	return fmt.Sprintf(w.fill(format), args...)
}

// outOf returns the sentence that a value is out of bounds. bounds is a phrase such as "at
// least 1".
func (w words) outOf(key, value, bounds string) string {
	if w.behind {
		return fmt.Sprintf("%s must be %s, not %s", w.nameOf(key), bounds, value)
	}
	return fmt.Sprintf("%s is %s and must be %s", w.nameOf(key), value, bounds)
}

// checks collects the errors of a load.
type checks struct {
	words words
	apps  []application.Application
	found []*Problem
}

// add adds an error; <key> in its format is replaced by the parameter's name.
func (c *checks) add(key, format string, args ...any) {
	c.found = append(c.found, problem(key, c.words.fill(format), args...))
}

// outOf adds the error that a value is out of bounds.
func (c *checks) outOf(key, value, bounds string) {
	c.found = append(c.found, &Problem{Key: key, Text: c.words.outOf(key, value, bounds)})
}

// wrong reports whether there are errors about any of the keys.
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
