package scenario

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// axis is a key with a list of values. A trial is expanded into one trial per value.
type axis struct {
	key    string
	pos    file.Position
	values []*file.Node
}

// choice holds one value for each axis of a trial. The field layer contains the values, and the
// field labels contains their texts in the trial's name.
type choice struct {
	layer  layer
	axes   []string // keys of the axes, in order
	labels map[string]string
}

// fill replaces each {key} in a template with the value of that key. It also returns the set of
// keys that the template uses.
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
			return label(s.Value, 1)
		}
		if s, ok := c.layer[key]; ok && s.Value.Kind == file.Scalar && key != "name" && key != "user" {
			return label(s.Value, 1)
		}
		if wrong == nil {
			wrong = fmt.Errorf("%s in %q does not refer to a key that has a single value in this trial%s", braced, template, suggest(key, sortedKeys(c.layer)))
		}
		return ""
	})
	return out, used, wrong
}

// title returns the trial's name: the filled template, followed by the values of the axes that the
// template does not mention.
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
	if !validName.MatchString(name) {
		return "", fmt.Errorf("%s", invalidNameText(name))
	}
	return name, nil
}

// builder builds the trial for one choice.
type builder struct {
	*fileParser
	*draft
	choice   // its layer holds all values that apply to the trial
	pos      file.Position
	ownLayer layer // the trial's own values, without defaults
	// givenLayer holds the values that the user gave, without the values of a preset.
	givenLayer layer
	trial      Trial

	capabilities    kv.Capabilities // the store's capabilities, if the store is known
	unscaled        *Unscaled
	adjustmentNotes []string // notes about values that were changed
}

// warnAboutTrial adds a warning. The warning begins with the trial's name, except in a command,
// which has only one trial.
func (b *builder) warnAboutTrial(name, text string) {
	if b.commandCluster == nil {
		text = "trial " + name + ": " + text
	}
	b.warn("%s", text)
}

// keyPosition returns the position of a key's value in the file. If the file does not give the key,
// keyPosition returns the position of the related key that makes the value matter. For example,
// "arrival" is the related key of "rate". If the file does not give the related key either,
// keyPosition returns the position of the trial. The key of a mapping's entry is written with a
// dot, for example watch.streams.
func (b *builder) keyPosition(key string) file.Position {
	cause := map[string]string{"rate": "arrival", "key-size": "key-space", "operation": "mix"}[key]
	key, part, _ := strings.Cut(key, ".")
	for _, k := range []string{key, cause} {
		if s, ok := b.layer[k]; ok {
			return s.Value.Field(part).Pos
		}
	}
	return b.pos
}
