package scenario

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// leastScaled is the shortest duration after scaling. A shorter window would not be meaningful.
const leastScaled = time.Second

// Scaled holds the values of a trial before scaling. A field is 0 if scaling did not change the
// value.
type Scaled struct {
	Factor      float64
	Total       uint64
	KeySpace    uint64
	Clients     int
	Connections int
	Duration    time.Duration
	Warmup      time.Duration
}

// CheckScale returns an error, in one sentence, if a factor is not valid.
func CheckScale(factor float64) error {
	if !(factor > 0) || math.IsInf(factor, 0) {
		return problem("scale", "the scale is %s, but must be a number above 0, such as 0.01", text.FormatNumber(factor))
	}
	return nil
}

// scale multiplies the sizes of the trial by the factor, and stores the previous values in
// scaledFrom. It also scales numbers in the trial's name.
func (b *builder) scale() {
	if b.options.Scale == 0 {
		return
	}
	l, was := &b.load, &Scaled{Factor: b.options.Scale}
	b.scaledFrom = was
	scaleOne(b, "total", &l.Total, &was.Total)
	switch { // a key space that is as large as the total is scaled with it
	case !b.layer.hasKey("key-space"):
		was.KeySpace = was.Total
	case l.KeySpace == was.Total && b.layer["total"].at.set == "":
		scaleOne(b, "key-space", &l.KeySpace, &was.KeySpace)
	}
	if !b.layer.hasKey("rate") { // an open loop keeps its rate, and the connections that it needs for the rate
		scaleOne(b, "clients", &l.Clients, &was.Clients)
		scaleOne(b, "connections", &l.Connections, &was.Connections)
	}
	if b.scaleDuration && b.layer["duration"].at.set == "" {
		was.Duration, l.Duration = l.Duration, scaledSpan(l.Duration, was.Factor)
	}
	if b.scaleDuration && b.layer["warmup"].at.set == "" {
		was.Warmup, l.Warmup = l.Warmup, scaledSpan(l.Warmup, was.Factor)
	}
}

// scaleOne scales a number, with two exceptions. A number that was set on the command line keeps
// its value, because the user chose it. An invalid number is reported elsewhere.
func scaleOne[T int | uint64](b *builder, key string, now, was *T) {
	given := b.layer[key]
	if *was = *now; *now < 1 || given.at.set != "" {
		return
	}
	*now = scaled(*now, b.options.Scale)
	if given.value != nil {
		b.labels[key] = fmt.Sprint(*now)
	}
}

// scaled returns n times the factor, rounded, but at least 1.
func scaled[T int | uint64](n T, factor float64) T {
	if x := math.Round(float64(n) * factor); x < 1<<62 {
		return T(max(x, 1))
	}
	return n // far above any limit
}

// leastKeySpace keeps a scaled key space large enough for a transaction. It also limits the number
// of watched keys to the size of the key space.
func (b *builder) leastKeySpace() {
	l := &b.load
	if b.scaledFrom == nil {
		return
	}
	least := 0
	if l.hasKind(isTxn) {
		least = l.TxnKeys
	}
	if l.hasKind(isSTM) {
		least = max(least, l.STM.KeysPerTxn)
	}
	l.KeySpace = max(l.KeySpace, min(uint64(max(least, 0)), b.scaledFrom.KeySpace))
	if l.Watch != nil {
		l.Watch.WatchedKeys = min(l.Watch.WatchedKeys, l.KeySpace)
	}
}

func scaledSpan(d time.Duration, f float64) time.Duration {
	x := float64(d) * f
	if x > float64(MaxDuration) {
		return d
	}
	return max(time.Duration(x).Round(time.Millisecond), min(d, leastScaled))
}

// note describes how a load differs from the load in the file.
func (s *Scaled) note(l *Load) string {
	var parts []string
	add := func(now, was uint64, noun string) {
		if was != 0 && now != was {
			parts = append(parts, text.Plural(now, noun)+" instead of "+text.Count(was))
		}
	}
	add(l.Total, s.Total, "operation")
	add(l.KeySpace, s.KeySpace, "key")
	add(uint64(l.Clients), uint64(s.Clients), "client")
	add(uint64(l.Connections), uint64(s.Connections), "connection")
	if s.Duration != 0 && s.Duration != l.Duration {
		parts = append(parts, fmt.Sprintf("a window of %v instead of %v", l.Duration, s.Duration))
	}
	if s.Warmup != 0 && s.Warmup != l.Warmup {
		parts = append(parts, fmt.Sprintf("a warm-up of %v instead of %v", l.Warmup, s.Warmup))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("scaled by %s, which does not change this trial", text.FormatNumber(s.Factor))
	}
	return fmt.Sprintf("scaled by %s: %s; everything else is unchanged", text.FormatNumber(s.Factor), strings.Join(parts, ", "))
}
