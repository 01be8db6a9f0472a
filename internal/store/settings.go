package store

import "fmt"

// DecodeSettings is Store.DecodeSettings for a store whose settings are a T,
// whose zero value is the defaults; the result is a *T. check returns the first
// thing wrong with them as one sentence.
func DecodeSettings[T any](decode func(into any) error, check func(*T) error) (any, error) {
	s := new(T)
	if decode == nil {
		return s, nil
	}
	if err := decode(s); err != nil {
		return nil, err
	}
	if err := check(s); err != nil {
		return nil, err
	}
	return s, nil
}

// SettingsOf takes what a LaunchSpec carries, a *T or nil for the defaults. They
// are named so in the sentence about those of another store.
func SettingsOf[T any](v any, name string, check func(*T) error) (*T, error) {
	switch s := v.(type) {
	case nil:
		return new(T), nil
	case *T:
		return s, check(s)
	}
	return nil, fmt.Errorf("these are not %s but %T", name, v)
}
