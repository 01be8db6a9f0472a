package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/readable"
)

// leastScaled is the shortest that scaling makes of a duration: what a window
// needs to show anything.
const leastScaled = time.Second

// Scaled is what a scaled trial asked for before. What scaling left as it was
// is 0.
type Scaled struct {
	Factor      float64
	Total       uint64
	KeySpace    uint64
	Clients     int
	Connections int
	Duration    time.Duration
	Warmup      time.Duration
}

// CheckScale says in one sentence what is wrong with a factor, or returns nil.
func CheckScale(factor float64) error {
	if !(factor > 0) || math.IsInf(factor, 0) {
		return problem("scale", "the scale is %s and must be a number above 0, such as 0.01", formatNumber(factor))
	}
	return nil
}

// scaled is n times the factor, rounded, and at least 1.
func scaled[T int | uint64](n T, factor float64) T {
	if x := math.Round(float64(n) * factor); x < 1<<62 {
		return T(max(x, 1))
	}
	return n // far above any limit
}

// scaledKeys are the keys whose values scaling changes by themselves. An open
// loop keeps its rate, and so the connections that it needs for that.
func (b *builder) scaledKeys() []string {
	if b.given("rate") {
		return []string{"total"}
	}
	return []string{"total", "clients", "connections"}
}

// scale replaces the values of the layer that scaling changes, and their
// labels in the name.
func (b *builder) scale(c *choice) {
	if b.options.Scale == 0 {
		return
	}
	was := map[string]*node{}
	for _, k := range b.scaledKeys() {
		was[k] = b.rescale(k, c)
	}
	// A key space that is as large as the total follows it.
	if s, ok := b.layer["key-space"]; ok && was["total"] != nil && number(s.value) == number(was["total"]) {
		b.rescale("key-space", c)
	}
}

// rescale changes one key's value and returns what it was; nil when the key is
// not given, or is no number, which is reported elsewhere.
func (b *builder) rescale(k string, c *choice) *node {
	s, ok := b.layer[k]
	if !ok || number(s.value) == 0 || s.at.line >= belowFile { // --set says what is meant
		return nil
	}
	n := *s.value
	n.text = strconv.FormatUint(scaled(number(s.value), b.options.Scale), 10)
	b.layer[k] = setting{s.at, &n}
	if _, ok := c.labels[k]; ok {
		c.labels[k] = label(&n, 1)
	}
	return s.value
}

// number is a whole number from 1, or 0 for anything else.
func number(n *node) uint64 {
	i, err := n.whole("")
	return uint64(max(i, 0)) * uint64(boolean(err == nil))
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settleScale scales what the layer does not give, and notes what all was.
func (b *builder) settleScale(written layer) {
	f := b.options.Scale
	if f == 0 {
		return
	}
	l, was := &b.load, Scaled{Factor: f}
	asked := func(k string) uint64 {
		if s, ok := written[k]; ok {
			return number(s.value)
		}
		return 0
	}
	was.Total = asked("total")
	if !b.given("rate") {
		was.Clients, was.Connections = int(asked("clients")), int(asked("connections"))
		if !b.given("clients") {
			was.Clients, l.Clients = l.Clients, scaled(l.Clients, f)
		}
		if !b.given("connections") {
			was.Connections, l.Connections = l.Connections, scaled(l.Connections, f)
		}
	}
	if space := asked("key-space"); space == 0 || space == was.Total {
		was.KeySpace = was.Total // 0 without a total: the default stays
	}
	if b.scaleDuration {
		was.Duration, l.Duration = l.Duration, scaledSpan(l.Duration, f)
		was.Warmup, l.Warmup = l.Warmup, scaledSpan(l.Warmup, f)
	}
	b.scaledFrom = &was
}

// leastKeySpace keeps a scaled key space large enough for a transaction.
func (b *builder) leastKeySpace() {
	if b.scaledFrom != nil && b.load.has(isTxn) && b.load.TxnKeys > 0 {
		b.load.KeySpace = max(b.load.KeySpace, min(uint64(b.load.TxnKeys), b.scaledFrom.KeySpace))
	}
}

func scaledSpan(d time.Duration, f float64) time.Duration {
	x := float64(d) * f
	if x > float64(MaxDuration) {
		return d
	}
	return max(time.Duration(x).Round(time.Millisecond), min(d, leastScaled))
}

// note says how a load differs from what was written.
func (s *Scaled) note(l *Load) string {
	var parts []string
	add := func(now, was uint64, noun string) {
		if was != 0 && now != was {
			parts = append(parts, readable.Plural(now, noun)+" for "+readable.Count(was))
		}
	}
	add(l.Total, s.Total, "operation")
	add(l.KeySpace, s.KeySpace, "key")
	add(uint64(l.Clients), uint64(s.Clients), "client")
	add(uint64(l.Connections), uint64(s.Connections), "connection")
	if s.Duration != 0 && s.Duration != l.Duration {
		parts = append(parts, fmt.Sprintf("a window of %v for %v", l.Duration, s.Duration))
	}
	if s.Warmup != 0 && s.Warmup != l.Warmup {
		parts = append(parts, fmt.Sprintf("a warm-up of %v for %v", l.Warmup, s.Warmup))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("scaled by %s, which changed nothing here", formatNumber(s.Factor))
	}
	return fmt.Sprintf("scaled by %s: %s; all else is as written", formatNumber(s.Factor), strings.Join(parts, ", "))
}
