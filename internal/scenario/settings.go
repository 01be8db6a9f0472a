package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
)

// decodeStrict fills a store's settings from the file. Every error is an
// *Error at the place that caused it.
func decodeStrict(n *node, store string, into any) (err error) {
	defer func() { // the library's reflection on a type that is not ours
		if r := recover(); r != nil {
			err = n.at.errorf("these settings of %s cannot be read", store)
		}
	}()
	err = yaml.NodeToValue(n.raw, into, yaml.Strict())
	if err == nil {
		return nil
	}
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		return n.at.errorf("these settings of %s cannot be read: %s", store, strings.TrimPrefix(err.Error(), "time: "))
	}
	where, value := at(known.GetToken()), known.GetToken().Value
	var (
		field    *yaml.UnknownFieldError
		mistyped *yaml.TypeError
		overflow *yaml.OverflowError
	)
	switch {
	case errors.As(err, &field):
		name := strings.Trim(strings.TrimPrefix(field.Message, "unknown field "), `"`)
		return where.errorf("%s has no setting %q%s", store, name, suggest(name, settingNames(into)))
	case errors.As(err, &mistyped):
		return where.errorf("this setting of %s must be %s, not %q", store, typeWord(mistyped.DstType), value)
	case errors.As(err, &overflow):
		return where.errorf("this setting of %s is out of range: %s", store, overflow.SrcNum)
	}
	return where.errorf("these settings of %s cannot be read: %s", store, known.GetMessage())
}

// settingNames lists the keys of the struct that into points to.
func settingNames(into any) []string {
	t := reflect.TypeOf(into)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if f.IsExported() && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func typeWord(t reflect.Type) string {
	if t == nil {
		return "of another kind"
	}
	if t.String() == "time.Duration" {
		return "a duration such as 5s"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return fmt.Sprintf("a %s", t.Kind())
}

// clusterKey is a text that is equal for clusters that can be shared. A
// password is no part of it, because it is written into records.
func clusterKey(c Cluster) (string, error) {
	var parts any
	if a := c.Attach; a != nil {
		user, _, _ := strings.Cut(a.User, ":")
		parts = struct {
			Store              string   `json:"store"`
			Endpoints          []string `json:"endpoints"`
			TLS                bool     `json:"tls,omitempty"`
			CACert, Cert, User string   `json:",omitempty"`
			SkipVerify         bool     `json:",omitempty"`
		}{c.Store, a.Endpoints, a.TLS, a.CACert, a.Cert, user, a.SkipVerify}
	} else {
		parts = struct {
			Store    string            `json:"store"`
			Members  int               `json:"members"`
			Version  string            `json:"version,omitempty"`
			Exec     string            `json:"exec,omitempty"`
			Settings any               `json:"settings"`
			Env      map[string]string `json:"env,omitempty"`
		}{c.Store, c.Members, c.Version, c.Exec, c.Settings, c.Env}
	}
	text, err := json.Marshal(parts) // sorts the keys of maps
	if err != nil {
		return "", fmt.Errorf("the store's settings cannot be compared with others: %w", err)
	}
	return string(text), nil
}
