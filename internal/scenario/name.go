package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxName is how long a name may be in bytes: it becomes a folder's name.
const maxName = 120

// maxLabel is how long a value may be inside a name; a longer one is numbered.
const maxLabel = 40

var (
	nameable    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=+,-]{0,119}$`)
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
)

func notNameable(name string) string {
	return fmt.Sprintf("the name %q does not fit a folder; use at most %d letters, digits and . _ = + , - and begin with a letter or digit", name, maxName)
}

// label is a value as it stands in a name; number is its place in the list.
func label(n *node, number int) string {
	text := strings.NewReplacer("%", "pct").Replace(flat(n))
	text = strings.Trim(unfit.ReplaceAllString(text, "-"), "-")
	if text == "" || len(text) > maxLabel {
		return strconv.Itoa(number)
	}
	return text
}

func flat(n *node) string {
	var parts []string
	switch n.kind {
	case mapping:
		for _, p := range n.pairs {
			parts = append(parts, p.key+"="+flat(p.value))
		}
	case list:
		for _, item := range n.items {
			parts = append(parts, flat(item))
		}
	default:
		return n.text
	}
	return strings.Join(parts, "+")
}

// fill replaces every {key} of a template by that key's value, and reports
// which keys it used.
func fill(template string, c choice, all layer) (string, map[string]bool, error) {
	used := make(map[string]bool)
	var wrong error
	out := placeholder.ReplaceAllStringFunc(template, func(braced string) string {
		key := strings.TrimSpace(braced[1 : len(braced)-1])
		used[key] = true
		if l, ok := c.labels[key]; ok {
			return l
		}
		if s, ok := all["label"]; ok && key == "store" {
			return label(s.value, 1)
		}
		if s, ok := all[key]; ok && s.value.kind == scalar && key != "name" && key != "user" {
			return label(s.value, 1)
		}
		if wrong == nil {
			wrong = fmt.Errorf("%s in %q stands for no single value of this trial%s", braced, template, suggest(key, sortedKeys(all)))
		}
		return ""
	})
	return out, used, wrong
}

// title is the trial's name: its template filled, and what the template does
// not mention of its matrix and steps added.
func title(template string, c choice, all layer) (string, error) {
	if template == "" {
		template = "mixed"
		if _, ok := all["operation"]; ok {
			template = "{operation}"
		}
	}
	name, used, err := fill(template, c, all)
	if err != nil {
		return "", err
	}
	for _, k := range c.keys {
		if !used[k] {
			name += "-" + k + "=" + c.labels[k]
		}
	}
	if !nameable.MatchString(name) {
		return "", fmt.Errorf("%s", notNameable(name))
	}
	return name, nil
}
