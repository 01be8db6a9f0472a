package store

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Settings are a store's own launch settings: a pointer to a struct whose zero
// value is the defaults, and whose fields have the settings' names in their yaml
// tags.
type Settings[T any] interface {
	*T
	// Check returns the first thing wrong with them as one sentence.
	Check() error
}

// Confined is an optional interface of Settings that could make a server run
// another program, or read and write files that are not its own.
type Confined interface {
	// CheckConfined returns the first setting that could as one sentence. It is
	// asked where settings come from another machine.
	CheckConfined() error
}

// Secured is an optional interface of Settings that can have members speak TLS with
// clients, with certificates that are made for the run.
type Secured interface {
	// Secured reports whether they do.
	Secured() bool
}

// SecuredPeers is an optional interface of Settings that are Secured and can have members
// speak TLS with each other, too, with the same certificates, which both sides show.
type SecuredPeers interface {
	// SecuredPeers reports whether they do.
	SecuredPeers() bool
	// PeerPort is the place among a member's ports of the one for other members.
	PeerPort() int
}

// DecodeSettings is Store.DecodeSettings for a store whose settings are a T; the
// result is a *T.
func DecodeSettings[T any, P Settings[T]](decode func(into any) error) (any, error) {
	s := P(new(T))
	if decode == nil {
		return s, nil
	}
	if err := decode(s); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return s, nil
}

// SettingsOf takes what a LaunchSpec carries, a *T or nil for the defaults.
func SettingsOf[T any, P Settings[T]](v any) (P, error) {
	switch s := v.(type) {
	case nil:
		return new(T), nil
	case P:
		return s, s.Check()
	}
	return nil, fmt.Errorf("the settings are %T, and not %T", v, P(nil))
}

// Setting is one of a store's settings that is not zero.
type Setting struct {
	Name  string // of its yaml tag
	Value any    // of a pointer, what it points to
}

// Set lists the settings that are not zero, in the order of the struct that v
// points to.
func Set(v any) (set []Setting) {
	of := reflect.ValueOf(v).Elem()
	for _, f := range reflect.VisibleFields(of.Type()) {
		value := of.FieldByIndex(f.Index)
		if f.Anonymous || value.IsZero() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		set = append(set, Setting{name, reflect.Indirect(value).Interface()})
	}
	return set
}

// CheckSigns returns a sentence about the first setting that is below zero. The
// product is the server's name.
func CheckSigns(product string, v any) error {
	for _, s := range Set(v) {
		if n := reflect.ValueOf(s.Value); n.CanInt() && n.Int() < 0 {
			return fmt.Errorf("%s's %s must not be negative", product, s.Name)
		}
	}
	return nil
}

// OneOf returns a sentence about a setting that is none of the choices; the
// empty value is the default. The product is the server's name.
func OneOf(product, name, value string, choices ...string) error {
	if value == "" || slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s has no %s %q; choose one of %s", product, name, value, strings.Join(choices, ", "))
}
