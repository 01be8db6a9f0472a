package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Fault is something that is broken on purpose while a load runs, once or again
// and again.
type Fault struct {
	At      time.Duration // after the window opened
	Do      FaultKind
	Member  kv.Target     // leader, followers (one of them), one by its number, or all at once
	For     time.Duration // how long; 0 of a restart
	By      time.Duration // by how much each sync or packet takes longer, or how old is what a power loss keeps; 0 of others
	Every   time.Duration // from one to the next; 0 for once
	Repeat  int           // how often; 0 with Every is as often as the window has room for
	Server  string        // of a rolling upgrade: a version, DefaultServer, or the path of a server
	Of      []FaultKind   // of Random: those of which it is one
	Traffic               // of a fault of the network
}

// maxFaults bounds the faults of a trial, repeated ones each counted.
const maxFaults = 1000

// String says what is done to whom and for how long.
func (h *Happening) String() string {
	text := h.Do.on(h.Member) + h.how()
	if h.For > 0 {
		text += " for " + FormatDuration(h.For)
	}
	return text
}

// faultMember names the member of a fault.
func faultMember(t kv.Target) string {
	switch t.Mode {
	case kv.Followers:
		return "follower"
	case kv.One:
		return "m" + strconv.Itoa(t.Member)
	}
	return t.String()
}

// allMembers is how faults name all members at once.
const allMembers = "all"

func parseFaultMember(s string) (kv.Target, error) {
	switch number, named := strings.CutPrefix(s, "m"); {
	case s == "leader":
		return kv.Target{Mode: kv.LeaderOnly}, nil
	case s == allMembers:
		return kv.Target{Mode: kv.All}, nil
	case s == "any":
		return kv.Target{Mode: kv.Any}, nil
	case s == "follower":
		return kv.Target{Mode: kv.Followers}, nil
	case named:
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			return kv.Target{Mode: kv.One, Member: n}, nil
		}
	}
	return kv.Target{}, fmt.Errorf("there is no member %q for a fault; choose leader, follower, any, all, or a member as m1, m2", s)
}

// faults are what is broken beside the load. A flag has them as
// "kill leader at 10s for 3s every 20s repeat 5", with commas between.
func faults() value {
	return typed[[]Fault]{
		field: func(l *Load) *[]Fault { return &l.Faults }, word: "FAULT,...", within: "",
		fromText: ParseFaults, fromFile: readFaults, show: faultsText, verify: checkFaultList,
		unsaid: func(all []Fault) bool { return len(all) == 0 },
		toJSON: encodeFaults, fromJSON: decodeFaults,
	}
}

