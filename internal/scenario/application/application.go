// Package application defines the applications that a load can imitate. The definitions are data,
// so that scenarios can be checked and described. The code that sends the applications' calls is in
// folders of internal/load/app. docs/how-to/add-an-application.md describes how to add an
// application.
package application

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Application describes the load of an application.
type Application interface {
	Definition() Definition
	// Check checks a combination of settings. Each setting is already known to be within its
	// bounds. If the combination is wrong, Check returns the parameter at fault and a sentence with
	// the reason. The sentence contains parameter keys in angle brackets, such as <nodes>, and no
	// percent signs.
	Check(Settings) (parameter, why string)
	// Profile returns the average load for valid settings on a store. way is an index into the
	// definition's Ways.
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

// Names returns the names of applications, as scenario files write them.
func Names(all []Application) (names []string) {
	for _, a := range all {
		names = append(names, a.Definition().Name)
	}
	return names
}

// WindowChecker is an optional interface for applications whose settings limit the duration of the
// measurement window.
type WindowChecker interface {
	// CheckWindow checks whether the settings, which are valid, permit a window of the given length.
	// way is an index into Ways. The results are like those of Check.
	CheckWindow(s Settings, way int, length time.Duration) (parameter, why string)
}

// Definition describes an application, but not its settings.
type Definition struct {
	Name    string // name in scenario files
	Meaning string // a phrase: "the API server of Kubernetes"
	// Prefix is the default prefix of the application's keys, or empty to use the default for all
	// loads.
	Prefix     string
	Parameters []Parameter
	// SizeParameters lists the keys of the parameters that determine the size of the load. A
	// capacity search can use any of them. Their values are whole numbers or rates. The first one
	// is recommended.
	SizeParameters []string
	// NoSearchReason is the reason why a capacity search is not possible if SizeParameters is
	// empty. The text completes a sentence after the word "because".
	NoSearchReason string
	// KeyPattern matches the names of the application's keys without the prefix, or at least the
	// start of these names.
	KeyPattern *regexp.Regexp
	// Compacts is set if the application sometimes compacts the store's history, which affects all
	// keys.
	Compacts bool
	// Ways lists the ways in which the application can use a store, best first. An application that
	// supports several stores has one way for each. The first way whose requirements the store
	// meets is used.
	Ways []Way
}

// Way describes one way in which an application uses a store.
type Way struct {
	Name string // a phrase for docs, such as "transactions and leases"
	// Operations and Features list what the store must support.
	Operations []Operation
	Features   []kv.Feature
}

// Operation is an operation with its consistency level, which is None for writes.
type Operation struct {
	Kind  kv.Kind
	Level kv.Consistency
}

// FindWay returns the index of the first way that the named store supports, or an error with the
// reasons if it supports none.
func (d *Definition) FindWay(store string, can kv.Capabilities) (way int, err error) {
	var reasons []string
	for i := range d.Ways {
		err := d.Ways[i].checkSupport(store, can)
		if err == nil {
			return i, nil
		}
		reasons = append(reasons, err.Error())
	}
	return 0, fmt.Errorf("%s", strings.Join(reasons, "; and "))
}

// NeedsFeature reports whether the way needs the given feature of the store.
func (w *Way) NeedsFeature(f kv.Feature) bool { return slices.Contains(w.Features, f) }

func (w *Way) checkSupport(store string, can kv.Capabilities) error {
	for _, f := range w.Features {
		if err := can.CheckFeature(store, f); err != nil {
			return err
		}
	}
	for _, o := range w.Operations {
		if err := can.CheckOperation(store, o.Kind, o.Level); err != nil {
			return err
		}
	}
	return nil
}

// Unit is the unit of a parameter's value.
type Unit uint8

// The units of parameters.
const (
	Integer Unit = iota // a whole number
	Number              // any number, such as a rate per second
	Seconds             // a duration, written as 10s or 5m
	Bytes               // a size, written as 512 or 4KiB
)

// Parameter is a parameter of an application. Several applications may use the same key, but only
// with the same unit.
type Parameter struct {
	Key            string // key in scenario files
	Meaning        string // a phrase for help: "its nodes"
	DifferenceName string // name in sentences about differences between two loads: "the nodes"
	Unit           Unit
	// Default is the value if none is given. Min and Max are the bounds.
	Default, Min, Max float64
}

// Settings holds the values of an application's parameters, in the parameters' units. It is indexed
// by key.
type Settings map[string]float64

// Int returns the setting as a whole number.
func (s Settings) Int(key string) int { return int(s[key]) }

// Duration returns the setting as a duration.
func (s Settings) Duration(key string) time.Duration {
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

// SizeParameter returns the parameter with this key if SizeParameters lists it, or nil.
func (d *Definition) SizeParameter(key string) *Parameter {
	for i := range d.Parameters {
		if p := &d.Parameters[i]; p.Key == key && slices.Contains(d.SizeParameters, key) {
			return p
		}
	}
	return nil
}

// OutOfBounds returns the first parameter whose value is out of bounds, or nil if all are within
// bounds.
func (d *Definition) OutOfBounds(s Settings) *Parameter {
	for i := range d.Parameters {
		p := &d.Parameters[i]
		if v := s[p.Key]; !(v >= p.Min && v <= p.Max) { // the comparison also rejects NaN
			return p
		}
	}
	return nil
}

// Profile describes the average load that an application generates. Reports, thresholds and
// warnings use it instead of the actual calls.
type Profile struct {
	Calls []Call
	// Existing counts the objects that already exist when the load begins.
	Existing uint64
	// KeySize is the approximate size of a key after the prefix. ValueSize is the mean size of
	// written values. Both are in bytes.
	KeySize, ValueSize int
	// Watchers is the number of watchers, or 0 if the application watches nothing. Streams is the
	// number of watch streams that the watchers use.
	Watchers, Streams int
	PreviousValues    bool // watch events contain previous values
	// Connections is the number of connections, if the application determines which connection each
	// call uses. 0 means that the scenario determines the number.
	Connections int
}

// Call is a kind of call that the application sends.
type Call struct {
	Name      string // such as "create pod"; a row in the report
	Kind      kv.Kind
	Level     kv.Consistency
	PerSecond float64
}

// PerSecond returns how many calls of all kinds together become due per second.
func (p *Profile) PerSecond() (sum float64) {
	for i := range p.Calls {
		sum += p.Calls[i].PerSecond
	}
	return sum
}
