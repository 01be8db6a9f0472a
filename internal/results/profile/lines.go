package profile

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxNoteLength is the maximum length of a comment in the scenario file, in characters.
const maxNoteLength = 400

// Lines returns the profile as a scenario file. Comments at the beginning of the file state facts
// that a scenario cannot express.
func (p *Profile) Lines() []string {
	var out []string
	note := func(format string, args ...any) {
		line := text.Line(fmt.Sprintf(format, args...), text.MaxOutput)
		if most := []rune(line); len(most) > maxNoteLength {
			line = string(most[:maxNoteLength]) + "..."
		}
		out = append(out, strings.TrimRight("# "+line, " "))
	}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	note("Derived from %s: %s of traffic to %s, recorded since %s.", filepath.Base(p.Path), seconds(p.Length), p.Header.Store, p.Header.Started.UTC().Format(time.RFC3339))
	note("")
	p.methodNotes(note)
	p.otherNotes(note)
	note("")
	note("Run this scenario on a new cluster, or replace the parameter `members` with `endpoints`.")
	say("name: recorded")
	say("seed: 1")
	say("")
	say("trials:")
	say("  - name: recorded")
	say("    store: %s", strconv.Quote(p.Header.Store))
	say("    members: 3")
	load := p.load()
	say("    connections: %d", load.connections)
	say("    arrival: poisson # on average, %s calls were in flight; the busiest second had %s calls", number(p.InFlight), text.Count(p.PeakPerSecond))
	if load.rate == p.PerSecond() {
		say("    rate: %s # calls per second; change it to scale the load", number(load.rate))
	} else {
		say("    rate: %s # calls per second; the rate in the recording is %.3g, which is outside the limits of a load (%s to %d)", number(load.rate), p.PerSecond(), number(minRate), scenario.MaxRate)
	}
	if load.inFlight > 0 {
		say("    max-in-flight: %d # limits the memory that requests of this size need", load.inFlight)
	}
	say("    duration: 30s")
	say("    warmup: 5s")
	p.mix(say)
	say("    key-size: %d # in the recording: median %d, 99th percentile %d", load.keySize, p.KeySize.Percentile(50), p.KeySize.Percentile(99))
	say("    value-size: %d # in the recording: median %d, 99th percentile %d, largest %d", load.valueSize, p.ValueSize.Percentile(50), p.ValueSize.Percentile(99), p.ValueSize.Percentile(100))
	if p.KeysEstimated {
		say("    key-space: %d # estimated", load.keySpace)
	} else {
		say("    key-space: %d", load.keySpace)
	}
	p.distribution(say)
	if p.hasKind(kv.Range, kv.TxnGet) {
		say("    range-limit: %d # median number of keys per range in the recording; 99th percentile %d", min(max(p.Read.Percentile(50), 1), maxRead), p.Read.Percentile(99))
	}
	if p.hasKind(kv.Txn) {
		say("    txn-keys: %d", load.txnKeys)
	}
	say("    preload: %v", load.keySpace <= scenario.MaxPreload)
	return out
}

// distribution adds the distribution of the keys.
func (p *Profile) distribution(addLine func(string, ...any)) {
	switch hot := float64(hotKeys(p.DistinctKeys)) / float64(max(p.DistinctKeys, 1)); {
	case hot == 0: // no call has a single key
		addLine("    distribution: uniform")
	case p.HotShare > hot+0.1:
		addLine("    distribution: {name: hotspot, hot-keys: %v, hot-operations: %s}", hotKeyShare, strconv.FormatFloat(min(p.HotShare, 1), 'f', 2, 64))
	default:
		addLine("    distribution: uniform # the most used %s of the keys received %s of the calls", text.Percent(hot, 0), text.Percent(p.HotShare, 0))
	}
}

func (p *Profile) hasKind(kinds ...kv.Kind) bool {
	for _, o := range p.Operations {
		for _, k := range kinds {
			if o.Kind == k {
				return true
			}
		}
	}
	return false
}

func (p *Profile) mix(addLine func(string, ...any)) {
	addLine("    mix: # weights in percent")
	all := float64(p.Calls())
	for _, o := range p.Operations {
		// Do not round a small share to 0: a weight must be above 0.
		share := strconv.FormatFloat(max(100*float64(o.Calls)/all, 0.001), 'f', 3, 64)
		if o.Kind.Reads() {
			addLine("      - {operation: %s, consistency: %s, weight: %s}", o.Kind, o.Level, share)
		} else {
			addLine("      - {operation: %s, weight: %s}", o.Kind, share)
		}
	}
}

func (p *Profile) methodNotes(addNote func(string, ...any)) {
	t := [][]string{{"call", "number", "a second", "median", "p99", "failed", "unanswered"}}
	for i := range p.Methods {
		m := &p.Methods[i]
		times := m.Times()
		t = append(t, []string{m.Name, text.Count(m.Calls), number(float64(m.Calls) / (float64(p.Length) / 1e9)),
			times.Percentile(50).Text(), times.Percentile(99).Text(),
			text.Count(m.Failed), text.Count(m.Unanswered)})
	}
	wide := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		line := fmt.Sprintf("  %-*s", wide[0], row[0])
		for i, cell := range row[1:] {
			line += fmt.Sprintf("  %*s", wide[i+1], cell)
		}
		addNote("%s", line)
	}
}

func (p *Profile) otherNotes(addNote func(string, ...any)) {
	if p.GuardedTransactions > 0 {
		addNote("The guard held in %s of %s.", text.Count(p.GuardsHeld), text.Plural(p.GuardedTransactions, "guarded transaction"))
	}
	if p.Watchers > 0 || p.Pushes > 0 {
		addNote("The clients created %s, which received %s in %s. To include watchers in the load, add the parameter watch.", text.Plural(p.Watchers, "watcher"), text.Plural(p.Events, "event"), text.Plural(p.Pushes, "message"))
	}
	if p.PartialSegments > 0 {
		addNote("%s used a prefix that ends within a segment of a key. The recording contains only hashes of whole segments, so these prefixes are unknown.", text.Plural(p.PartialSegments, "range"))
	}
	for _, g := range p.Gaps {
		missing := "all later data of this connection"
		switch {
		case g.MissingCalls > 0:
			missing = text.Plural(g.MissingCalls, "call")
		case g.Conn == 0:
			missing = "an unknown number of calls"
		}
		more := ""
		if g.MergedCount > 0 {
			more = "; also " + text.Plural(g.MergedCount, "later gap")
		}
		addNote("Missing since %s: %s (%s%s).", seconds(g.At), missing, g.Reason, more)
	}
	if p.OtherGaps > 0 {
		addNote("Missing for other reasons: %s.", text.Plural(p.OtherGaps, "gap"))
	}
	if p.Problem != "" {
		addNote("%s.", p.Problem)
	}
}

func seconds(ns int64) string {
	d := time.Duration(ns)
	if d >= 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// number formats a number with at least three digits and without an exponent.
func number(x float64) string {
	digits := 0
	if x > 0 && x < 100 {
		digits = min(max(2-int(math.Floor(math.Log10(x))), 0), 6)
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}
