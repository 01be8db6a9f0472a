package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/registry"
)

// setting is a parameter of applications as a value. Those that several applications
// have of one key are one: its bounds are the widest.
type setting struct {
	app.Parameter
	of []string // the names of applications that have it
}

// settings are those of all applications, in their order.
func settings() (all []*setting) {
	byKey := map[string]*setting{}
	for _, app := range registry.All() {
		d := app.Definition()
		for _, p := range d.Parameters {
			s := byKey[p.Key]
			if s == nil {
				s = &setting{Parameter: p}
				byKey[p.Key], all = s, append(all, s)
			}
			s.of = append(s.of, d.Name)
			s.Least, s.Most = min(s.Least, p.Least), max(s.Most, p.Most)
		}
	}
	return all
}

var unitWords = map[app.Unit]string{app.Whole: "N", app.Number: "X", app.Seconds: "DURATION", app.Bytes: "SIZE"}

func (s *setting) hint() string { return unitWords[s.Unit] }

func (s *setting) bounds() string {
	if s.Unit == app.Whole || s.Unit == app.Number && s.Least == math.Trunc(s.Least) && s.Most == math.Trunc(s.Most) {
		return between(int64(s.Least), int64(s.Most))
	}
	return s.show(s.Least) + " to " + s.show(s.Most)
}

// number reads what show writes.
func (s *setting) number(text string) (float64, error) {
	switch s.Unit {
	case app.Whole:
		n, err := ParseWhole(text)
		return float64(n), err
	case app.Seconds:
		d, err := ParseDuration(text)
		return d.Seconds(), err
	case app.Bytes:
		n, err := ParseFlagSize(text)
		return float64(n), err
	}
	return ParseNumber(text)
}

func (s *setting) show(v float64) string {
	switch s.Unit {
	case app.Seconds:
		return FormatDuration(time.Duration(math.Round(v * float64(time.Second))))
	case app.Whole, app.Bytes:
		return fmt.Sprintf("%.0f", v)
	}
	return app.Format(v)
}

func (s *setting) parse(l *Load, text string) error {
	v, err := s.number(text)
	if err == nil {
		l.Application.set(s.Key, v)
	}
	return err
}

func (s *setting) read(d *draft, key string, n *node) error {
	v, err := parsed(n, key, s.number)
	if err == nil {
		d.load.Application.set(s.Key, v)
	}
	return err
}

// check has nothing to do: an application is checked as a whole.
func (s *setting) check(*checks, string, *Load) {}

func (s *setting) text(l *Load) string {
	if v, ok := l.Application.Settings[s.Key]; ok {
		return s.show(v)
	}
	return ""
}

// encode writes a length of time as scenario files have it, and anything else as a
// number.
func (s *setting) encode(l *Load) any {
	v, ok := l.Application.Settings[s.Key]
	switch {
	case !ok:
		return nil
	case s.Unit == app.Seconds:
		return s.show(v)
	}
	return v
}

func (s *setting) decode(l *Load, b json.RawMessage) error {
	if s.Unit == app.Seconds {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		return s.parse(l, strings.TrimSpace(text))
	}
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	l.Application.set(s.Key, v)
	return nil
}
