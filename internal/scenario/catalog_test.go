package scenario

import (
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// shelf is a catalog of two stores: "etcd" has what the real one has, "slow"
// one operation at a time on a connection, and local gets and puts alone.
type shelf struct{}

type etcdSettings struct {
	SnapshotCount uint64        `yaml:"snapshot-count"`
	Heartbeat     time.Duration `yaml:"heartbeat"`
	UnsafeNoSync  bool          `yaml:"unsafe-no-sync"`
}

func (shelf) Stores() []string { return []string{"etcd", "slow"} }

func (shelf) Supports(store string, k kv.Kind, c kv.Consistency) error {
	switch {
	case store == "slow" && k != kv.Put && k != kv.Get:
		return fmt.Errorf("slow has no %s; it has put and get", k)
	case store == "slow" && k == kv.Get && c != kv.Local:
		return fmt.Errorf("slow has no %s get; it has local", c)
	case c == kv.Lease:
		return errors.New("etcd has no lease get; it has linearizable and local")
	}
	return nil
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

func (shelf) RangeForms(store string) bool { return store == "etcd" }

func (shelf) Ordered(store string) bool { return store == "slow" }

func (shelf) Version(store, version string) error {
	if version != "1.0" && version != "2.0" {
		return fmt.Errorf("there is no version %q of %s; there is 2.0, 1.0", version, store)
	}
	return nil
}

func (shelf) InFlight(store string) int {
	if store == "slow" {
		return 1
	}
	return 0
}
