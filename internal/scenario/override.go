package scenario

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// overlay merges the options over all values that apply to a trial. own holds the trial's own
// values. --set is merged last, because the endpoints, labels and similar values that it gives
// belong to the server that the other flags choose.
func (p *fileParser) overlay(all, own layer) layer {
	over := layer{}
	flags := map[string]place{"store": {flag: "--store " + p.options.Store}, "exec": {flag: "--exec " + p.options.Exec}}
	if v := p.options.Version; v != "" { // a version is never given without a store
		at := place{flag: "--store " + p.options.Store + "@" + v}
		flags["store"] = at
		over["version"] = pair{at: at, value: &node{kind: scalar, text: v, at: at}}
	}
	for _, of := range [][2]string{{"store", p.options.Store}, {"exec", p.options.Exec}} {
		key, v := of[0], of[1]
		if v == "" {
			continue
		}
		over[key] = pair{at: flags[key], value: &node{kind: scalar, text: v, at: flags[key]}}
		for _, also := range []string{"store", "exec", "version"} {
			if t, ok := own[also]; ok && (also != "store" || key == "store" && t.value.text != v) {
				p.failf(t.at, "--%s %s cannot override a key of the trial itself, where %s is %s; remove the key from the trial", key, v, also, t.value.describe())
			}
		}
		if e, ok := all["endpoints"]; ok && !p.set.hasKey("endpoints") && (key != "store" || !p.sameStore(all)) {
			p.failf(e.at, "--%s applies only to clusters that quorumbench starts, but this trial uses a running cluster", key)
		}
	}
	all = over.mergedOver(all)
	if p.options.Attach != nil {
		for _, key := range ofStarted {
			delete(all, key)
		}
	}
	return p.overlaySet(all)
}

// sameStore reports whether --store has no version and names the store that the trial already has.
func (p *fileParser) sameStore(all layer) bool {
	s, ok := all["store"]
	return ok && p.options.Version == "" && s.value.text == p.options.Store
}

// checkExec rejects a server binary that is given once but applies to several stores, because a
// binary is the server of only one store. The binary may be given on the command line, in defaults,
// in a trial or in a baseline.
func (p *fileParser) checkExec(trials []*builder) {
	stores := map[place][]string{}
	for _, b := range trials {
		exec, given := b.layer["exec"]
		at := exec.at
		if p.options.Exec != "" && at.line == 0 { // a baseline that uses another store has no exec
			at, given = place{flag: "--exec " + p.options.Exec}, true
		}
		if name := b.cluster.Store; given && !slices.Contains(stores[at], name) {
			stores[at] = append(stores[at], name)
		}
	}
	for at, names := range stores {
		switch several := strings.Join(names, ", "); {
		case len(names) < 2:
		case at.flag != "":
			p.failf(at, "this binary is the server of one store, but the trials use several stores (%s); set exec in the file for each store", several)
		default:
			p.failf(at, "exec is the server of one store, but it applies to several stores (%s); give each store its own exec, for example store: {name: %s, exec: PATH}", several, names[0])
		}
	}
}

// Shown returns the assignment without a password. If the value may contain a password, Shown
// returns only the key. This includes unknown keys, because such a key may be a misspelled "user".
func (a Assignment) Shown(apps []application.Application) string {
	of, entry, _ := strings.Cut(a.Key, ".")
	known := slices.Contains(trialKeys(byKey(Parameters(apps))), of) || slices.Contains(FileKeys(), of)
	if !known || of == "user" || entry == "user" || of == "endpoints" && strings.ContainsAny(a.Value, "@?#") {
		return leadingWord(a.Key)
	}
	return a.String()
}

// placeOf returns the position of an assignment for messages.
func (p *fileParser) placeOf(a Assignment) place { return place{set: a.Shown(p.apps)} }

