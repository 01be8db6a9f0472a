package scenario

import (
	"fmt"
	"strings"
)

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

// flagWords are those of flags that all commands have.
func flagWords() words {
	keys := parametersByKey()
	return words{behind: true, name: func(key string) string {
		if p, ok := keys[key]; ok {
			return "--" + p.FlagName()
		}
		return key
	}}
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
