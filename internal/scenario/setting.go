package scenario

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// setting is the value of an application's parameter in a load. Parameters with the same key in
// several applications are merged; the bounds are then the widest ones.
type setting struct {
	application.Parameter
	applications []string // names of the applications that have this parameter
	// severalDefaults is set if the applications have different defaults.
	severalDefaults bool
}

// settingParameters returns the parameters of applications.
func settingParameters(apps []application.Application) (all []*Parameter) {
	for _, s := range settings(apps) {
		all = append(all, &Parameter{Key: s.Key, Meaning: "for " + strings.Join(s.applications, ", ") + ": " + s.Meaning, DifferenceName: s.DifferenceName, Presentation: &applicationPresentation, value: s})
	}
	return all
}

// settings returns the merged parameters of all applications, in order.
func settings(apps []application.Application) (all []*setting) {
	byKey := map[string]*setting{}
	for _, app := range apps {
		d := app.Definition()
		for _, p := range d.Parameters {
			s := byKey[p.Key]
			if s == nil {
				s = &setting{Parameter: p}
				byKey[p.Key], all = s, append(all, s)
			}
			s.applications = append(s.applications, d.Name)
			s.severalDefaults = s.severalDefaults || s.Default != p.Default
			s.Min, s.Max = min(s.Min, p.Min), max(s.Max, p.Max)
		}
	}
	return all
}

var unitWords = map[application.Unit]string{application.Integer: "N", application.Number: "X", application.Seconds: "DURATION", application.Bytes: "SIZE"}

func (s *setting) hint() string { return unitWords[s.Unit] }

func (s *setting) schema() jsonSchema { return settingSchema(&s.Parameter) }

func (s *setting) bounds() string {
	if s.Unit == application.Integer || s.Unit == application.Number && s.Min == math.Trunc(s.Min) && s.Max == math.Trunc(s.Max) {
		return formatRange(int64(s.Min), int64(s.Max))
	}
	return settingText(s.Unit, s.Min) + " to " + settingText(s.Unit, s.Max)
}

// number parses a value in the form that settingText returns.
func (s *setting) number(value string) (float64, error) {
	switch s.Unit {
	case application.Integer:
		n, err := text.ParseInteger(value)
		return float64(n), err
	case application.Seconds:
		d, err := text.ParseDuration(value)
		return d.Seconds(), err
	case application.Bytes:
		n, err := text.ParseFlagSize(value)
		return float64(n), err
	}
	return text.ParseNumber(value)
}

func (s *setting) parse(l *Load, text string) error {
	v, err := s.number(text)
	if err == nil {
		l.Application.set(s.Parameter, v)
	}
	return err
}

func (s *setting) read(d *draft, key string, n *file.Node) error {
	v, err := file.ParseWord(n, key, s.number)
	if err == nil {
		d.load.Application.set(s.Parameter, v)
	}
	return err
}

// check does nothing, because an application's settings are checked together.
func (s *setting) check(*checks, string, *Load) {}

func (s *setting) text(l *Load) string { return l.Application.setting(s.Key) }

// encode and decode do nothing, because a setting is recorded with its application.
func (s *setting) encode(*Load) any                    { return nil }
func (s *setting) decode(*Load, json.RawMessage) error { return nil }

// applicationParameter returns the parameter that names a load's application.
func applicationParameter(apps []application.Application) *Parameter {
	names := application.Names(apps)
	name := textValue(func(l *Load) *string { return &l.Application.Name }, "NAME", "`"+strings.Join(names, "`, `")+"`")
	name.fileSchema = words(append(names, "")...) // with an empty name, a trial uses no application even if defaults names one
	return &Parameter{Key: "application", Meaning: "load of an application, instead of operations on a key space", FileOnly: true, DifferenceName: "the application", Presentation: &applicationPresentation, value: applicationNameValue{name},
		column: &column{title: "application", cell: func(t *Trial) string { return t.Load.Application.Name }, optional: true, emptyText: "none"}}
}

// applicationNameValue is the parameter for the application's name. Records contain it together
// with the application's settings.
type applicationNameValue struct{ typedValue[string] }

func (n applicationNameValue) encode(l *Load) any {
	if l.Application.Name == "" {
		return nil
	}
	return l.Application
}

// decode reads an application from a record. It makes the texts printable, because the record may
// come from an untrusted source.
func (n applicationNameValue) decode(l *Load, b json.RawMessage) error {
	a := &l.Application
	if err := json.Unmarshal(b, a); err != nil {
		return err
	}
	shown := func(s *string) { *s = KeyText([]byte(*s)) }
	shown(&a.Name)
	shown(&a.Text)
	for i := range a.Settings {
		s := &a.Settings[i]
		shown(&s.Key)
		shown(&s.Name)
		shown(&s.Value)
	}
	return nil
}

// applicationKeys lists the keys whose values are determined by the application.
var applicationKeys = []string{
	"operation", "mix", "consistency", "clients", "key-space", "key-size", "value-size", "distribution", "range-key", "range-end", "range-limit",
	"count-only", "keys-only", "stream", "page-size", "txn-keys", "stm", "new-connection", "watch", "compact", "arrival", "rate", "total", "warmup",
	"preload", "threads",
}

var applicationPresentation = Presentation{"application", applicationText, applicationText}

func applicationText(l *Load) string {
	a := &l.Application
	if a.Text == "" {
		return a.Name
	}
	return a.Name + ": " + a.Text
}
