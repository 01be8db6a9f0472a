package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Encode encodes the load as JSON, with the keys and values of scenario files. It omits the seed
// and all values that have no meaning for the load. Load does not implement json.Marshaler, because
// every struct that embeds Load would inherit the method and be encoded as a load.
func (l *Load) Encode() ([]byte, error) {
	var top, entries []string // top-level fields, and the entries of the mapping that is being written
	currentGroup := ""
	closeGroup := func() {
		if currentGroup != "" {
			top = append(top, fmt.Sprintf("%q:{%s}", currentGroup, strings.Join(entries, ",")))
		}
		entries = nil
	}
	for _, p := range parameters(nil, nil) {
		if p.value == nil || !p.applies(l) {
			continue
		}
		v := p.value.encode(l)
		if v == nil {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("cannot write the load's %s: %w", p.Key, err)
		}
		group, key := p.group()
		if group != currentGroup {
			closeGroup()
			currentGroup = group
		}
		if field := fmt.Sprintf("%q:%s", key, text); group == "" {
			top = append(top, field)
		} else {
			entries = append(entries, field)
		}
	}
	closeGroup()
	return []byte("{" + strings.Join(top, ",") + "}"), nil
}

// Decode decodes the result of Encode. Missing values become zero, and unknown keys are ignored.
func (l *Load) Decode(b []byte) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(b, &top); err != nil {
		return err
	}
	*l = Load{}
	entries := map[string]map[string]json.RawMessage{"": top}
	for group, allocate := range map[string]func(){
		"stm":     func() { l.STM = &STM{} },
		"watch":   func() { l.Watch = &Watch{} },
		"compact": func() {},
	} {
		if raw, ok := top[group]; ok {
			var within map[string]json.RawMessage
			if err := json.Unmarshal(raw, &within); err != nil {
				return fmt.Errorf("the load's %s: %w", group, err)
			}
			if within != nil {
				allocate()
				entries[group] = within
			}
		}
	}
	for _, p := range parameters(nil, nil) {
		group, key := p.group()
		raw, ok := entries[group][key]
		if p.value == nil || !ok || string(raw) == "null" {
			continue
		}
		if err := p.value.decode(l, raw); err != nil {
			return fmt.Errorf("the load's %s: %w", p.Key, err)
		}
	}
	return nil
}
