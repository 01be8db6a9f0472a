package scenario

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// axis is a key with the values it takes in turn.
type axis struct {
	key    string
	at     place
	values []*node
}

// choice is one value of each axis of a trial, as a layer and as labels.
type choice struct {
	layer  layer
	axes   []string // their keys, in their order
	labels map[string]string
}

// fill replaces every {key} of a template by that key's value, and reports
// which keys it used.
func (c *choice) fill(template string) (string, map[string]bool, error) {
	used := make(map[string]bool)
	var wrong error
	out := placeholder.ReplaceAllStringFunc(template, func(braced string) string {
		key := strings.TrimSpace(braced[1 : len(braced)-1])
		used[key] = true
		if l, ok := c.labels[key]; ok {
			return l
		}
		if s, ok := c.layer["label"]; ok && key == "store" {
			return label(s.value, 1)
		}
		if s, ok := c.layer[key]; ok && s.value.kind == scalar && key != "name" && key != "user" {
			return label(s.value, 1)
		}
		if wrong == nil {
			wrong = fmt.Errorf("%s in %q stands for no single value of this trial%s", braced, template, suggest(key, sortedKeys(c.layer)))
		}
		return ""
	})
	return out, used, wrong
}

// title is the trial's name: its template filled, and what the template does
// not mention of its matrix and steps added.
func (c *choice) title(template string) (string, error) {
	if template == "" {
		template = "mixed"
		if _, ok := c.layer["operation"]; ok {
			template = "{operation}"
		}
	}
	name, used, err := c.fill(template)
	if err != nil {
		return "", err
	}
	for _, k := range c.axes {
		if !used[k] {
			name += "-" + k + "=" + c.labels[k]
		}
	}
	if !nameable.MatchString(name) {
		return "", fmt.Errorf("%s", notNameable(name))
	}
	return name, nil
}

// builder makes one trial of one choice.
type builder struct {
	*fileParser
	*draft
	choice // its layer is all that was given
	at     place
	own    layer // what the trial itself says, without defaults
	// asked is what somebody gave: all but what a preset says.
	asked layer
	trial Trial

	can        kv.Capabilities // the store's, if it is known
	scaledFrom *Scaled
	said       []string // notes on what was changed
}

// warnOf adds a warning, with the trial's name where there can be others.
func (b *builder) warnOf(name, text string) {
	if b.running == nil {
		text = "trial " + name + ": " + text
	}
	b.warn("%s", text)
}

// place is where a key's value was given. When it was not, it is where the key
// stands that made it matter, or the trial. The key of a mapping within a trial
// is written with a point, as in watch.streams.
func (b *builder) place(key string) place {
	cause := map[string]string{"rate": "arrival", "key-size": "key-space", "operation": "mix"}[key]
	key, part, _ := strings.Cut(key, ".")
	for _, k := range []string{key, cause} {
		if s, ok := b.layer[k]; ok {
			return s.value.field(part).at
		}
	}
	return b.at
}
