package measure

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// A set of milliseconds that is written and read again is the same set.
func TestMillisecondsAsText(t *testing.T) {
	var m Milliseconds
	m.Add(999_999)
	m.Add(5_000_000)
	m.Add(1e9) // counts as the last millisecond
	want := "84" + strings.Repeat("0", 247) + "1"
	if b, err := m.MarshalText(); err != nil || string(b) != want {
		t.Errorf("the set is written as %s, %v", b, err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var m, again Milliseconds
		for range r.IntN(1000) {
			m.Add(r.Int64N(1e9))
		}
		b, err := m.MarshalText()
		if err == nil {
			err = again.UnmarshalText(b)
		}
		if err != nil || again != m {
			t.Fatalf("%s reads as %x, %v", b, again, err)
		}
	}
	for _, bad := range []string{"", want[1:], want + "0", "G" + want[1:], "A" + want[1:]} {
		if err := m.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// A second of the window that is written and read again is the same second.
func TestWindowSecondAsJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 50 {
		s := filled(r, 1, 1)
		s.Alive[15] &= 1<<(1000-15*64) - 1 // a second has no further milliseconds
		if i == 0 || reflect.ValueOf(*s.SlotDetail).IsZero() {
			s.SlotDetail = nil // an empty record is read as no record
		}
		p99 := []Figure{{}, {Failed: true}, knownFigure(1e9 * r.Float64())}[r.IntN(3)]
		w := NewWindowSecond(s, p99)
		b, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var again WindowSecond
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%v in %s", err, b)
		}
		if !reflect.DeepEqual(&again, w) || again.p99() != p99 {
			t.Fatalf("%+v is read as %+v from %s", *w, again, b)
		}
	}
	for _, bad := range []string{`{"operation":"putt","member":"1"}`, `{"operation":"get","consistency":"none","member":"1"}`, `{"operation":"get","member":"-"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Group)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