// ParseFaults reads faults as flags have them, such as "kill leader at 10s for 3s".
func ParseFaults(s string) (all []Fault, err error) {
	if s == noFaults {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		f, err := parseFault(part)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// noFaults is the value of faults that takes a default's away.
const noFaults = "none"

// parseFault reads what String of a Fault writes.
func parseFault(s string) (Fault, error) {
	words := strings.Fields(s)
	if len(words)%2 == 1 {
		if do, err := ParseFaultKind(words[0]); err == nil && do.OfCluster() {
			words = slices.Insert(words, 1, allMembers)
		}
	}
	if len(words) < 2 || len(words)%2 != 0 {
		return Fault{}, fmt.Errorf("%q is no fault; write one as in kill leader at 10s for 3s", strings.TrimSpace(s))
	}
	fields := map[string]string{"do": words[0], "member": words[1]}
	for i := 2; i < len(words); i += 2 {
		if _, twice := fields[words[i]]; twice {
			return Fault{}, fmt.Errorf("the fault %q says %s twice", strings.TrimSpace(s), words[i])
		}
		fields[words[i]] = words[i+1]
	}
	var f Fault
	for _, key := range sortedKeys(fields) {
		if err := f.set(key, fields[key]); err != nil {
			return f, err
		}
	}
	return f, nil
}

// set sets one field of the fault.
func (f *Fault) set(key, text string) (err error) {
	switch key {
	case "do":
		f.Do, err = ParseFaultKind(text)
	case "member":
		f.Member, err = parseFaultMember(text)
	case "at":
		f.At, err = ParseDuration(text)
	case "for":
		f.For, err = ParseDuration(text)
	case "by":
		err = f.setBy(text)
	case "of":
		f.Of, err = parseKinds(text)
	case "every":
		f.Every, err = ParseDuration(text)
	case "repeat":
		var n int64
		n, err = ParseWhole(text)
		if f.Repeat = int(n); err == nil && (n < 1 || n > maxFaults) {
			err = fmt.Errorf("a fault is repeated from 1 to %d times, and not %s", maxFaults, text)
		}
	default:
		var known bool
		if key == "to" && f.Do == RollingUpgrade {
			f.Server, err = parseServer(text)
			return err
		}
		if known, err = f.setTraffic(key, text); !known {
			err = fmt.Errorf("a fault has no %q; it has do, member, by, at, for, every and repeat, a random one of, a rolling-upgrade to, and those of the network from, direction and to", key)
		}
	}
	return err
}

// String returns the fault as flags write it.
func (f Fault) String() string {
	h := f.once()
	text := f.Do.on(f.Member) + h.how()
	if len(f.Of) > 0 {
		text += " of " + kindsText(f.Of)
	}
	text += " at " + FormatDuration(f.At)
	if f.For != 0 {
		text += " for " + FormatDuration(f.For)
	}
	if f.Every != 0 {
		text += " every " + FormatDuration(f.Every)
	}
	if f.Repeat != 0 {
		text += " repeat " + strconv.Itoa(f.Repeat)
	}
	return text
}

func faultsText(all []Fault) string {
	parts := make([]string, 0, len(all))
	for _, f := range all {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, ", ")
}

// readFaults reads a list of mappings, or of faults as flags have them.
func readFaults(_ *draft, key string, n *node) (all []Fault, err error) {
	if n.kind == scalar {
		return parsed(n, key, ParseFaults)
	}
	if n.kind != list {
		return nil, n.at.errorf("faults must be a list, as in [{at: 10s, do: kill, member: leader, for: 3s}], not %s", n.what())
	}
	for _, item := range n.items {
		f, err := readFault(item)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, n.at.errorf("the list of faults is empty; leave it out")
	}
	return all, nil
}

func readFault(n *node) (f Fault, err error) {
	if n.kind == scalar {
		return parsed(n, "a fault", parseFault)
	}
	given := map[string]bool{}
	readers := map[string]func(*node) error{}
	var last []func() error // what depends on do, which may come behind
	for _, name := range []string{"at", "do", "member", "for", "by", "of", "every", "repeat", "from", "direction", "to"} {
		readers[name] = func(n *node) error {
			read := func(n *node) (string, error) { return n.filled(name) }
			if name == "of" {
				read = readKinds
			}
			given[name] = true
			text, err := read(n)
			if err != nil {
				return err
			}
			set := func() error {
				if err := f.set(name, text); err != nil {
					return n.at.errorf("%v", err)
				}
				return nil
			}
			if name == "to" {
				last = append(last, set)
				return nil
			}
			return set()
		}
	}
	if err := n.fields("a fault", readers); err != nil {
		return f, err
	}
	for _, set := range last {
		if err := set(); err != nil {
			return f, err
		}
	}
	if given["do"] && !given["member"] && f.Do.OfCluster() {
		f.Member, given["member"] = kv.Target{Mode: kv.All}, true
	}
	for _, name := range []string{"do", "member"} {
		if !given[name] {
			return f, n.at.errorf("a fault needs %s, as in {at: 10s, do: kill, member: leader, for: 3s}", name)
		}
	}
	return f, nil
}

func encodeFaults(all []Fault) any {
	out := []faultEntry{}
	span := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return FormatDuration(d)
	}
	for _, f := range all {
		h, traffic := f.once(), f.entry()
		if f.Server != "" {
			traffic.To = f.Server
		}
		out = append(out, faultEntry{FormatDuration(f.At), f.Do.String(), faultMember(f.Member), span(f.For), h.amount(), kindsText(f.Of), span(f.Every), f.Repeat, traffic})
	}
	return out
}

func decodeFaults(b json.RawMessage) (all []Fault, err error) {
	var entries []faultEntry
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, err
	}
	for _, e := range entries {
		f := Fault{Repeat: e.Repeat}
		errs := []error{f.set("at", e.At), f.set("do", e.Do), f.set("member", e.Member)}
		for key, text := range map[string]string{"for": e.For, "by": e.By, "of": e.Of, "every": e.Every, "from": e.From, "direction": e.Direction, "to": e.To} {
			if text != "" {
				errs = append(errs, f.set(key, text))
			}
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if f.Repeat < 0 || f.Repeat > maxFaults {
			return nil, fmt.Errorf("a fault is repeated from 1 to %d times, and not %d", maxFaults, f.Repeat)
		}
		all = append(all, f)
	}
	return all, nil
}
