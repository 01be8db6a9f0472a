// Package fault has the kinds of faults that a load is tested with: what each needs, how
// one is written, and when each of a trial happens.
package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Fault is something that is broken on purpose while a load runs, once or again
// and again.
type Fault struct {
	At      time.Duration // after the window opened
	Do      Kind
	Member  kv.Target     // leader, followers (one of them), one by its number, or all at once
	For     time.Duration // how long; 0 of a restart
	By      time.Duration // by how much each sync or packet takes longer, or how old is what a power loss keeps; 0 of others
	Every   time.Duration // from one to the next; 0 for once
	Repeat  int           // how often; 0 with Every is as often as the window has room for
	Server  string        // of a rolling upgrade: a version, DefaultServer, or the path of a server
	Of      []Kind        // of Random: those of which it is one
	Traffic               // of a fault of the network
}

// Most is how many faults a trial has, repeated ones each counted.
const Most = 1000

// Parse reads faults as Text writes them, such as "kill leader at 10s for 3s".
func Parse(s string) (all []Fault, err error) {
	if s == noFaults {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		f, err := ParseOne(part)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// noFaults is the value of faults that takes a default's away.
const noFaults = "none"

// ParseOne reads what String of a Fault writes.
func ParseOne(s string) (Fault, error) {
	words := strings.Fields(s)
	if len(words)%2 == 1 { // of the whole cluster, without a member
		words = slices.Insert(words, 1, "")
	}
	if len(words) < 2 {
		return Fault{}, notAFault(s)
	}
	fields := map[string]string{"do": words[0], "member": words[1]}
	if words[1] == "" {
		if do, err := ParseKind(words[0]); err != nil || !do.OfCluster() {
			return Fault{}, notAFault(s)
		}
		delete(fields, "member")
	}
	for i := 2; i < len(words); i += 2 {
		if _, twice := fields[words[i]]; twice {
			return Fault{}, fmt.Errorf("the fault %q says %s twice", strings.TrimSpace(s), words[i])
		}
		fields[words[i]] = words[i+1]
	}
	f, _, err := FromFields(fields)
	return f, err
}

func notAFault(s string) error {
	return fmt.Errorf("%q is no fault; write one as in kill leader at 10s for 3s", strings.TrimSpace(s))
}

// Fields are the keys that a fault can have, of which each needs do and, unless it is done
// to the whole cluster, member.
func Fields() []string {
	return []string{"at", "do", "member", "for", "by", "of", "every", "repeat", "from", "direction", "to"}
}

// FromFields makes a fault of the texts of its fields. An error is about the field that it
// returns; empty for one that is missing.
func FromFields(texts map[string]string) (f Fault, field string, err error) {
	for _, key := range slices.Sorted(maps.Keys(texts)) { // what depends on do comes behind it
		if err := f.set(key, texts[key]); err != nil {
			return f, key, err
		}
	}
	_, do := texts["do"]
	_, member := texts["member"]
	if do && !member && f.Do.OfCluster() {
		f.Member, member = kv.Target{Mode: kv.All}, true
	}
	for _, given := range []struct {
		key string
		is  bool
	}{{"do", do}, {"member", member}} {
		if !given.is {
			return f, "", fmt.Errorf("a fault needs %s, as in {at: 10s, do: kill, member: leader, for: 3s}", given.key)
		}
	}
	return f, "", nil
}

// set sets one field of the fault.
func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "do":
		f.Do, err = ParseKind(value)
	case "member":
		f.Member, err = parseMember(value)
	case "at":
		f.At, err = text.ParseDuration(value)
	case "for":
		f.For, err = text.ParseDuration(value)
	case "by":
		err = f.setBy(value)
	case "of":
		f.Of, err = parseKinds(value)
	case "every":
		f.Every, err = text.ParseDuration(value)
	case "repeat":
		var n int64
		n, err = text.ParseWhole(value)
		if f.Repeat = int(n); err == nil && (n < 1 || n > Most) {
			err = fmt.Errorf("a fault is repeated from 1 to %d times, and not %s", Most, value)
		}
	default:
		var known bool
		if key == "to" && f.Do == RollingUpgrade {
			f.Server, err = parseServer(value)
			return err
		}
		if known, err = f.setTraffic(key, value); !known {
			err = fmt.Errorf("a fault has no %q; it has do, member, by, at, for, every and repeat, a random one of, a rolling-upgrade to, and those of the network from, direction and to", key)
		}
	}
	return err
}

// setTraffic sets a field of the fault that is about packets. known is false for others.
func (f *Fault) setTraffic(key, value string) (known bool, err error) {
	var i int
	switch key {
	case "from":
		i, err = endNames.parse("end", value)
		f.From = Ends(i)
	case "direction":
		if value != "both" {
			i, err = directionNames.parse("direction", value)
		}
		f.Direction = Direction(i)
	case "to":
		f.To, err = parseThroughput(value)
	default:
		return false, nil
	}
	return true, err
}

// setBy reads how much: a share of the packets, or a time.
func (f *Fault) setBy(value string) (err error) {
	if strings.HasSuffix(value, "%") {
		f.Share, err = text.ParseShare(value)
	} else {
		f.By, err = text.ParseDuration(value)
	}
	return err
}

// String returns the fault as flags write it.
func (f Fault) String() string {
	out := f.Do.on(f.Member) + f.how()
	if len(f.Of) > 0 {
		out += " of " + kindsText(f.Of)
	}
	out += " at " + text.FormatDuration(f.At)
	if f.For != 0 {
		out += " for " + text.FormatDuration(f.For)
	}
	if f.Every != 0 {
		out += " every " + text.FormatDuration(f.Every)
	}
	if f.Repeat != 0 {
		out += " repeat " + strconv.Itoa(f.Repeat)
	}
	return out
}

// how are the words of a fault on what is done, with a space before each.
func (f *Fault) how() (words string) {
	for _, one := range [...]struct{ key, value string }{
		{"by", f.amount()}, {"to", f.rate()}, {"to", f.Server}, {"from", f.From.String()}, {"direction", f.Direction.String()},
	} {
		if one.value != "" {
			words += " " + one.key + " " + one.value
		}
	}
	return words
}

// amount is what by says of a fault; empty for nothing.
func (f *Fault) amount() string {
	switch {
	case f.Share > 0:
		return text.FormatShare(f.Share)
	case f.By != 0:
		return text.FormatDuration(f.By)
	}
	return ""
}

// Text writes faults as files, flags, records and reports have them.
func Text(all []Fault) string {
	parts := make([]string, 0, len(all))
	for _, f := range all {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, ", ")
}
