package scenario

import (
	"fmt"
	"strings"
)

// Options change a file as it is read. The zero value changes nothing.
type Options struct {
	// Scale multiplies totals, clients and connections, and key spaces that depend on a
	// total; 0 means no scaling. See CheckScale.
	Scale float64
	// Store and its Version, and Exec, replace values of the file's defaults, like run's
	// flags --store NAME[@VERSION] and --exec. They are refused for trials with their own
	// values, and Exec is refused for several stores.
	Store, Version, Exec string
	// Set holds parameters that replace those of all trials.
	Set []Assignment
	// Until is the rule for repeating trials, instead of the file's rule.
	Until Until
	// Attach is the running cluster for all trials, instead of the file's clusters; nil to
	// use those.
	Attach *Attach
}

// Assignment is a parameter with its value, such as clients=200 or watch.streams=4: the key
// of scenario files, with a point before the key within a mapping, and the value as written
// in files and flags.
type Assignment struct{ Key, Value string }

// ParseAssignment parses KEY=VALUE.
func ParseAssignment(s string) (Assignment, error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return Assignment{}, fmt.Errorf("%q sets nothing; write KEY=VALUE, as in clients=200", leadingWord(s))
	}
	return Assignment{key, value}, nil
}

// String returns the assignment in the format of ParseAssignment.
func (a Assignment) String() string { return a.Key + "=" + a.Value }

// leadingWord returns the beginning of a text up to the first character that keys cannot
// contain, followed by "..." in place of the rest, which may be a password.
func leadingWord(s string) string {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(characters, r) })
	if end < 0 {
		return s
	}
	return s[:end] + "..."
}
