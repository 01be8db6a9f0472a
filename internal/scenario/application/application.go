// Package application defines, as data, the applications that a load can imitate, so that
// scenarios can be checked and described. The code that sends their calls is below
// internal/load/app. docs/how-to/add-an-application.md has the steps to add one.
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

// Application describes the load of an application.
type Application interface {
	Definition() Definition
	// Check returns in one sentence what is wrong with settings that are each within their
	// bounds, and the parameter, or nothing. The sentence contains parameters' keys in
	// angle brackets, as in <nodes>, and no percent signs.
	Check(Settings) (parameter, why string)
	// Profile returns the load for valid settings on a store. way is an index of the
	// Definition's Ways.
	Profile(s Settings, way int) Profile
	// Phrase describes the settings for reports, such as "20 nodes with 10 pods each".
	Phrase(Settings) string
}

// Find returns the application with the name, or nil.
func Find(all []Application, name string) Application {
	for _, a := range all {
		if a.Definition().Name == name {
			return a
		}
	}
	return nil
}

// Names returns the applications' names in scenario files.
func Names(all []Application) (names []string) {
	for _, a := range all {
		names = append(names, a.Definition().Name)
	}
	return names
}

// Windowed is an optional interface of applications with settings that need a minimum
// window.
type Windowed interface {
	// CheckWindow is like Check, for valid settings, a way of using the store and the
	// length of the window.
	CheckWindow(s Settings, way int, length time.Duration) (parameter, why string)
}

// Definition describes an application independently of its settings.
type Definition struct {
	Name    string // name in scenario files
	Meaning string // a phrase: "the API server of Kubernetes"
	// Prefix is the default prefix of its keys; empty for the default of all loads.
	Prefix     string
	Parameters []Parameter
	// Scales lists the keys of the parameters that determine the size of the load, whole
	// numbers or rates, for which a capacity can be searched. The first is the recommended
	// one.
	Scales []string
	// Unsearched is why no parameter can be searched if Scales is empty: the words after
	// "because".
	Unsearched string
	// Names matches the rest of a key's name after the prefix, or at least its first part.
	Names *regexp.Regexp
	// Compacts reports whether the application compacts the store's history occasionally,
	// which affects all keys.
	Compacts bool
	// Ways lists the ways in which the application uses a store, the best first. An
	// application that supports several stores has a way for each. It uses the first way
	// whose requirements the store meets.
	Ways []Way
}

// Way is a way of using a store.
type Way struct {
	Name string // a phrase for docs, such as "transactions and leases"
	// Operations and Features are the requirements on the store.
	Operations []Operation
	Features   []kv.Feature
}

// Operation is an operation at a consistency level, which is None unless it reads.
type Operation struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// WayOf returns the first way that the named store supports, or why it supports none.
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

// Unit is the unit of a parameter's number.
type Unit uint8

// The units.
const (
	Whole   Unit = iota // a whole number
	Number              // any number, such as a rate per second
	Seconds             // a length of time, written as 10s or 5m
	Bytes               // a size, written as 512 or 4KiB
)

// Parameter is a parameter of an application. Applications can share a key, with the same
// unit.
type Parameter struct {
	Key     string // key in scenario files
	Meaning string // a phrase for help: "its nodes"
	Differs string // name in sentences about differences between two loads: "the nodes"
	Unit    Unit
	// Default is the value if none is given; Least and Most are the bounds.
	Default, Least, Most float64
}

// Settings holds the values of an application's parameters by key, in their units.
type Settings map[string]float64

// Whole returns a whole number.
func (s Settings) Whole(key string) int { return int(s[key]) }

// Span returns a duration.
func (s Settings) Span(key string) time.Duration {
	return time.Duration(s[key] * float64(time.Second))
}

// Defaults returns the default settings.
func (d *Definition) Defaults() Settings {
	s := Settings{}
	for _, p := range d.Parameters {
		s[p.Key] = p.Default
	}
	return s
}

// Scaling returns the parameter with the key if it is one of Scales, or nil.
func (d *Definition) Scaling(key string) *Parameter {
	for i := range d.Parameters {
		if p := &d.Parameters[i]; p.Key == key && slices.Contains(d.Scales, key) {
			return p
		}
	}
	return nil
}

// Outside returns the first parameter whose value is out of bounds, or nil.
func (d *Definition) Outside(s Settings) *Parameter {
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if v := s[p.Key]; !(v >= p.Least && v <= p.Most) { // also true for NaN
			return p
		}
	}
	return nil
}

// Format formats a number for sentences and Phrase.
func Format(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Profile describes an application's average load over many of its periods. Reports,
// thresholds and warnings use it in place of the real calls.
type Profile struct {
	Calls []Call
	// There is the number of objects that are created before the load begins.
	There uint64
	// KeySize is the approximate size of a key after its prefix, and ValueSize the mean
	// size of written values, both in bytes.
	KeySize, ValueSize int
	// Watchers is the number of watchers, on Streams watch streams; 0 if it watches
	// nothing.
	Watchers, Streams int
	PreviousValues    bool // watch events contain previous values
	// Connections is the number of connections if each call belongs to a particular one; 0
	// to use the scenario's number.
	Connections int
}

// Call is a kind of call.
type Call struct {
	Name      string // such as "create pod": a row in the report
	Kind      kv.Kind
	Level     kv.Consistency
	PerSecond float64
}

// PerSecond returns how many calls become due per second.
func (p *Profile) PerSecond() (sum float64) {
	for i := range p.Calls {
		sum += p.Calls[i].PerSecond
	}
	return sum
}
