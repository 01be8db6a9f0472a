// Package registry lists all stores.
package registry

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/cetcd"
	"github.com/quorumbench/quorumbench/internal/store/consul"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/etcdgateway"
	"github.com/quorumbench/quorumbench/internal/store/etcdv2"
	"github.com/quorumbench/quorumbench/internal/store/zetcd"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/text"
)

// All returns all stores. Messages to users list the stores in the same order.
func All() []store.Store {
	return []store.Store{
		etcd.New(),
		etcdv2.New(),
		zookeeper.New(),
		consul.New(),
		zetcd.New(),
		cetcd.New(),
		etcdgateway.New(),
	}
}

// Names returns the names of all stores, in the order of All.
func Names() []string {
	all := All()
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.Name()
	}
	return out
}

// Lookup returns the store with the given name. If no store has this name, the error suggests a
// similar name or lists all names.
func Lookup(name string) (store.Store, error) {
	for _, s := range All() {
		if s.Name() == name {
			return s, nil
		}
	}
	if suggestion := text.Nearest(name, Names()); suggestion != "" {
		return nil, fmt.Errorf("there is no store %q; did you mean %s?", name, suggestion)
	}
	return nil, fmt.Errorf("there is no store %q; choose one of %s", name, strings.Join(Names(), ", "))
}
