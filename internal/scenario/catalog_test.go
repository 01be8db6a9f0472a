package scenario

import (
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// shelf is a catalog with two stores. "etcd" is like the real store. "slow" supports only local
// gets and puts, and only one operation at a time on a connection.
type shelf struct{}

type etcdSettings struct {
	SnapshotCount uint64        `yaml:"snapshot-count"`
	Heartbeat     time.Duration `yaml:"heartbeat"`
	UnsafeNoSync  bool          `yaml:"unsafe-no-sync"`
}

// Apps returns the applications of the registry. Apps is a variable that an external test sets,
// because the registry imports this package.
var Apps func() []application.Application

func (shelf) Applications() []application.Application { return Apps() }

func (shelf) Stores() []string { return []string{"etcd", "slow"} }

func (shelf) Capabilities(store string) kv.Capabilities {
	if store == "slow" {
		return kv.Capabilities{
			Operations:  map[kv.Kind]string{kv.Put: "PUT", kv.Get: "GET"},
			Reads:       map[kv.Consistency]string{kv.Local: "perhaps old"},
			NoFeatures:  map[kv.Feature]string{kv.Compaction: "it keeps no history"},
			MaxInFlight: 1, OrderedResponses: true,
		}
	}
	all := kv.Capabilities{
		Operations: map[kv.Kind]string{}, Features: map[kv.Feature]string{},
		Reads:             map[kv.Consistency]string{kv.Linearizable: "newest", kv.Local: "perhaps old"},
		UpgradeConditions: "one version after the other",
		Watches:           kv.Watches{Modes: map[kv.WatchMode]string{kv.StreamWatch: "streams"}, Default: kv.StreamWatch, PastRevisions: true, PreviousValues: true},
	}
	for k := range kv.NumKinds {
		all.Operations[k] = k.String()
	}
	for f := range kv.NumFeatures {
		all.Features[f] = f.String()
	}
	return all
}

func (shelf) Settings(store string, decode func(any) error) (any, error) {
	s := etcdSettings{SnapshotCount: 10_000}
	if decode == nil {
		return s, nil
	}
	if err := decode(&s); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", store, err)
	}
	if s.SnapshotCount == 0 {
		return nil, errors.New("snapshot-count must be at least 1")
	}
	return s, nil
}

func (shelf) Version(store, version string) error {
	if version != "1.0" && version != "2.0" {
		return fmt.Errorf("there is no version %q of %s; there is 2.0, 1.0", version, store)
	}
	return nil
}
