package text

import (
	"maps"
	"reflect"
	"slices"
)

// Fields makes every text within the value that v points to a Line: in structs,
// slices, maps, their keys too, and behind pointers and interfaces. It is for
// what was just decoded: nobody else may hold a part of it, and there are no
// rings. A field that a struct gains later is covered by itself.
func Fields(v any) { fields(reflect.ValueOf(v).Elem()) }

func fields(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); v.CanSet() {
			v.SetString(Line(s, OfField))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fields(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			v.Set(copied(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				fields(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fields(v.Index(i))
		}
	case reflect.Map:
		entries(v)
	}
}

// copied is a value, which cannot be changed where it is, after Fields.
func copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	fields(c)
	return c
}

// entries makes a map's keys and values printable. Of two keys that become the
// same, the first in the order of the originals stays.
func entries(v reflect.Value) {
	if v.IsNil() {
		return
	}
	changed := map[string]reflect.Value{}
	named := v.Type().Key().Kind() == reflect.String
	for _, k := range v.MapKeys() {
		value := copied(v.MapIndex(k))
		if named && Line(k.String(), OfField) != k.String() {
			changed[k.String()] = value
			v.SetMapIndex(k, reflect.Value{})
			continue
		}
		v.SetMapIndex(k, value)
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		k := copied(reflect.ValueOf(Line(name, OfField)).Convert(v.Type().Key()))
		if !v.MapIndex(k).IsValid() {
			v.SetMapIndex(k, changed[name])
		}
	}
}
