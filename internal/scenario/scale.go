package scenario

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// minScaledDuration is the shortest duration after scaling. A shorter window would not be
// meaningful.
const minScaledDuration = time.Second

// Unscaled holds the values of a trial before scaling. A field is 0 if scaling did not change the
// value.
type Unscaled struct {
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
		return newProblem("scale", "the scale is %s, but must be a number above 0, such as 0.01", text.FormatNumber(factor))
	}
	return nil
}

// scale multiplies the sizes of the trial by the factor, and stores the previous values in
// unscaled. It also scales numbers in the trial's name.
func (b *builder) scale() {
	if b.options.Scale == 0 {
		return
	}
	l, unscaled := &b.load, &Unscaled{Factor: b.options.Scale}
	b.unscaled = unscaled
	scaleValue(b, "total", &l.Total, &unscaled.Total)
	switch { // a key space as large as the total is scaled by the same factor
	case !b.layer.hasKey("key-space"):
		unscaled.KeySpace = unscaled.Total
	case l.KeySpace == unscaled.Total && b.layer["total"].Pos.Assignment == "":
		scaleValue(b, "key-space", &l.KeySpace, &unscaled.KeySpace)
	}
	if !b.layer.hasKey("rate") { // an open loop keeps its rate, and the connections that it needs for the rate
		scaleValue(b, "clients", &l.Clients, &unscaled.Clients)
		scaleValue(b, "connections", &l.Connections, &unscaled.Connections)
	}
	if b.scaleDuration && b.layer["duration"].Pos.Assignment == "" {
		unscaled.Duration, l.Duration = l.Duration, scaleDurationBy(l.Duration, unscaled.Factor)
	}
	if b.scaleDuration && b.layer["warmup"].Pos.Assignment == "" {
		unscaled.Warmup, l.Warmup = l.Warmup, scaleDurationBy(l.Warmup, unscaled.Factor)
	}
}

// scaleValue scales a number, with two exceptions. A number that was set on the command line keeps
// its value, because the user chose it. An invalid number is reported elsewhere.
func scaleValue[T int | uint64](b *builder, key string, value, original *T) {
	given := b.layer[key]
	if *original = *value; *value < 1 || given.Pos.Assignment != "" {
		return
	}
	*value = scaled(*value, b.options.Scale)
	if given.Value != nil {
		b.labels[key] = fmt.Sprint(*value)
	}
}

// scaled returns n times the factor, rounded, but at least 1.
func scaled[T int | uint64](n T, factor float64) T {
	if x := math.Round(float64(n) * factor); x < 1<<62 {
		return T(max(x, 1))
	}
	return n // far above any limit
}

// clampKeySpace keeps a scaled key space large enough for a transaction. It also limits the number
// of watched keys to the size of the key space.
func (b *builder) clampKeySpace() {
	l := &b.load
	if b.unscaled == nil {
		return
	}
	minKeys := 0
	if l.hasKind(isTxn) {
		minKeys = l.TxnKeys
	}
	if l.hasKind(isSTM) {
		minKeys = max(minKeys, l.STM.KeysPerTxn)
	}
	l.KeySpace = max(l.KeySpace, min(uint64(max(minKeys, 0)), b.unscaled.KeySpace))
	if l.Watch != nil {
		l.Watch.WatchedKeys = min(l.Watch.WatchedKeys, l.KeySpace)
	}
}

func scaleDurationBy(d time.Duration, f float64) time.Duration {
	x := float64(d) * f
	if x > float64(MaxDuration) {
		return d
	}
	return max(time.Duration(x).Round(time.Millisecond), min(d, minScaledDuration))
}

// note describes how a load differs from the load in the file.
func (s *Unscaled) note(l *Load) string {
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
