package registry

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/k3s"
)

// Tenant is a system with requirements for its machines: a store, or a system with a built-in store
// that quorumbench cannot start.
type Tenant struct {
	Name  string
	Rules *kv.HostRules
}

// Tenants returns all systems with requirements for their machines, in the order of All.
func Tenants() (all []Tenant) {
	for _, s := range All() {
		if rules := s.Capabilities().Hosts; rules != nil {
			all = append(all, Tenant{s.Name(), rules})
		}
	}
	return append(all, Tenant{k3s.Name, k3s.HostRules()})
}
