package scenario

import (
	"fmt"
	"strings"
)

// Options change a scenario while its file is read. The zero value changes nothing.
type Options struct {
	// Scale multiplies the totals, the number of clients, the number of connections, and the size
	// of each key space that depends on a total. 0 means no scaling. CheckScale checks the value.
	Scale float64
	// Store, Version and Exec replace the values in the file's defaults, as the flags --store
	// NAME[@VERSION] and --exec of `run` do. They are rejected for a trial that sets these values
	// itself. Exec is also rejected if the trials use several stores.
	Store, Version, Exec string
	// Assignments holds assignments of parameters. They override the values of all trials.
	Assignments []Assignment
	// RepeatRule is the rule for repeating trials. It overrides the rule in the file.
	RepeatRule RepeatRule
	// RunningCluster is the running cluster that all trials use instead of the clusters in the
	// file, or nil.
	RunningCluster *RunningCluster
}

// Assignment is a parameter with its value, such as clients=200 or watch.streams=4. Key is the
// parameter's key in scenario files. If the parameter is an entry of a mapping, Key consists of the
// mapping's key, a dot and the entry's key. Value is written as in files and flags.
type Assignment struct{ Key, Value string }

// ParseAssignment parses KEY=VALUE.
func ParseAssignment(s string) (Assignment, error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return Assignment{}, fmt.Errorf("%q has no value; write KEY=VALUE, for example clients=200", leadingWord(s))
	}
	return Assignment{key, value}, nil
}

// String returns the assignment in the form that ParseAssignment accepts.
func (a Assignment) String() string { return a.Key + "=" + a.Value }

// leadingWord returns the start of a text, up to the first character that keys cannot contain.
// "..." replaces the rest, because it may contain a password.
func leadingWord(s string) string {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(characters, r) })
	if end < 0 {
		return s
	}
	return s[:end] + "..."
}
