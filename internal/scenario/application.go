package scenario

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Application is a load that imitates an application instead of a mix of operations on a key space.
// The application determines everything about the load except the endpoints, the number of
// connections and the duration. The zero value means that the load imitates no application. Records
// store the value as JSON. The JSON contains all texts that reports show, so reports do not need
// the definition of the application.
type Application struct {
	Name     string    `json:"name"`
	Text     string    `json:"text"` // a phrase that describes the settings
	Settings []Setting `json:"settings"`
	// Compacts is set if the application compacts the store's history.
	Compacts bool `json:"compacts,omitempty"`
}

// Setting is the value of a parameter of an application.
type Setting struct {
	Key   string `json:"key"`
	Name  string `json:"name"`  // application.Parameter.DifferenceName, for sentences
	Value string `json:"value"` // as written in scenario files
}

// NewApplication returns an application with the given settings. values must contain a value for
// each parameter.
func NewApplication(a application.Application, values application.Settings) Application {
	d := a.Definition()
	out := Application{Name: d.Name, Text: a.Phrase(values), Compacts: d.Compacts}
	for _, p := range d.Parameters {
		out.set(p, values[p.Key])
	}
	return out
}

// set adds the setting for parameter p, or replaces its value.
func (a *Application) set(p application.Parameter, v float64) {
	setting := Setting{p.Key, p.DifferenceName, settingText(p.Unit, v)}
	a.Settings = slices.Clone(a.Settings) // several loads may share the list
	if i := a.index(p.Key); i >= 0 {
		a.Settings[i] = setting
		return
	}
	a.Settings = append(a.Settings, setting)
}

// index returns the index of a setting, or -1 if the setting was not given.
func (a *Application) index(key string) int {
	return slices.IndexFunc(a.Settings, func(s Setting) bool { return s.Key == key })
}

// setting returns the value of a setting as scenario files write it, or an empty string if the
// setting was not given.
func (a *Application) setting(key string) string {
	if i := a.index(key); i >= 0 {
		return a.Settings[i].Value
	}
	return ""
}

// Values returns the values of the settings by parameter key, in the units of the parameters.
func (a *Application) Values() application.Settings {
	all := application.Settings{}
	for _, s := range a.Settings {
		v, err := text.ParseNumber(s.Value)
		if err != nil {
			d, _ := text.ParseDuration(s.Value) // a value that is neither a number nor a duration counts as 0
			v = d.Seconds()
		}
		all[s.Key] = v
	}
	return all
}

// settingText formats a value as scenario files write it.
func settingText(u application.Unit, v float64) string {
	switch u {
	case application.Seconds:
		return text.FormatDuration(time.Duration(math.Round(v * float64(time.Second))))
	case application.Integer, application.Bytes:
		return fmt.Sprintf("%.0f", v)
	}
	return text.FormatNumber(v)
}
