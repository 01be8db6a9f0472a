// Package application is what a scenario must know of the applications that a load can be
// shaped like: as data, by which it is checked and described. What sends their calls is
// below internal/load/app. docs/how-to/add-an-application.md has the steps.
package application

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Application is what an application sends to its store.
type Application interface {
	Definition() Definition
	// Check says in one sentence what is wrong with settings that are each within their
	// bounds, and of which parameter, or nothing. In the sentence a parameter's key
	// stands in angle brackets, as in <nodes>, and no percent sign.
	Check(Settings) (parameter, why string)
	// Profile is what it sends of settings that are right, to a store that has the way,
	// an index in the Definition's.
	Profile(s Settings, way int) Profile
	// Phrase is the settings in words for reports, such as "20 nodes with 10 pods each".
	Phrase(Settings) string
}

// Find returns the application with the name; nil if there is none.
func Find(all []Application, name string) Application {
	for _, a := range all {
		if a.Definition().Name == name {
			return a
		}
	}
	return nil
}

// Names returns what scenario files call them.
func Names(all []Application) (names []string) {
	for _, a := range all {
		names = append(names, a.Definition().Name)
	}
	return names
}

// Windowed is an optional interface of an Application with settings that need a window of
// some length.
type Windowed interface {
	// CheckWindow is as Check, of settings that it finds right, for a store that has the
	// way and a window of that length.
	CheckWindow(s Settings, way int, length time.Duration) (parameter, why string)
}

// Definition is what is known of an application without its settings.
type Definition struct {
	Name    string // what scenario files call it
	Meaning string // a phrase: "the API server of Kubernetes"
	// Prefix is what its keys begin with unless the scenario says otherwise; empty: what
	// any load's do.
	Prefix     string
	Parameters []Parameter
	// Scales are the keys of the parameters with which the load grows, whole numbers or
	// rates: how much of one a store carries can be searched. The first is the one to ask
	// for.
	Scales []string
	// Unsearched says why none is searched, where Scales is empty: what stands behind
	// "because".
	Unsearched string
	// Names matches what follows the prefix in the names of its keys, at least in their
	// first part.
	Names *regexp.Regexp
	// Compacts says that it compacts the store's history now and then, which is that of
	// all keys.
	Compacts bool
	// Ways are how it uses a store, the best first: an application that is at home on
	// several stores has another way on each. It is sent to a store that has all that
	// one of them needs.
	Ways []Way
}

// Way is a way of using a store.
type Way struct {
	Name string // a phrase for docs, such as "transactions and leases"
	// Operations and Features are what the store must have.
	Operations []Operation
	Features   []kv.Feature
}

// Operation is one at a consistency level; None of what is not a read.
type Operation struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// WayOf is the first way that the store with the name has, or why there is none.
func (d *Definition) WayOf(store string, can kv.Capabilities) (way int, err error) {
	var lacks []string
	for i := range d.Ways {
		err := d.Ways[i].fits(store, can)
		if err == nil {
			return i, nil
		}
		lacks = append(lacks, err.Error())
	}
	return 0, fmt.Errorf("%s", strings.Join(lacks, "; and "))
}

// Needs reports whether the store must have a feature.
func (w *Way) Needs(f kv.Feature) bool { return slices.Contains(w.Features, f) }

func (w *Way) fits(store string, can kv.Capabilities) error {
	for _, f := range w.Features {
		if err := can.Feature(store, f); err != nil {
			return err
		}
	}
	for _, o := range w.Operations {
		if err := can.Operation(store, o.Kind, o.Level); err != nil {
			return err
		}
	}
	return nil
}

// Unit is what a parameter's number is of.
type Unit uint8

// The units.
const (
	Whole   Unit = iota // a whole number
	Number              // any number, such as a rate a second
	Seconds             // a length of time, written as 10s or 5m
	Bytes               // a size, written as 512 or 4KiB
)

// Parameter is one that a scenario gives the application. Applications may have one of
// the same key, of the same unit.
type Parameter struct {
	Key     string // what scenario files call it
	Meaning string // a phrase for help: "its nodes"
	Differs string // what a sentence calls it that says in what two loads differ: "the nodes"
	Unit    Unit
	// Default is its value unless it is given; Least and Most are its bounds.
	Default, Least, Most float64
}

// Settings are the values of an application's parameters by their keys, in their units.
type Settings map[string]float64

// Whole is a whole number.
func (s Settings) Whole(key string) int { return int(s[key]) }

// Span is a length of time.
func (s Settings) Span(key string) time.Duration {
	return time.Duration(s[key] * float64(time.Second))
}

// Defaults are the settings of which nothing was given.
func (d *Definition) Defaults() Settings {
	s := Settings{}
	for _, p := range d.Parameters {
		s[p.Key] = p.Default
	}
	return s
}

// Scaling is the parameter with the key, with which the load grows; nil if there is none.
func (d *Definition) Scaling(key string) *Parameter {
	for i := range d.Parameters {
		if p := &d.Parameters[i]; p.Key == key && slices.Contains(d.Scales, key) {
			return p
		}
	}
	return nil
}

// Outside is the first parameter whose value is not within its bounds; nil if all are.
func (d *Definition) Outside(s Settings) *Parameter {
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if v := s[p.Key]; !(v >= p.Least && v <= p.Most) { // and NaN
			return p
		}
	}
	return nil
}

// Format is a number as sentences and Phrase write it.
func Format(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Profile is what an application sends in the mean, over a time that is long against its
// periods. Reports, thresholds and warnings read it as what the load is.
type Profile struct {
	Calls []Call
	// There is how many objects are written before the load begins.
	There uint64
	// KeySize is about how many bytes a key has behind its prefix, and ValueSize the
	// mean size of the values that are written.
	KeySize, ValueSize int
	// Watchers watch beside the calls, over so many Streams. None: it watches nothing.
	Watchers, Streams int
	PreviousValues    bool // their events carry what was there before
	// Connections is how many the calls have, where each belongs to one; 0: as many as the
	// scenario says.
	Connections int
}

// Call is a kind of call.
type Call struct {
	Name      string // such as "create pod": a row in the report
	Kind      kv.Kind
	Level     kv.Consistency
	PerSecond float64
}

// PerSecond is how many calls become due a second.
func (p *Profile) PerSecond() (sum float64) {
	for i := range p.Calls {
		sum += p.Calls[i].PerSecond
	}
	return sum
}
