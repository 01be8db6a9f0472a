package record

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ConditionCell is a condition as a table has it.
type ConditionCell struct {
	Name, Text string
	Word       bool // and no number
}

// Cells are all conditions, each under its name in the trial's JSON object; one
// within another has the other's name before it, as in scaled_factor. Those of
// the load are under the names of flatLoad. Which they are does not depend on
// the trial. What a trial does not have is empty. A tag csv gives a field another
// name there, or - for none.
func (c *Conditions) Cells() []ConditionCell {
	load := flatten(&c.Load)
	cells := conditionCells(nil, "", reflect.TypeOf(*c), reflect.ValueOf(*c))
	return conditionCells(cells, "", reflect.TypeOf(load), reflect.ValueOf(load))
}

// conditionCells adds those of a struct, whose value is not valid where the
// trial does not have it.
func conditionCells(to []ConditionCell, prefix string, of reflect.Type, v reflect.Value) []ConditionCell {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		tag := field.Tag.Get("csv")
		if name == "-" || tag == "-" || !field.IsExported() {
			continue
		}
		if name = prefix + name; tag != "" {
			name = tag
		}
		inner, value := field.Type, reflect.Value{}
		if v.IsValid() {
			value = v.Field(i)
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
			if value.IsValid() {
				value = value.Elem()
			}
		}
		switch {
		case inner.Kind() == reflect.Struct && field.Anonymous:
			to = conditionCells(to, prefix, inner, value)
		case inner.Kind() == reflect.Struct:
			to = conditionCells(to, name+"_", inner, value)
		default:
			text, word := conditionText(value)
			to = append(to, ConditionCell{name, text, word})
		}
	}
	return to
}

// conditionText is one condition.
func conditionText(v reflect.Value) (text string, word bool) {
	if !v.IsValid() {
		return "", false
	}
	switch v.Kind() {
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), false
	case reflect.Slice:
		parts := make([]string, 0, v.Len())
		for i := range v.Len() {
			parts = append(parts, fmt.Sprint(v.Index(i).Interface()))
		}
		return strings.Join(parts, ", "), true
	case reflect.Map:
		all, ok := v.Interface().(map[string]string)
		if !ok {
			return fmt.Sprint(v.Interface()), true
		}
		parts := make([]string, 0, len(all))
		for _, key := range slices.Sorted(maps.Keys(all)) {
			parts = append(parts, key+"="+all[key])
		}
		return strings.Join(parts, ", "), true
	case reflect.String:
		return v.String(), true
	}
	return fmt.Sprint(v.Interface()), false
}
