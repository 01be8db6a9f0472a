package registry

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store/k3s"
)

// StoreRules contains the rules of a store for its members' machines. Some of these stores, such as
// k3s with SQLite, cannot be started by quorumbench.
type StoreRules struct {
	Store string
	Rules *kv.HostRules
}

// HostRules returns the rules of all stores that have rules for machines, in the order of All.
func HostRules() (all []StoreRules) {
	for _, s := range All() {
		if rules := s.Capabilities().Hosts; rules != nil {
			all = append(all, StoreRules{s.Name(), rules})
		}
	}
	return append(all, StoreRules{k3s.Name, k3s.HostRules()})
}
