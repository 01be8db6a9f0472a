package golden

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// faultBlocks returns the generators for the tables in docs/reference/faults.md.
func faultBlocks() map[string]func(*block) string {
	is := func(group int) func(*block) string {
		return func(b *block) string { return faultTable(b, func(k fault.Kind) bool { return faultGroup(k) == group }) }
	}
	return map[string]func(*block) string{
		"faults of processes": is(0), "faults of disks": is(1), "faults of the network": is(2), "faults of the store": is(3),
		"fields of a fault": func(b *block) string {
			var rows [][]string
			for _, f := range fault.FieldNames() {
				rows = append(rows, []string{code(f)})
			}
			return b.table([]string{"key", "meaning"}, rows)
		},
	}
}

// faultGroup returns the number of the table for a fault kind.
func faultGroup(k fault.Kind) int {
	switch {
	case k.NeedsDisk():
		return 1
	case k.NeedsNetwork():
		return 2
	case k > fault.SlowLink:
		return 3
	}
	return 0
}

// faultTable returns a table with a row for each fault kind that the parameter `in` selects: the
// members that the fault can affect, its keys, its requirements, and its effect.
func faultTable(b *block, in func(fault.Kind) bool) string {
	var rows [][]string
	for _, k := range append(fault.All(), fault.Random) {
		if !in(k) {
			continue
		}
		members, required, optional := faultForms(k)
		keys := append(required, optional...)
		if len(keys) == 0 {
			keys = []string{"–"}
		}
		rows = append(rows, []string{code(k.String()), members, strings.Join(keys, ", "), faultNeeds(k)})
	}
	return b.table([]string{"`do`", "`member`", "keys", "needs", "effect"}, rows)
}

// option is a key in a fault's text, which a fault kind may require or accept.
type option struct {
	name string
	set  func(*fault.Fault)
}

// faultForms returns the members that a fault kind can affect, and the keys that the fault kind
// requires or accepts. It determines them by checking every combination.
func faultForms(k fault.Kind) (members string, required, optional []string) {
	needed := []option{
		{"`for`", func(f *fault.Fault) { f.Duration = 3 * time.Second }}, {"`by` (time)", func(f *fault.Fault) { f.Amount = time.Second }},
		{"`by` (share)", func(f *fault.Fault) { f.Share = 0.1 }}, {"`to` (rate)", func(f *fault.Fault) { f.Throughput = 1e6 }},
		{"`to` (server)", func(f *fault.Fault) { f.Server = "default" }},
		{"`of`, `every`", func(f *fault.Fault) { f.Kinds, f.Every = []fault.Kind{fault.Kill}, 20*time.Second }},
	}
	extra := append(needed[:4:4], option{"`from`", func(f *fault.Fault) { f.Partners = fault.Peers }}, option{"`direction`", func(f *fault.Fault) { f.Direction = fault.Inbound }})
	whom := []struct {
		name   string
		target kv.Target
	}{
		{"`leader`", kv.Target{Mode: kv.LeaderOnly}}, {"`follower`", kv.Target{Mode: kv.Followers}}, {"`m2`", kv.Target{Mode: kv.SingleMember, Member: 2}},
		{"`any`", kv.Target{Mode: kv.AnyEndpoint}}, {"`all`", kv.Target{Mode: kv.AllMembers}},
	}
	least := fault.Fault{Kind: k}
	for set := range 1 << len(needed) {
		f, keys := fault.Fault{Kind: k, At: time.Second}, []string(nil)
		for i, o := range needed {
			if set>>i&1 == 1 {
				o.set(&f)
				keys = append(keys, o.name)
			}
		}
		var takes []string
		for _, w := range whom {
			if f.Member = w.target; f.Problem() == "" {
				takes, least.Member = append(takes, w.name), w.target
			}
		}
		if len(takes) > 0 && (members == "" || len(keys) < len(required)) {
			members, required = strings.Join(takes, ", "), keys
			f.Member = least.Member
			least = f
		}
	}
	if k.AffectsCluster() {
		members = "none: the whole cluster"
	} else if strings.Count(members, "`") == 2*len(whom) {
		members = "each"
	}
	for _, o := range extra {
		f := least
		if o.set(&f); f.Problem() == "" && !strings.Contains(strings.Join(required, " "), o.name) {
			optional = append(optional, "["+o.name+"]")
		}
	}
	return members, required, optional
}

// faultNeeds describes what a fault kind requires.
func faultNeeds(k fault.Kind) string {
	var needs []string
	if feature := k.RequiredFeature(); feature != nil {
		var stores []string
		for _, s := range registry.All() {
			if s.Capabilities().Has(*feature) {
				stores = append(stores, s.Name())
			}
		}
		needs = append(needs, fmt.Sprintf("%s: %s", code(feature.String()), strings.Join(stores, ", ")))
	}
	f := fault.Fault{Kind: k}
	if n := f.MinMembers(); n > 0 {
		needs = append(needs, fmt.Sprintf("%d members", n))
	}
	if k.NeedsQuorum() {
		needs = append(needs, "3 members")
	}
	if k.ChangesCluster() {
		needs = append(needs, "a cluster that no later trial uses")
	}
	if len(needs) == 0 {
		return "–"
	}
	return strings.Join(needs, "; ")
}
