package measure

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// handedOver returns the seconds that a shard adds in a warm-up and a window. It omits some
// seconds.
func handedOver(r *rand.Rand, seconds int) (all []*Second) {
	for i := range seconds {
		if r.IntN(20) == 0 {
			continue
		}
		s := filled(r, r.IntN(2), 1+r.IntN(20))
		s.Index = i
		if s.Phase = Warmup; i >= 3 {
			s.Phase, s.Index = Measured, i-3
		}
		all = append(all, s)
	}
	return all
}

// unionOf merges the seconds of all shards, and returns them in order.
func unionOf(shards [][]*Second) (all []*Second) {
	of := map[secondID]*Second{}
	for _, shard := range shards {
		for _, s := range shard {
			to := of[s.id()]
			if to == nil {
				to = &Second{Phase: s.Phase, Index: s.Index}
				of[s.id()], all = to, append(all, to)
			}
			to.merge(s)
		}
	}
	for _, s := range all {
		slices.SortFunc(s.Cells, func(a, b *Cell) int { return a.compare(&b.Series) })
	}
	slices.SortFunc(all, func(a, b *Second) int { return a.id().compare(b.id()) })
	return all
}

// The seconds of many workers may interleave in any way. They may be late, omitted, or missing at
// the end. Each merged second is the sum of its parts, step by step. The collector delivers the
// merged seconds in order, each exactly once. It keeps only a few of the waiting seconds as
// histograms.
func TestAnyInterleavingYieldsTheUnion(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(11, 12))
	for range 2 * times(t) {
		shards := make([][]*Second, 2+r.IntN(4))
		for i := range shards {
			shards[i] = handedOver(r, 4+r.IntN(8))
		}
		want := unionOf(shards)
		c := NewCollector(len(shards))
		var got []*Second
		c.OnSecond = func(s *Second) {
			one := &Second{Phase: s.Phase, Index: s.Index}
			one.merge(s)
			got = append(got, one)
		}
		c.Recycle = func(*Histogram) {}
		straggler := r.IntN(len(shards)) // adds its seconds after most other shards have ended
		ended := make([]bool, len(shards))
		for left := len(shards); left > 0; {
			i := r.IntN(len(shards))
			if i == straggler && left > 2 && r.IntN(50) > 0 {
				continue
			}
			switch {
			case len(shards[i]) > 0 && r.IntN(2) == 0:
				before := AppendSecond(nil, shards[i][0])
				c.AddCopy(i, shards[i][0])
				if !bytes.Equal(before, AppendSecond(nil, shards[i][0])) {
					t.Fatal("AddCopy changed the second that it copied")
				}
				shards[i] = shards[i][1:]
			case len(shards[i]) > 0:
				c.Add(i, shards[i][0])
				shards[i] = shards[i][1:]
			case !ended[i]:
				c.End(i)
				ended[i] = true
				left--
			}
			open, packed := 0, 0
			for _, e := range c.pending.seconds {
				if packed += len(e.bytes); e.merged != nil {
					open++
				}
			}
			if open > maxDecoded || packed != c.pending.encodedSize {
				t.Fatalf("%d pending seconds are decoded; the encoded seconds have %d bytes, but encodedSize is %d", open, c.pending.encodedSize, packed)
			}
		}
		if len(got) != len(want) || len(c.pending.seconds) != 0 || c.pending.encodedSize != 0 {
			t.Fatalf("%d seconds were delivered, want %d; %d are still pending", len(got), len(want), len(c.pending.seconds))
		}
		for i := range want {
			if !reflect.DeepEqual(sorted(got[i]), sorted(want[i])) {
				t.Fatalf("second %d of %v is\n%+v\nwant\n%+v", want[i].Index, want[i].Phase, got[i], want[i])
			}
		}
	}
}

// sorted sorts the series, even if the one-second record has only one part.
func sorted(s *Second) *Second {
	slices.SortFunc(s.Cells, func(a, b *Cell) int { return a.compare(&b.Series) })
	return s
}

// Straggler finds a shard for which too many seconds wait. After this shard has ended, the
// collector delivers all seconds.
func TestFindsTheStraggler(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(13, 14))
	c := NewCollector(3)
	passed := 0
	c.OnSecond = func(*Second) { passed++ }
	c.Add(1, &Second{Phase: Measured})
	const most = 100_000
	for i := range 10_000 {
		for _, shard := range []int{0, 2} {
			s := filled(r, 2, 200)
			s.Index = i
			c.Add(shard, s)
		}
		shard, late := c.Straggler(most)
		if late != (c.pending.encodedSize > most) || late && shard != 1 {
			t.Fatalf("Straggler returned shard %d with %d pending bytes: %v", shard, c.pending.encodedSize, late)
		}
		if !late {
			continue
		}
		if passed != 1 || i < 10 {
			t.Errorf("%d seconds were delivered while the straggler was late, want 1; %d more were pending", passed, i)
		}
		if c.End(1); passed != i+1 || c.pending.encodedSize != 0 {
			t.Errorf("%d of %d seconds were delivered", passed, i+1)
		}
		return
	}
	t.Error("no straggler was found")
}

// Decoding into reused histograms yields the seconds that were encoded. An invalid second does not
// affect other seconds.
func TestReaderReusesHistograms(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(15, 16))
	var reader Reader
	refused := errors.New("no")
	for i := range 30 {
		want := filled(r, 1+r.IntN(4), 1+r.IntN(500))
		b := AppendSecond(nil, want)
		if err := reader.Read(b[:len(b)-1], func(*Second) error { return nil }); err == nil {
			t.Fatal("an incomplete second was read")
		}
		err := reader.Read(b, func(got *Second) error {
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("%+v became %+v", want, got)
			}
			got.recycle(func(h *Histogram) {
				if h != nil {
					h.Reset()
					reader.Recycle(h)
				}
			})
			return refused
		})
		if !errors.Is(err, refused) || len(reader.spare) == 0 || len(reader.spare) > maxSpareHistograms {
			t.Fatalf("%d: %v, %d spare histograms", i, err, len(reader.spare))
		}
	}
}

// After several histograms are added to a Steps value, the value contains the same steps as the sum
// of the histograms.
func TestStepsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	var s Steps
	var sum *Histogram
	if s.Add(nil); s.Histogram() != nil {
		t.Error("adding a nil histogram to an empty Steps value created a histogram")
	}
	for range 20 {
		h := drawn(r, 1+r.IntN(300))
		Record(h, r.Int64N(2*Highest))
		s.Add(h)
		sum = Add(sum, h)
		if !reflect.DeepEqual(s.Histogram(), sum) {
			t.Fatal("the steps differ from the steps of the summed histogram")
		}
	}
}