// setNote returns a note for the report about the assignments that affect the trial, or an empty
// string if there are none.
func (b *builder) setNote() string {
	var parts []string
	for _, a := range b.options.Set {
		of, entry, nested := strings.Cut(a.Key, ".")
		value := b.layer[of].value
		if nested && value != nil {
			value = value.field(entry)
		}
		if of == "baseline" || value != nil && value.at == b.placeOf(a) {
			parts = append(parts, a.Shown(b.apps))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "set on the command line: " + strings.Join(parts, ", ")
}

// readSet reads the assignments into the highest layer. It merges entries of the same mapping.
func (p *fileParser) readSet() {
	p.set = layer{}
	for _, a := range p.options.Set {
		at := p.placeOf(a)
		of, entry, nested := strings.Cut(a.Key, ".")
		k, ok := p.trialKey(of)
		switch {
		case of == "store" || of == "version" || of == "exec":
			p.failf(at, "choose the server with --store NAME[@VERSION] or --exec PATH")
			continue
		case !ok && slices.Contains(FileKeys(), of), ok && k.alone, of == "baseline" && !nested:
			p.failf(at, "%s is not a parameter of a load or a cluster, so --set cannot change it; set a key of a trial, as in clients=200", of)
			continue
		case !ok:
			p.failf(at, "unknown key %q%s", of, cmp.Or(suggest(of, trialKeys(p.keys)), keysListed))
			continue
		}
		n, err := a.node(at, of, entry)
		if err != nil {
			p.fail(at, err)
			continue
		}
		words := of == "mix" && n.kind == scalar // as in --mix
		n.flag = n.entries || words
		p.value(k, n)
		n.flag = words
		if before, ok := p.set[of]; ok && nested && before.value.kind == mapping {
			n = n.mergedOver(before.value)
			n.entries = before.value.entries
		}
		p.set[of] = pair{of, at, n}
	}
	p.secrets = slices.DeleteFunc(p.secrets, func(n *node) bool { return n.at.set != "" }) // remove the values that are not in the file
	p.clashes(p.set)
	p.checkSetOnce()
	p.checkSetCluster()
}

// checkSetOnce rejects an assignment that would silently replace an earlier assignment.
func (p *fileParser) checkSetOnce() {
	for i, a := range p.options.Set {
		for _, before := range p.options.Set[:i] {
			if before.Key == a.Key && before.Value != a.Value || strings.HasPrefix(before.Key, a.Key+".") {
				p.failf(p.placeOf(a), "this contradicts the earlier --set %s; give only one of them", before.Shown(p.apps))
			}
		}
	}
}

// checkSetCluster rejects a --set assignment that concerns a running cluster if it contradicts a
// flag: a flag that selects a server to start, or --endpoints.
func (p *fileParser) checkSetCluster() {
	if e, ok := p.set["endpoints"]; ok {
		switch {
		case p.options.Exec != "":
			p.failf(e.at, "--exec starts a server, but the endpoints belong to a running cluster; give only one of them")
		case p.options.Version != "":
			p.failf(e.at, "--store %s@%s selects the version to start, but the endpoints belong to a running cluster; write --store %s, or remove the endpoints",
				p.options.Store, p.options.Version, p.options.Store)
		}
	}
	if p.options.Attach == nil {
		return
	}
	for _, key := range ofRunning {
		if s, ok := p.set[key]; ok && key != "data-dir" { // data-dir has no flag
			p.failf(s.at, "--endpoints already names the running cluster, so <%s> would have no effect; use the flags for connecting to a cluster instead, or replace --endpoints by --set endpoints=...", key)
		}
	}
}

// IsAttachment reports whether the assignment is for connecting to a running cluster.
func (a Assignment) IsAttachment() bool {
	of, _, _ := strings.Cut(a.Key, ".")
	return slices.Contains(ofRunning, of)
}

// node returns the value of the assignment. If its key names an entry of a mapping, node returns a
// mapping with that entry. A plain word is taken literally. A text that starts like a list or a
// mapping is parsed as YAML. A store's settings are parsed as YAML, too, because the store defines
// their types.
func (a Assignment) node(at place, of, entry string) (*node, error) {
	if yaml := of == "settings" || strings.HasPrefix(a.Value, "{") || strings.HasPrefix(a.Value, "["); !yaml {
		n := &node{kind: scalar, text: a.Value, at: at}
		if entry != "" {
			n = &node{kind: mapping, pairs: []pair{{entry, at, n}}, at: at, entries: true}
		}
		return n, nil
	}
	text := of + ": " + a.Value
	if entry != "" {
		text = of + ":\n  " + entry + ": " + a.Value
	}
	root, err := document([]byte(text))
	if err != nil || root == nil || len(root.pairs) != 1 {
		return nil, at.errorf("this is not a YAML value; quote text with braces, brackets or colons, for example 'mix={put: 20, get: 80}'")
	}
	n := root.pairs[0].value
	n.moved(at)
	n.entries = entry != ""
	return n, nil
}

// moved sets the position of a value and of all its parts.
func (n *node) moved(at place) {
	n.at = at
	for i := range n.pairs {
		n.pairs[i].at = at
		n.pairs[i].value.moved(at)
	}
	for _, item := range n.items {
		item.moved(at)
	}
}

// mergedOver returns the mapping base with the entries of n added. An entry of n replaces an entry
// of base with the same key.
func (n *node) mergedOver(base *node) *node {
	if n.below != nil {
		base = n.below.mergedOver(base)
	}
	out := &node{kind: mapping, at: n.at, raw: n.raw, below: base}
	for _, p := range base.pairs {
		if n.field(p.key) == n {
			out.pairs = append(out.pairs, p)
		}
	}
	out.pairs = append(out.pairs, n.pairs...)
	return out
}

// overlaySet merges the assignments over all values that apply to a trial.
func (p *fileParser) overlaySet(all layer) layer {
	over := layer{}
	for key, s := range p.set {
		base, given := all[key]
		ofSomeTrials := key == "watch" || key == "compact" // only some trials have these
		switch {
		case all.hasKey("endpoints") && slices.Contains(ofStarted, key):
			continue // the key applies only to clusters that quorumbench starts
		case s.value.entries && given && base.value.kind == mapping:
			s.value = s.value.mergedOver(base.value)
		case key == "baseline": // a trial without a baseline gets one
		case s.value.entries && (ofSomeTrials || p.keys[key].readFrom(p.newDraft(), s.value) != nil):
			continue // this trial does not have the mapping with these entries
		}
		over[key] = s
	}
	return over.mergedOver(all)
}

// setOverAxes replaces the list of an axis with the value that an assignment gives to its key. It
// also removes axes whose keys the assignments exclude, because they would expand a trial into
// identical trials.
func (p *fileParser) setOverAxes(axes []axis) []axis {
	axes = slices.DeleteFunc(axes, func(a axis) bool {
		for key, s := range p.set {
			if !slices.Contains(ofStarted, key) && slices.Contains(replaced(key, s.value, nil), a.key) {
				return true
			}
		}
		return false
	})
	for i := range axes {
		a := &axes[i]
		p.checkStoreAxis(a)
		if s, ok := p.set[a.key]; ok && !s.value.entries {
			a.values = []*node{s.value}
		} else if rate, ok := p.set["rate"]; ok && a.key == "arrival" {
			p.openArrivals(a, rate.at)
		}
	}
	return axes
}

// checkStoreAxis rejects a list of versions or builds of a store if an assignment selects a running
// cluster. The trials would be named after versions or builds, but all would use that one cluster.
func (p *fileParser) checkStoreAxis(a *axis) {
	e, ok := p.set["endpoints"]
	if !ok || a.key != "store" {
		return
	}
	for _, v := range a.values {
		for _, key := range ofStarted {
			if v.field(key) != v && key != "members" {
				p.failf(e.at, "the list of stores in line %d has %s, which applies only to clusters that quorumbench starts, but the endpoints belong to a running cluster; remove that key from the list", a.at.line, key)
				return
			}
		}
	}
}

// openArrivals replaces the arrival "closed" in a list with "constant". A rate is assigned, and a
// closed loop with a rate becomes an open loop with constant arrivals. The list must not contain
// "constant" twice.
func (p *fileParser) openArrivals(a *axis, at place) {
	is := func(arrival Arrival) func(*node) bool {
		return func(n *node) bool { return n.text == arrival.String() }
	}
	closed := slices.IndexFunc(a.values, is(Closed))
	if closed < 0 {
		return
	}
	p.warn("--set %s sets a rate, which closed loops do not have, so \"closed\" in the list of arrivals in line %d is replaced by \"constant\"", at.set, a.at.line)
	open := slices.DeleteFunc(slices.Clone(a.values), is(Closed))
	if !slices.ContainsFunc(open, is(Constant)) {
		open = slices.Insert(open, closed, &node{kind: scalar, text: Constant.String(), at: a.values[closed].at})
	}
	a.values = open
}

// checkSet rejects assignments that affect no trial.
func (p *fileParser) checkSet(trials []*builder) {
	none := func(has func(*builder) bool) bool { return !slices.ContainsFunc(trials, has) }
	for _, a := range p.options.Set {
		of, entry, nested := strings.Cut(a.Key, ".")
		k, known := p.keys[a.Key]
		switch {
		case slices.Contains(ofStarted, of) && none(func(b *builder) bool { return b.cluster.Attach == nil }):
			p.failf(p.placeOf(a), "%s applies only to clusters that quorumbench starts, but all trials use running clusters", of)
		case known && none(func(b *builder) bool { return k.For.occurIn(&b.load) }):
			p.failf(p.placeOf(a), "<"+k.Key+"> applies only to "+k.For.name+", and no trial has any")
		case nested && none(func(b *builder) bool { s, ok := b.layer[of]; return ok && s.value.field(entry) != s.value }):
			p.failf(p.placeOf(a), "no trial has the mapping %s, so its entry %s cannot be set; set the whole mapping %s", of, entry, of)
		}
	}
}
