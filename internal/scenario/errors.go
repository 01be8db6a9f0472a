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

// Error is an error at a position in a scenario file, described by a sentence.
type Error struct {
	File         string
	Line, Column int // start at 1; Line is 0 for an error that has no position
	Text         string
}

// Error returns FILE:LINE:COLUMN, followed by the sentence.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Errors holds all errors in a scenario file, in the order of the file.
type Errors []*Error

// maxShownErrors is the maximum number of errors that are printed.
const maxShownErrors = 10

// Error returns the sentences, one per line.
func (es Errors) Error() string { return strings.Join(es.Lines(), "\n") }

// Lines returns one line per error. If there are more than maxShownErrors errors, the last line
// states how many errors were omitted.
func (es Errors) Lines() []string {
	var lines []string
	for i, e := range es {
		if i == maxShownErrors {
			lines = append(lines, fmt.Sprintf("and %d more", len(es)-maxShownErrors))
			break
		}
		lines = append(lines, e.Error())
	}
	return lines
}

// maxCollectedErrors is the maximum number of errors that are collected.
const maxCollectedErrors = 1000

// add adds an error unless the list already contains an equal one. A default can cause the same
// error in every trial that uses the default.
func (es *Errors) add(e *Error) {
	if len(*es) < maxCollectedErrors && !slices.ContainsFunc(*es, func(old *Error) bool { return *old == *e }) {
		*es = append(*es, e)
	}
}

func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}

// position is the origin of a value: a position in a scenario file (lines and columns start at 1),
// an assignment with --set, or another flag.
type position struct {
	line, column int
	assignment   string // KEY=VALUE
	flag         string // --NAME VALUE, from a flag that chooses the server
}

func (p position) errorf(format string, args ...any) *Error {
	e := &Error{Line: p.line, Column: p.column, Text: fmt.Sprintf(format, args...)}
	if p.assignment != "" {
		e.File = "--set " + p.assignment
	} else if p.flag != "" {
		e.File = p.flag
	}
	return e
}

func (p position) isAfter(q position) bool {
	return p.line > q.line || p.line == q.line && p.column > q.column
}

// suggestOrList returns the result of suggest, or a list of all known words if none is similar.
func suggestOrList(word string, known []string) string {
	return cmp.Or(suggest(word, known), "; choose one of "+strings.Join(known, ", "))
}

// suggest returns "; did you mean" and the known word that is most similar to the given word, or ""
// if no known word is similar.
func suggest(word string, known []string) string {
	best := keyAliases[word]
	if !slices.Contains(known, best) {
		best = Nearest(word, known)
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

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
