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

// Marker is the value of the key that a run writes before its first write below a prefix,
// and removes last. It proves that no key was below the prefix when the run began, so that
// all keys there now are the run's.
type Marker struct {
	Quorumbench string        `json:"quorumbench"` // version of quorumbench
	Run         string        `json:"run"`         // random ID of the run
	Prefix      string        `json:"prefix"`
	Empty       bool          `json:"prefix_was_empty"`
	Began       time.Time     `json:"began"`
	Machine     string        `json:"host"`
	Place       host.Place    `json:"place"`
	Owner       host.Identity `json:"process"`
	// Folders are the nodes above the keys that did not exist before, outermost first, in a
	// store with folders.
	Folders []string `json:"folders,omitempty"`
	// Kept reports that the run has ended and left its keys on request.
	Kept bool `json:"kept,omitempty"`
	// Leases reports that keys may be bound to leases or sessions of the run, and Services
	// that the run registers services whose names begin with the prefix.
	Leases   bool `json:"leases,omitempty"`
	Services bool `json:"services,omitempty"`
	// Names are the names of the run's keys after the prefix. None means any name.
	Names []Names `json:"names,omitempty"`
}

// MarkerKey returns the key of a prefix's marker. It is a sibling of the prefix's folder,
// so that a user with rights to the parent folder may write it.
func MarkerKey(prefix string) string { return strings.TrimRight(prefix, "/") + markerSuffix }

// newMarker returns a marker of this process.
func newMarker(tool string, p *Plan, now time.Time) (Marker, error) {
	self, err := host.Identify(os.Getpid())
	if err != nil {
		return Marker{}, err
	}
	name, _ := os.Hostname() // for display
	return Marker{
		Quorumbench: tool, Run: string(host.NewMark()), Prefix: p.Prefix, Empty: true, Began: now.UTC().Truncate(time.Second),
		Machine: name, Place: host.Here(), Owner: self, Leases: p.Leases, Services: p.Services, Names: []Names{p.Names},
	}, nil
}

// parseMarker decodes a marker of a prefix; ok is false if the value is not one.
func parseMarker(value []byte, prefix string) (m Marker, ok bool) {
	if json.Unmarshal(value, &m) != nil || !m.Empty || !host.Mark(m.Run).Valid() || !samePlace(m.Prefix, prefix) {
		return Marker{}, false
	}
	if !validNames(m.Names) {
		return Marker{}, false
	}
	m.Machine = text.Line(m.Machine, text.OfServer)
	return m, true
}

// samePlace reports whether two prefixes may be the same: some stores ignore a leading
// slash, and in the others the markers of the two have different names.
func samePlace(a, b string) bool { return strings.TrimPrefix(a, "/") == strings.TrimPrefix(b, "/") }

// within reports whether a prefix is below another one, ignoring leading slashes.
func within(prefix, outer string) bool {
	return strings.HasPrefix(strings.TrimPrefix(prefix, "/"), strings.TrimPrefix(outer, "/"))
}

// encode returns the marker's value.
func (m *Marker) encode() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("guard: a marker cannot be encoded: " + err.Error())
	}
	return b
}

// State describes whether a marker's run is still running.
type State uint8

// The states of a marker's run.
const (
	Running State = iota
	Ended         // its process has ended, or it has left its keys on request
	Unknown       // it runs on another machine or in another PID namespace
)

// State returns the state of the marker's run as far as it can be seen from this process.
func (m *Marker) State() State {
	if m.Kept {
		return Ended
	}
	switch m.Place.Reach() {
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

// owns reports whether a key below the prefix can be the run's, by its name.
func (m *Marker) owns(key string) bool {
	name := strings.TrimPrefix(key, m.Prefix)
	return key == MarkerKey(m.Prefix) || len(m.Names) == 0 || slices.ContainsFunc(m.Names, func(n Names) bool { return n.matches(name) })
}

// mostListed bounds the number of key names that are checked.
const mostListed = 2_000_000

// own divides the keys below a marker's prefix into those that can be the run's and others.
// ok is false if the store does not list keys, or if there are too many.
func (m *Marker) own(ctx context.Context, admin store.Admin) (mine, others []string, ok bool, err error) {
	l, lists := admin.(store.Cleaner)
	if !lists || slices.ContainsFunc(m.Names, func(n Names) bool { return n.equal(&Names{}) }) {
		return nil, nil, false, nil
	}
	names, more, err := l.KeysOf(ctx, []byte(m.Prefix), mostListed)
	if err != nil || more {
		return nil, nil, false, err
	}
	for _, name := range names {
		if m.owns(name) {
			mine = append(mine, name)
		} else {
			others = append(others, name)
		}
	}
	return mine, others, true, nil
}
