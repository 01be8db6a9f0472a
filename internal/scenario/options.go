package scenario

import (
	"fmt"
	"strings"
)

// Options change a file as it is read. The zero value changes nothing.
type Options struct {
	// Scale multiplies totals, clients and connections, and the key spaces that
	// follow a total; 0 is no scaling. See CheckScale.
	Scale float64
	// Store and its Version, and Exec, replace what the file's defaults say, as
	// run's flags --store NAME[@VERSION] and --exec do. A trial that says its
	// own is refused, and so is one Exec for several stores.
	Store, Version, Exec string
	// Set are parameters that all trials have instead of their own.
	Set []Assignment
	// Until says how long trials are repeated, in place of what the file says.
	Until Until
	// Attach is the running cluster that all trials are on, in place of those that
	// the file has started; nil for those.
	Attach *Attach
}

// Assignment is a parameter with its value, as in clients=200 or
// watch.streams=4: the key that scenario files have, with a point before the key
// within a mapping, and the value as files and flags write it.
type Assignment struct{ Key, Value string }

// ParseAssignment reads KEY=VALUE.
func ParseAssignment(s string) (Assignment, error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return Assignment{}, fmt.Errorf("%q sets nothing; write KEY=VALUE, as in clients=200", leadingWord(s))
	}
	return Assignment{key, value}, nil
}

// String returns the assignment as ParseAssignment reads it.
func (a Assignment) String() string { return a.Key + "=" + a.Value }

// leadingWord returns what a text has before the first character that no key has, with
// "..." in place of the rest, which may be a password.
func leadingWord(s string) string {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune(characters, r) })
	if end < 0 {
		return s
	}
	return s[:end] + "..."
}
