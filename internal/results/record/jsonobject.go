package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Object is a JSON object whose members stand in the order given: one whose
// members are not known before the program runs, such as figures.
type Object []ObjectMember

// ObjectMember is a member of an Object.
type ObjectMember struct {
	Name  string
	Value any
}

// Add adds a member at the end.
func (o *Object) Add(name string, value any) { *o = append(*o, ObjectMember{Name: name, Value: value}) }

// MarshalJSON writes the object.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.Value)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// within adds a member; one whose name has a point, to the object of the name's
// first part, which it makes at need. No name adds nothing.
func (o *Object) within(name string, value any) {
	of, inner, nested := strings.Cut(name, ".")
	switch {
	case name == "":
	case !nested:
		o.Add(name, value)
	default:
		i := slices.IndexFunc(*o, func(m ObjectMember) bool { return m.Name == of })
		if i < 0 {
			i = len(*o)
			o.Add(of, &Object{})
		}
		(*o)[i].Value.(*Object).Add(inner, value)
	}
}

// AddAtEnd adds the trial's figures that the last line of --interval has.
func (o *Object) AddAtEnd(t *Trial) {
	o.addFigures(t, true, func(field, _ string, atEnd bool) string {
		if !atEnd {
			return ""
		}
		return field
	})
}

// addFigures adds the registry's figures that name has a name for, by their field
// in the trial's JSON object and what lines call them, and then the distributions.
// A figure that is not known is null, as a rate is where rates are not.
func (o *Object) addFigures(t *Trial, rates bool, name func(field, line string, atEnd bool) string) {
	var times []*Distribution
	for _, f := range Figures() {
		switch d := f.Times; {
		case f.OfWatch() && t.Watch == nil:
		case d == nil:
			var value any
			if v := f.Of(t); v.Known && (rates || f.Unit != measure.Rate) {
				value = v.Number
			}
			o.within(name(f.Field, f.Line, f.AtEnd), value)
		case !slices.Contains(times, d):
			times = append(times, d)
		}
	}
	for _, d := range times {
		of, _ := d.Of(t)
		o.within(name(d.Field, d.Line, d.AtEnd), of)
	}
}
