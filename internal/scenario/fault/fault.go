// Package fault defines the kinds of faults, their requirements, their text form, and the schedule
// of the faults in a trial.
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

// Fault describes a fault that is injected during a load, once or repeatedly.
type Fault struct {
	At       time.Duration // start, measured from the opening of the window
	Kind     Kind
	Member   kv.Target     // leader, followers (meaning one of them), a member number, or all members at once
	Duration time.Duration // duration; 0 for a restart
	Amount   time.Duration // how much longer a sync or packet takes; for a power loss, the age from which written data survives even without a sync; 0 for other kinds
	Every    time.Duration // interval between injections; 0 if there is only one
	Repeat   int           // number of injections; if it is 0 and Every is set, as many as fit into the window
	Server   string        // for a rolling upgrade: a version, DefaultServer, or the path of a server binary
	Kinds    []Kind        // for Random: the kinds from which one is chosen
	Traffic                // for network faults
}

// MaxFaults is the maximum number of injected faults in a trial, including repetitions.
const MaxFaults = 1000

// Parse parses faults in the form that Text returns, such as "kill leader at 10s for 3s".
func Parse(s string) (all []Fault, err error) {
	if s == noFaults {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		f, err := ParseFault(part)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// noFaults is the value with which a trial removes the faults that defaults specify.
const noFaults = "none"

// ParseFault parses a fault in the form that the method String returns.
func ParseFault(s string) (Fault, error) {
	words := strings.Fields(s)
	if len(words)%2 == 1 { // a fault of the whole cluster names no member
		words = slices.Insert(words, 1, "")
	}
	if len(words) < 2 {
		return Fault{}, notAFault(s)
	}
	fields := map[string]string{"do": words[0], "member": words[1]}
	if words[1] == "" {
		if do, err := ParseKind(words[0]); err != nil || !do.AffectsCluster() {
			return Fault{}, notAFault(s)
		}
		delete(fields, "member")
	}
	for i := 2; i < len(words); i += 2 {
		if _, twice := fields[words[i]]; twice {
			return Fault{}, fmt.Errorf("the fault %q has the field %s twice; give the field once", strings.TrimSpace(s), words[i])
		}
		fields[words[i]] = words[i+1]
	}
	f, _, err := ParseFields(fields)
	return f, err
}

func notAFault(s string) error {
	return fmt.Errorf("%q is not a fault; write, for example, kill leader at 10s for 3s", strings.TrimSpace(s))
}

// FieldNames returns the keys that a fault can have. The key "do" is required. The key "member" is
// also required, unless the fault affects the whole cluster.
func FieldNames() []string {
	return []string{"at", "do", "member", "for", "by", "of", "every", "repeat", "from", "direction", "to"}
}

// ParseFields returns the fault with the given texts of its fields. If a field is wrong,
// ParseFields also returns its key. If a field is missing, the returned key is empty.
func ParseFields(texts map[string]string) (f Fault, field string, err error) {
	for _, key := range slices.Sorted(maps.Keys(texts)) { // "do" sorts before the keys that depend on it
		if err := f.set(key, texts[key]); err != nil {
			return f, key, err
		}
	}
	_, do := texts["do"]
	_, member := texts["member"]
	if do && !member && f.Kind.AffectsCluster() {
		f.Member, member = kv.Target{Mode: kv.AllMembers}, true
	}
	for _, given := range []struct {
		key     string
		present bool
	}{{"do", do}, {"member", member}} {
		if !given.present {
			return f, "", fmt.Errorf("a fault needs the field %s, for example {at: 10s, do: kill, member: leader, for: 3s}", given.key)
		}
	}
	return f, "", nil
}

// set sets one field of the fault.
func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "do":
		f.Kind, err = ParseKind(value)
	case "member":
		f.Member, err = parseMember(value)
	case "at":
		f.At, err = text.ParseDuration(value)
	case "for":
		f.Duration, err = text.ParseDuration(value)
	case "by":
		err = f.setAmount(value)
	case "of":
		f.Kinds, err = parseKinds(value)
	case "every":
		f.Every, err = text.ParseDuration(value)
	case "repeat":
		var n int64
		n, err = text.ParseInteger(value)
		if f.Repeat = int(n); err == nil && (n < 1 || n > MaxFaults) {
			err = fmt.Errorf("a fault can be repeated from 1 to %d times, not %s", MaxFaults, value)
		}
	default:
		var known bool
		if key == "to" && f.Kind == RollingUpgrade {
			f.Server, err = parseServer(value)
			return err
		}
		if known, err = f.setTraffic(key, value); !known {
			err = fmt.Errorf("a fault has no field %q; every fault can have \"do\", \"member\", \"by\", \"at\", \"for\", \"every\" and \"repeat\"; also allowed are \"of\" for random faults, \"to\" for rolling upgrades, and \"from\", \"direction\" and \"to\" for network faults", key)
		}
	}
	return err
}

// setTraffic sets a field that describes packets. known is false for other fields.
func (f *Fault) setTraffic(key, value string) (known bool, err error) {
	var i int
	switch key {
	case "from":
		i, err = partnerNames.parse(key, value)
		f.Partners = Partners(i)
	case "direction":
		i, err = directionNames.parse(key, value)
		f.Direction = Direction(i)
	case "to":
		f.Throughput, err = parseThroughput(value)
	default:
		return false, nil
	}
	return true, err
}

// setAmount parses the key "by": a percentage of the packets, or a duration.
func (f *Fault) setAmount(value string) (err error) {
	if strings.HasSuffix(value, "%") {
		f.Share, err = text.ParseShare(value)
	} else {
		f.Amount, err = text.ParseDuration(value)
	}
	return err
}

// String returns the fault in the form that flags use.
func (f Fault) String() string {
	out := f.Kind.withMember(f.Member) + f.details()
	if len(f.Kinds) > 0 {
		out += " of " + kindsText(f.Kinds)
	}
	out += " at " + text.FormatDuration(f.At)
	if f.Duration != 0 {
		out += " for " + text.FormatDuration(f.Duration)
	}
	if f.Every != 0 {
		out += " every " + text.FormatDuration(f.Every)
	}
	if f.Repeat != 0 {
		out += " repeat " + strconv.Itoa(f.Repeat)
	}
	return out
}

// details returns the part of the text about amounts and packets. Each word is preceded by a space.
func (f *Fault) details() (words string) {
	for _, entry := range [...]struct{ key, value string }{
		{"by", f.amount()}, {"to", f.rate()}, {"to", f.Server}, {"from", f.Partners.String()}, {"direction", f.Direction.String()},
	} {
		if entry.value != "" {
			words += " " + entry.key + " " + entry.value
		}
	}
	return words
}

// amount returns the value of the key "by", or an empty string if there is none.
func (f *Fault) amount() string {
	switch {
	case f.Share > 0:
		return text.FormatShare(f.Share)
	case f.Amount != 0:
		return text.FormatDuration(f.Amount)
	}
	return ""
}

// Text formats faults for files, flags, records and reports.
func Text(all []Fault) string {
	parts := make([]string, 0, len(all))
	for _, f := range all {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, ", ")
}
