package measure

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// filled returns a second in which every field has a value.
func filled(r *rand.Rand, cells, perCell int) *Second {
	s := &Second{Phase: Measured, Index: r.IntN(1000), Length: 1e9}
	fill(r, reflect.ValueOf(s).Elem())
	s.Phase, s.Index = Measured, r.IntN(1000)
	s.Outcomes, s.Due = [kv.NumOutcomes]uint64{}, 0
	s.SlotDetail = &SlotDetail{}
	for range r.IntN(20) {
		of := Series{Kind: kv.Kind(r.IntN(int(kv.NumKinds))), Consistency: kv.Local, Member: r.Uint64N(3)}
		s.SlotDetail.CountSuccess(&of, r.Int64N(1e9))
		s.SlotDetail.CountFailure(of.Kind, kv.Outcome(r.IntN(int(kv.NumOutcomes))), r.Int64N(1e9), r.Int64N(1e10))
		s.SlotDetail.AddWait(r.Uint32(), r.Int64N(1e12), r.Int64N(1e9))
		s.SlotDetail.CountEvent(r.Int64N(1e12)-1e8, r.Int64N(1e9))
		s.SlotDetail.CountMissing(r.Uint32N(3), r.Uint32N(3), r.Int64N(1e9))
		s.SlotDetail.CountWatcherEnd(r.IntN(2) == 0, r.Int64N(1e9))
		s.SlotDetail.AddLeaseEnd(int64(r.Uint64()), r.IntN(2) == 0, r.Int64N(1e9)) // #nosec G115 -- any number
	}
	for i := range cells {
		c := &Cell{Series: Series{Kind: kv.Kind(i) % kv.NumKinds, Consistency: kv.Local, Member: r.Uint64(), Term: uint64(i)}}
		c.Response, c.Service, c.Failed[3] = drawn(r, perCell), drawn(r, perCell), drawn(r, 3)
		s.Outcomes[kv.OK] += uint64(perCell)
		s.Outcomes[kv.NotSent+3] += 3
		s.Due += uint64(perCell) + 3
		s.Cells = append(s.Cells, c)
	}
	return s
}

func drawn(r *rand.Rand, n int) *Histogram {
	h := NewHistogram()
	for range n {
		Record(h, int64(1e5*r.ExpFloat64()))
	}
	return h
}

// fill sets every number in v to a random value, and adds times to every histogram.
func fill(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[*Histogram]():
		v.Set(reflect.ValueOf(drawn(r, 5)))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case v.CanUint() && v.Kind() == reflect.Uint64:
		v.SetUint(1 + uint64(r.IntN(1<<30)))
	case v.CanInt():
		v.SetInt(1 + int64(r.IntN(1<<30)))
	}
}

// Decoding returns the second that was encoded, with all fields.
func TestSecondsSurviveEncoding(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		s := filled(r, r.IntN(6), 1+r.IntN(1000))
		got, err := ReadSecond(AppendSecond(nil, s))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(s, got) {
			t.Fatalf("%+v became %+v", s, got)
		}
	}
	if h, err := ReadHistogram(AppendHistogram(nil, nil)); err != nil || h.TotalCount() != 0 {
		t.Errorf("a nil histogram is read as %v, %v", h, err)
	}
	s := filled(r, 1, 50_000)
	if n := len(AppendSecond(nil, s)); n > 40_000 {
		t.Errorf("a second with 50,000 operations is encoded in %d bytes", n)
	}
}

// If a second contains more members than the encoding distinguishes, no operation is lost.
func TestEncodingMergesTooManyMembers(t *testing.T) {
	settle.SkipUnderRace(t)
	s := filled(rand.New(rand.NewPCG(3, 4)), 400, 10)
	before := len(s.Cells)
	got, err := ReadSecond(AppendSecond(nil, s))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Cells) >= before || len(s.Cells) != before || got.Due != s.Due || got.Unattributed <= s.Unattributed {
		t.Errorf("%d cells became %d, with %d unattributed operations", before, len(got.Cells), got.Unattributed)
	}
}

// If cells are merged into an existing unnamed series, encoding does not change the one-second
// record. Only the operations of the merged cells are added to the unattributed operations. Those
// that were already in this series are not.
func TestEncodingDoesNotChangeTheSecond(t *testing.T) {
	settle.SkipUnderRace(t)
	s := filled(rand.New(rand.NewPCG(3, 4)), 400, 10)
	for _, i := range []int{0, 399} {
		s.Cells[i].Series = Series{Kind: kv.Put, Consistency: kv.Local}
	}
	s.Cells[300].Kind = kv.Put
	before := s.Cells[0].Response.TotalCount()
	first := AppendSecond(nil, s)
	if s.Cells[0].Response.TotalCount() != before || !bytes.Equal(first, AppendSecond(nil, s)) {
		t.Errorf("encoding changed the second: its first cell had %d operations and has %d", before, s.Cells[0].Response.TotalCount())
	}
	got, err := ReadSecond(first)
	if err != nil {
		t.Fatal(err)
	}
	named := uint64(0)
	for _, c := range got.Cells {
		if c.Series != c.WithoutMember() {
			named++
		}
	}
	if want := s.Unattributed + (398-named)*13; got.Unattributed != want {
		t.Errorf("%d operations are unattributed, want %d", got.Unattributed, want)
	}
}

func TestReadSecondRefusesInvalidInput(t *testing.T) {
	whole := AppendSecond(nil, filled(rand.New(rand.NewPCG(5, 6)), 2, 10))
	lying := filled(rand.New(rand.NewPCG(5, 6)), 2, 10)
	lying.Due++
	for want, b := range map[string][]byte{
		"ends too early":      whole[:len(whole)-1],
		"continues after":     append(bytes.Clone(whole), 0),
		"too large":           append([]byte{200}, whole[1:]...),
		"operations were due": AppendSecond(nil, lying),
	} {
		if _, err := ReadSecond(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := ReadHistogram([]byte{1, 0xff, 0xff, 0x7f, 1}); err == nil {
		t.Error("a histogram with a count beyond the last place was accepted")
	}
}

// Decoding always terminates. Encoding the decoded second again yields an equal second.
func FuzzReadSecond(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	f.Add([]byte{})
	for cells := range 3 {
		f.Add(AppendSecond(nil, filled(r, cells, 10)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadSecond(b)
		if err != nil {
			return
		}
		again, err := ReadSecond(AppendSecond(nil, s))
		if err != nil || again.Due != s.Due || again.Done != s.Done || !reflect.DeepEqual(again.SlotDetail, s.SlotDetail) {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

func BenchmarkAppendSecond(b *testing.B) {
	s := filled(rand.New(rand.NewPCG(1, 2)), 6, 10_000)
	var out []byte
	for b.Loop() {
		out = AppendSecond(out[:0], s)
	}
	b.ReportMetric(float64(len(out)), "bytes")
}

func BenchmarkReadSecond(b *testing.B) {
	in := AppendSecond(nil, filled(rand.New(rand.NewPCG(1, 2)), 6, 10_000))
	for b.Loop() {
		if _, err := ReadSecond(in); err != nil {
			b.Fatal(err)
		}
	}
}
