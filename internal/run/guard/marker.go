package guard

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// markerSuffix ends the name of every marker key.
const markerSuffix = ".quorumbench-run"

// Marker is the value of a marker key. A run writes this key before all other keys below a prefix,
// and removes it last. The marker proves that no key existed below the prefix when the run began,
// so that all keys there belong to the run.
type Marker struct {
	Quorumbench string        `json:"quorumbench"` // version of quorumbench
	Run         string        `json:"run"`         // random ID of the run
	Prefix      string        `json:"prefix"`
	WasEmpty    bool          `json:"prefix_was_empty"`
	StartTime   time.Time     `json:"began"`
	Machine     string        `json:"host"`
	Place       host.Place    `json:"place"`
	Owner       host.Identity `json:"process"`
	// Folders contains the parent nodes of the run's keys that did not exist before the run,
	// outermost first. Only stores with folders use it.
	Folders []string `json:"folders,omitempty"`
	// KeepsKeys is set if the run has ended and was asked to keep its keys.
	KeepsKeys bool `json:"kept,omitempty"`
	// Leases is set if keys may be bound to the run's leases or sessions. Services is set if the
	// run registers services whose names begin with the prefix.
	Leases   bool `json:"leases,omitempty"`
	Services bool `json:"services,omitempty"`
	// Names describes the names of the run's keys, without the prefix. If the list is empty, any
	// name matches.
	Names []Names `json:"names,omitempty"`
}

// MarkerKey returns the marker key for a prefix. The key is next to the prefix's folder rather than
// inside it, so that only rights for the parent folder are needed to write it.
func MarkerKey(prefix string) string { return strings.TrimRight(prefix, "/") + markerSuffix }

// newMarker returns a marker for this process.
func newMarker(tool string, p *Plan, now time.Time) (Marker, error) {
	self, err := host.Identify(os.Getpid())
	if err != nil {
		return Marker{}, err
	}
	name, _ := os.Hostname() // for display
	return Marker{
		Quorumbench: tool, Run: string(host.NewMark()), Prefix: p.Prefix, WasEmpty: true, StartTime: now.UTC().Truncate(time.Second),
		Machine: name, Place: host.CurrentPlace(), Owner: self, Leases: p.Leases, Services: p.Services, Names: []Names{p.Names},
	}, nil
}

// parseMarker decodes a marker for a prefix; ok is false if the value is not a valid marker.
func parseMarker(value []byte, prefix string) (m Marker, ok bool) {
	if json.Unmarshal(value, &m) != nil || !m.WasEmpty || !host.Mark(m.Run).Valid() || !samePrefix(m.Prefix, prefix) {
		return Marker{}, false
	}
	if !validNames(m.Names) {
		return Marker{}, false
	}
	m.Machine = text.Line(m.Machine, text.MaxServerText)
	return m, true
}

// samePrefix reports whether two prefixes are equal except for a leading slash. For stores that
// ignore a leading slash, they denote the same keys. For all other stores, their markers are
// different keys.
func samePrefix(a, b string) bool { return strings.TrimPrefix(a, "/") == strings.TrimPrefix(b, "/") }

// isBelow reports whether a prefix is below another prefix, ignoring leading slashes.
func isBelow(prefix, outer string) bool {
	return strings.HasPrefix(strings.TrimPrefix(prefix, "/"), strings.TrimPrefix(outer, "/"))
}

// encode returns the marker as the value of its key.
func (m *Marker) encode() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("guard: a marker cannot be encoded: " + err.Error())
	}
	return b
}

// State is the state of a marker's run.
type State uint8

// The states of a marker's run.
const (
	Running State = iota
	Ended         // the run's process has exited, or the run has ended and kept its keys on request
	Unknown       // the run's process is on another machine or in another PID namespace
)

// State returns the state of the marker's run, as far as this process can determine it.
func (m *Marker) State() State {
	if m.KeepsKeys {
		return Ended
	}
	switch m.Place.Visibility() {
	case host.SamePlace:
		if m.Owner.Running() {
			return Running
		}
		return Ended
	case host.Rebooted:
		return Ended
	default:
		return Unknown
	}
}

// owns reports whether a key below the prefix may belong to the run, according to the key's name.
func (m *Marker) owns(key string) bool {
	name := strings.TrimPrefix(key, m.Prefix)
	return key == MarkerKey(m.Prefix) || len(m.Names) == 0 || slices.ContainsFunc(m.Names, func(n Names) bool { return n.matches(name) })
}

// maxListedKeys is the maximum number of keys whose names are checked.
const maxListedKeys = 2_000_000

// splitKeys divides the keys below a marker's prefix into keys that may belong to the run (ownKeys)
// and other keys (otherKeys). ok is false if the keys cannot be divided, because the store does not
// list keys, the marker accepts any name, or too many keys exist.
func (m *Marker) splitKeys(ctx context.Context, admin store.Admin) (ownKeys, otherKeys []string, ok bool, err error) {
	cleaner, canList := admin.(store.Cleaner)
	if !canList || slices.ContainsFunc(m.Names, func(n Names) bool { return n.equal(&Names{}) }) {
		return nil, nil, false, nil
	}
	names, more, err := cleaner.KeysWithPrefix(ctx, []byte(m.Prefix), maxListedKeys)
	if err != nil || more {
		return nil, nil, false, err
	}
	for _, name := range names {
		if m.owns(name) {
			ownKeys = append(ownKeys, name)
		} else {
			otherKeys = append(otherKeys, name)
		}
	}
	return ownKeys, otherKeys, true, nil
}
