package scenario

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Application is a load that is what an application sends, instead of a mix of
// operations on a key space: which calls, when, of which keys. It says all of the load
// but for where it goes, over how many connections and for how long. The zero value is
// none. A record has it as JSON, so that a report needs no application to show it.
type Application struct {
	Name     string    `json:"name"`
	Text     string    `json:"text"` // the settings in words
	Settings []Setting `json:"settings"`
	// Compacts reports whether the application compacts the store's history.
	Compacts bool `json:"compacts,omitempty"`
}

// Setting is the value of one parameter of an application.
type Setting struct {
	Key   string `json:"key"`
	Name  string `json:"name"`  // in sentences: application.Parameter.Differs
	Value string `json:"value"` // as scenario files have it
}

// NewApplication returns an application with settings, of which each has a value.
func NewApplication(a application.Application, values application.Settings) Application {
	d := a.Definition()
	out := Application{Name: d.Name, Text: a.Phrase(values), Compacts: d.Compacts}
	for _, p := range d.Parameters {
		out.set(p, values[p.Key])
	}
	return out
}

// set gives the application a setting.
func (a *Application) set(p application.Parameter, v float64) {
	given := Setting{p.Key, p.Differs, settingText(p.Unit, v)}
	a.Settings = slices.Clone(a.Settings) // several loads may have it
	if i := a.index(p.Key); i >= 0 {
		a.Settings[i] = given
		return
	}
	a.Settings = append(a.Settings, given)
}

// index returns the place of a setting; -1 if it was not given.
func (a *Application) index(key string) int {
	return slices.IndexFunc(a.Settings, func(s Setting) bool { return s.Key == key })
}

// setting returns the value of a setting as scenario files have it; empty without one.
func (a *Application) setting(key string) string {
	if i := a.index(key); i >= 0 {
		return a.Settings[i].Value
	}
	return ""
}

// Values returns the settings by their keys, in the units of their parameters.
func (a *Application) Values() application.Settings {
	all := application.Settings{}
	for _, s := range a.Settings {
		v, err := text.ParseNumber(s.Value)
		if err != nil {
			d, _ := text.ParseDuration(s.Value) // what is neither counts as 0
			v = d.Seconds()
		}
		all[s.Key] = v
	}
	return all
}

// settingText returns a value as scenario files have it.
func settingText(u application.Unit, v float64) string {
	switch u {
	case application.Seconds:
		return text.FormatDuration(time.Duration(math.Round(v * float64(time.Second))))
	case application.Whole, application.Bytes:
		return fmt.Sprintf("%.0f", v)
	}
	return application.Format(v)
}
