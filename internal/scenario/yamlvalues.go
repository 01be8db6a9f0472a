package scenario

import (
	"errors"
	"strconv"
	"strings"
)

// The readers of one value: each returns what the value is, or an *Error at
// its place that names the key.

func (n *node) word(key string) (string, error) {
	if n.kind != scalar {
		return "", n.at.errorf("%s must be text, not %s", key, n.what())
	}
	return n.text, nil
}

// filled is a word that is not empty and keeps to one line.
func (n *node) filled(key string) (string, error) {
	s, err := n.word(key)
	if err == nil && strings.TrimSpace(s) == "" {
		return "", n.at.errorf("%s is empty; give it a value or leave the key out", key)
	}
	if err == nil && strings.ContainsAny(s, "\n\r") {
		return "", n.at.errorf("%s must be text of one line", key)
	}
	return s, err
}

func (n *node) whole(key string) (int64, error) {
	if n.kind != scalar || n.quoted {
		return 0, n.at.errorf("%s must be a whole number, not %s", key, n.what())
	}
	i, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 10, 64)
	if err == nil {
		return i, nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, n.at.errorf("%s is %s, which is far too large", key, n.text)
	}
	return 0, n.at.errorf("%s must be a whole number, not %s", key, n.what())
}

func (n *node) number(key string) (float64, error) {
	if n.kind == scalar && !n.quoted {
		if f, err := ParseNumber(n.text); err == nil {
			return f, nil
		}
	}
	return 0, n.at.errorf("%s must be a number, not %s", key, n.what())
}

func (n *node) boolean(key string) (bool, error) {
	if n.kind == scalar && !n.quoted {
		switch n.text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, n.at.errorf("%s must be true or false, not %s", key, n.what())
}

// wholeInto and booleanInto keep what they read.
func (n *node) wholeInto(key string, to *int) error {
	i, err := n.whole(key)
	*to = int(i)
	return err
}

func (n *node) booleanInto(key string, to *bool) (err error) {
	*to, err = n.boolean(key)
	return err
}

// parsed reads a word with one of the parsers; a sentence of theirs that does
// not name the key gets its name put before it.
func parsed[T any](n *node, key string, parse func(string) (T, error)) (T, error) {
	var zero T
	if n.kind != scalar {
		return zero, n.at.errorf("%s must be a single value, not %s", key, n.what())
	}
	v, err := parse(n.text)
	switch {
	case err == nil:
		return v, nil
	case strings.Contains(err.Error(), key):
		return zero, n.at.errorf("%v", err)
	}
	return zero, n.at.errorf("%s: %v", key, err)
}

// words reads a list of words, or one word that commas divide.
func (n *node) words(key string) ([]string, error) {
	if n.kind == scalar {
		var out []string
		for part := range strings.SplitSeq(n.text, ",") {
			out = append(out, strings.TrimSpace(part))
		}
		return out, nil
	}
	if n.kind != list {
		return nil, n.at.errorf("%s must be a list, not %s", key, n.what())
	}
	var out []string
	for _, item := range n.items {
		s, err := item.filled("an entry of " + key)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// fields reads a mapping whose keys are known, in the order written.
func (n *node) fields(key string, readers map[string]func(*node) error) error {
	if n.kind != mapping {
		return n.at.errorf("%s must be a mapping, not %s", key, n.what())
	}
	for _, p := range n.pairs {
		read, ok := readers[p.key]
		if !ok {
			return p.at.errorf("%s has no key %q%s", key, p.key, suggest(p.key, sortedKeys(readers)))
		}
		if err := read(p.value); err != nil {
			return err
		}
	}
	return nil
}
