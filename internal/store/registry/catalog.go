package registry

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Catalog tells scenarios about the stores.
type Catalog struct{}

var _ scenario.Catalog = Catalog{}

// Stores implements scenario.Catalog.
func (Catalog) Stores() []string { return Names() }

// Supports implements scenario.Catalog.
func (Catalog) Supports(name string, k kv.Kind, c kv.Consistency) error {
	s, err := Lookup(name)
	if err != nil {
		return err
	}
	semantics := s.Semantics()
	if why, ok := semantics.Broken[k]; ok {
		return fmt.Errorf("%s is refused: %s", k, why)
	}
	if _, ok := semantics.Operations[k]; !ok {
		return fmt.Errorf("%s has no operation %s here; it has %s", name, k, operations(&semantics))
	}
	if c == kv.None {
		return nil
	}
	if k.Writes() {
		return fmt.Errorf("%s is a write, and consistency %s is about reads; leave it out", k, c)
	}
	if why, ok := semantics.BrokenReads[c]; ok {
		return fmt.Errorf("%s reads are refused: %s", c, why)
	}
	if _, ok := semantics.Reads[c]; !ok {
		return fmt.Errorf("%s has no %s reads; it has %s", name, c, reads(&semantics))
	}
	return nil
}

func operations(s *store.Semantics) string {
	var out []string
	for k := range kv.NumKinds {
		if _, ok := s.Operations[k]; ok {
			out = append(out, k.String())
		}
	}
	return strings.Join(out, ", ")
}

func reads(s *store.Semantics) string {
	var out []string
	for c := range kv.NumConsistencies {
		if what, ok := s.Reads[c]; ok {
			out = append(out, fmt.Sprintf("%s (%s)", c, what))
		}
	}
	return strings.Join(out, " and ")
}

// Settings implements scenario.Catalog.
func (Catalog) Settings(name string, decode func(into any) error) (any, error) {
	s, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return s.DecodeSettings(decode)
}

// Ordered implements scenario.Catalog.
func (Catalog) Ordered(name string) bool {
	s, err := Lookup(name)
	return err == nil && s.Semantics().Ordered
}

// RangeForms implements scenario.Catalog.
func (Catalog) RangeForms(name string) bool {
	s, err := Lookup(name)
	return err == nil && s.Semantics().RangeForms
}

// Version implements scenario.Catalog.
func (Catalog) Version(name, version string) error {
	s, err := Lookup(name)
	if err != nil {
		return err
	}
	_, err = store.ServerOf(s, version)
	return err
}

// InFlight implements scenario.Catalog; it is 0 for a store that is not there.
func (Catalog) InFlight(name string) int {
	s, err := Lookup(name)
	if err != nil {
		return 0
	}
	return s.Semantics().InFlight
}
