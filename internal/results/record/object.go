package record

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object whose members have a fixed order. It is used if the names of the members
// are known only at run time, for example if they are names of figures.
type Object []ObjectMember

// ObjectMember is a member of an Object.
type ObjectMember struct {
	Name  string
	Value any
}

// Add appends a member.
func (o *Object) Add(name string, value any) { *o = append(*o, ObjectMember{Name: name, Value: value}) }

// MarshalJSON encodes the object.
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
