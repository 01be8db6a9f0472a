package text

import (
	"maps"
	"reflect"
	"slices"
)

// SanitizeFields replaces every string s in the value that v points to by Line(s, MaxField). It
// finds strings in structs, slices and maps (also in their keys), and behind pointers and
// interfaces. It is for a value that was just decoded: the value must have no cycles, and no other
// code may use a part of it. Because SanitizeFields uses reflection, it also covers fields that are
// added to a struct later.
func SanitizeFields(v any) { sanitizeFields(reflect.ValueOf(v).Elem()) }

func sanitizeFields(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); v.CanSet() {
			v.SetString(Line(s, MaxField))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			sanitizeFields(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			v.Set(sanitizedCopy(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				sanitizeFields(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			sanitizeFields(v.Index(i))
		}
	case reflect.Map:
		sanitizeEntries(v)
	}
}

// sanitizedCopy returns a copy of a value in which the strings are printable. It is for values that
// cannot be changed in place.
func sanitizedCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	sanitizeFields(c)
	return c
}

// sanitizeEntries makes the keys and values of a map printable. If two keys become equal, the entry
// whose original key sorts first is kept.
func sanitizeEntries(v reflect.Value) {
	if v.IsNil() {
		return
	}
	changed := map[string]reflect.Value{}
	named := v.Type().Key().Kind() == reflect.String
	for _, k := range v.MapKeys() {
		value := sanitizedCopy(v.MapIndex(k))
		if named && Line(k.String(), MaxField) != k.String() {
			changed[k.String()] = value
			v.SetMapIndex(k, reflect.Value{})
			continue
		}
		v.SetMapIndex(k, value)
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		k := sanitizedCopy(reflect.ValueOf(Line(name, MaxField)).Convert(v.Type().Key()))
		if !v.MapIndex(k).IsValid() {
			v.SetMapIndex(k, changed[name])
		}
	}
}
