package file

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/quorumbench/quorumbench/internal/text"
)

// DecodeSettings decodes a store's settings into the struct that target points to. It refuses keys
// that the struct does not have; the error suggests or lists the keys in `known`. Every error is an
// *Error with a position.
func (n *Node) DecodeSettings(store string, known []string, target any) (err error) {
	if n.base != nil {
		if err := n.base.DecodeSettings(store, known, target); err != nil {
			return err
		}
	}
	defer func() { // the YAML library uses reflection on a type from another package, so it might panic
		if r := recover(); r != nil {
			err = n.Pos.Errorf("cannot read these settings for %s", store)
		}
	}()
	err = yaml.NodeToValue(n.raw, target, yaml.Strict())
	if err == nil {
		return nil
	}
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return n.Pos.Errorf("cannot read these settings for %s: %s", store, strings.TrimPrefix(err.Error(), "time: "))
	}
	where, value := tokenPosition(syntax.GetToken()), syntax.GetToken().Value
	if n.Pos.Assignment != "" {
		where = n.Pos
	}
	var (
		field    *yaml.UnknownFieldError
		mistyped *yaml.TypeError
		overflow *yaml.OverflowError
	)
	switch {
	case errors.As(err, &field):
		name := strings.Trim(strings.TrimPrefix(field.Message, "unknown field "), `"`)
		return where.Errorf("%s has no setting %q%s", store, name, text.SuggestOrList(name, known))
	case errors.As(err, &mistyped):
		return where.Errorf("this setting for %s must be %s, not %q", store, describeType(mistyped.DstType), value)
	case errors.As(err, &overflow):
		return where.Errorf("this setting for %s is out of range: %s", store, overflow.SrcNum)
	}
	return where.Errorf("cannot read these settings for %s: %s", store, syntax.GetMessage())
}

func describeType(t reflect.Type) string {
	if t == nil {
		return "a value of another type"
	}
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 5s"
	case k == reflect.Bool:
		return "true or false"
	case k >= reflect.Int && k <= reflect.Uint64:
		return "a whole number"
	case k == reflect.Float32, k == reflect.Float64:
		return "a number"
	case k == reflect.String:
		return "text"
	case k == reflect.Slice, k == reflect.Array:
		return "a list"
	}
	return "a mapping"
}
