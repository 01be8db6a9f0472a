package registry

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Catalog implements scenario.Catalog. It contains all stores and the given applications.
type Catalog struct {
	Apps func() []application.Application // may be nil
}

var _ scenario.Catalog = Catalog{}

// Applications implements scenario.Catalog.
func (c Catalog) Applications() []application.Application {
	if c.Apps == nil {
		return nil
	}
	return c.Apps()
}

// Stores implements scenario.Catalog.
func (Catalog) Stores() []string { return Names() }

// Capabilities implements scenario.Catalog. An unknown store has no capabilities.
func (Catalog) Capabilities(name string) kv.Capabilities {
	s, err := Lookup(name)
	if err != nil {
		return kv.Capabilities{}
	}
	return s.Capabilities()
}

// Settings implements scenario.Catalog.
func (Catalog) Settings(name string, decode func(into any) error) (any, error) {
	s, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return s.DecodeSettings(decode)
}

// Version implements scenario.Catalog.
func (Catalog) Version(name, version string) error {
	s, err := Lookup(name)
	if err == nil {
		_, err = s.Server(version)
	}
	return err
}
