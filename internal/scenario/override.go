package scenario

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// applyOptions merges the options over all values that apply to a trial. The parameter own holds
// the values that the trial itself gives. --set is merged last, because the endpoints, labels and
// similar values that it gives belong to the server that the other flags choose.
func (p *fileParser) applyOptions(all, own layer) layer {
	overrides := layer{}
	flags := map[string]file.Position{"store": {Flag: "--store " + p.options.Store}, "exec": {Flag: "--exec " + p.options.Exec}}
	if v := p.options.Version; v != "" { // a version is never given without a store
		at := file.Position{Flag: "--store " + p.options.Store + "@" + v}
		flags["store"] = at
		overrides["version"] = file.Pair{Pos: at, Value: &file.Node{Kind: file.Scalar, Text: v, Pos: at}}
	}
	for _, option := range [][2]string{{"store", p.options.Store}, {"exec", p.options.Exec}} {
		key, v := option[0], option[1]
		if v == "" {
			continue
		}
		overrides[key] = file.Pair{Pos: flags[key], Value: &file.Node{Kind: file.Scalar, Text: v, Pos: flags[key]}}
		for _, also := range []string{"store", "exec", "version"} {
			if t, ok := own[also]; ok && (also != "store" || key == "store" && t.Value.Text != v) {
				p.failf(t.Pos, "--%s %s cannot override a key of the trial itself, where %s is %s; remove the key from the trial", key, v, also, t.Value.Describe())
			}
		}
		if e, ok := all["endpoints"]; ok && !p.assignmentLayer.hasKey("endpoints") && (key != "store" || !p.sameStore(all)) {
			p.failf(e.Pos, "--%s applies only to clusters that quorumbench starts, but this trial uses a running cluster", key)
		}
	}
	all = overrides.mergedOver(all)
	if p.options.RunningCluster != nil {
		for _, key := range startedClusterKeys {
			delete(all, key)
		}
	}
	return p.applyAssignments(all)
}

// sameStore reports whether --store has no version and names the store that the trial already has.
func (p *fileParser) sameStore(all layer) bool {
	s, ok := all["store"]
	return ok && p.options.Version == "" && s.Value.Text == p.options.Store
}

// checkExec rejects a server binary that is given once but applies to several stores, because a
// binary is the server of only one store. The binary may be given on the command line, in defaults,
// in a trial or in a baseline.
func (p *fileParser) checkExec(trials []*builder) {
	stores := map[file.Position][]string{}
	for _, b := range trials {
		exec, given := b.layer["exec"]
		at := exec.Pos
		if p.options.Exec != "" && at.Line == 0 { // a baseline that uses another store has no exec
			at, given = file.Position{Flag: "--exec " + p.options.Exec}, true
		}
		if name := b.cluster.Store; given && !slices.Contains(stores[at], name) {
			stores[at] = append(stores[at], name)
		}
	}
	for at, names := range stores {
		switch several := strings.Join(names, ", "); {
		case len(names) < 2:
		case at.Flag != "":
			p.failf(at, "this binary is the server of one store, but the trials use several stores (%s); set exec in the file for each store", several)
		default:
			p.failf(at, "exec is the server of one store, but it applies to several stores (%s); give each store its own exec, for example store: {name: %s, exec: PATH}", several, names[0])
		}
	}
}

// Redacted returns the assignment without a password. If the value may contain a password, Redacted
// returns only the key. It also returns only the key if the key is unknown, because the key may be
// a misspelled "user".
func (a Assignment) Redacted(apps []application.Application) string {
	key, entry, _ := strings.Cut(a.Key, ".")
	known := slices.Contains(trialKeys(byKey(Parameters(apps))), key) || slices.Contains(fileKeyNames(), key)
	if !known || key == "user" || entry == "user" || key == "endpoints" && strings.ContainsAny(a.Value, "@?#") {
		return leadingWord(a.Key)
	}
	return a.String()
}

// assignmentPosition returns the position of an assignment for messages.
func (p *fileParser) assignmentPosition(a Assignment) file.Position {
	return file.Position{Assignment: a.Redacted(p.apps)}
}

// assignmentsNote returns a note for the report about the assignments that affect the trial, or an
// empty string if there are none.
func (b *builder) assignmentsNote() string {
	var parts []string
	for _, a := range b.options.Assignments {
		key, entry, nested := strings.Cut(a.Key, ".")
		value := b.layer[key].Value
		if nested && value != nil {
			value = value.Field(entry)
		}
		if key == "baseline" || value != nil && value.Pos == b.assignmentPosition(a) {
			parts = append(parts, a.Redacted(b.apps))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "set on the command line: " + strings.Join(parts, ", ")
}

// readAssignments reads the assignments into the highest layer. It merges entries of the same
// mapping.
func (p *fileParser) readAssignments() {
	p.assignmentLayer = layer{}
	for _, a := range p.options.Assignments {
		at := p.assignmentPosition(a)
		key, entry, nested := strings.Cut(a.Key, ".")
		k, ok := p.trialKey(key)
		switch {
		case key == "store" || key == "version" || key == "exec":
			p.failf(at, "choose the server with --store NAME[@VERSION] or --exec PATH")
			continue
		case !ok && slices.Contains(fileKeyNames(), key), ok && k.trialOnly, key == "baseline" && !nested:
			p.failf(at, "%s is not a parameter of a load or a cluster, so --set cannot change it; set a key of a trial, as in clients=200", key)
			continue
		case !ok:
			p.failf(at, "unknown key %q%s", key, cmp.Or(suggest(key, trialKeys(p.keys)), keysListed))
			continue
		}
		n, err := a.node(at, key, entry)
		if err != nil {
			p.fail(at, err)
			continue
		}
		words := key == "mix" && n.Kind == file.Scalar // as in --mix
		n.FromFlag = n.IsPartial || words
		p.checkValue(k, n)
		n.FromFlag = words
		if before, ok := p.assignmentLayer[key]; ok && nested && before.Value.Kind == file.Mapping {
			n = n.MergedOver(before.Value)
			n.IsPartial = before.Value.IsPartial
		}
		p.assignmentLayer[key] = file.Pair{Key: key, Pos: at, Value: n}
	}
	p.secrets = slices.DeleteFunc(p.secrets, func(n *file.Node) bool { return n.Pos.Assignment != "" }) // remove the values that are not in the file
	p.checkExclusiveKeys(p.assignmentLayer)
	p.checkRepeatedAssignments()
	p.checkClusterAssignments()
}

// checkRepeatedAssignments rejects an assignment that would silently replace an earlier assignment.
func (p *fileParser) checkRepeatedAssignments() {
	for i, a := range p.options.Assignments {
		for _, before := range p.options.Assignments[:i] {
			if before.Key == a.Key && before.Value != a.Value || strings.HasPrefix(before.Key, a.Key+".") {
				p.failf(p.assignmentPosition(a), "this contradicts the earlier --set %s; give only one of them", before.Redacted(p.apps))
			}
		}
	}
}

// checkClusterAssignments rejects a --set assignment that concerns a running cluster if it
// contradicts a flag: a flag that selects a server to start, or --endpoints.
func (p *fileParser) checkClusterAssignments() {
	if e, ok := p.assignmentLayer["endpoints"]; ok {
		switch {
		case p.options.Exec != "":
			p.failf(e.Pos, "--exec starts a server, but the endpoints belong to a running cluster; give only one of them")
		case p.options.Version != "":
			p.failf(e.Pos, "--store %s@%s selects the version to start, but the endpoints belong to a running cluster; write --store %s, or remove the endpoints",
				p.options.Store, p.options.Version, p.options.Store)
		}
	}
	if p.options.RunningCluster == nil {
		return
	}
	for _, key := range runningClusterKeys {
		if s, ok := p.assignmentLayer[key]; ok && key != "data-dir" { // data-dir has no flag
			p.failf(s.Pos, "--endpoints already names the running cluster, so <%s> would have no effect; use the flags for connecting to a cluster instead, or replace --endpoints by --set endpoints=...", key)
		}
	}
}

// SelectsRunningCluster reports whether the assignment is for connecting to a running cluster.
func (a Assignment) SelectsRunningCluster() bool {
	of, _, _ := strings.Cut(a.Key, ".")
	return slices.Contains(runningClusterKeys, of)
}

// node returns the value of the assignment. If its key names an entry of a mapping, node returns a
// mapping with that entry. A plain word is taken literally. A text that starts like a list or a
// mapping is parsed as YAML. A store's settings are parsed as YAML, too, because the store defines
// their types.
func (a Assignment) node(pos file.Position, key, entry string) (*file.Node, error) {
	if yaml := key == "settings" || strings.HasPrefix(a.Value, "{") || strings.HasPrefix(a.Value, "["); !yaml {
		n := &file.Node{Kind: file.Scalar, Text: a.Value, Pos: pos}
		if entry != "" {
			n = &file.Node{Kind: file.Mapping, Pairs: []file.Pair{{Key: entry, Pos: pos, Value: n}}, Pos: pos, IsPartial: true}
		}
		return n, nil
	}
	text := key + ": " + a.Value
	if entry != "" {
		text = key + ":\n  " + entry + ": " + a.Value
	}
	root, err := file.Parse([]byte(text))
	if err != nil || root == nil || len(root.Pairs) != 1 {
		return nil, pos.Errorf("this is not a YAML value; quote text with braces, brackets or colons, for example 'mix={put: 20, get: 80}'")
	}
	n := root.Pairs[0].Value
	n.SetPosition(pos)
	n.IsPartial = entry != ""
	return n, nil
}

// applyAssignments merges the assignments over all values that apply to a trial.
func (p *fileParser) applyAssignments(all layer) layer {
	overrides := layer{}
	for key, s := range p.assignmentLayer {
		base, given := all[key]
		ofSomeTrials := key == "watch" || key == "compact" // only some trials have these
		switch {
		case all.hasKey("endpoints") && slices.Contains(startedClusterKeys, key):
			continue // the key applies only to clusters that quorumbench starts
		case s.Value.IsPartial && given && base.Value.Kind == file.Mapping:
			s.Value = s.Value.MergedOver(base.Value)
		case key == "baseline": // a trial without a baseline gets one
		case s.Value.IsPartial && (ofSomeTrials || p.keys[key].readFrom(p.newDraft(), s.Value) != nil):
			continue // this trial does not have the mapping with these entries
		}
		overrides[key] = s
	}
	return overrides.mergedOver(all)
}

// overrideAxes replaces the list of an axis with the value that an assignment gives to its key. It
// also removes axes whose keys the assignments exclude, because they would expand a trial into
// identical trials.
func (p *fileParser) overrideAxes(axes []axis) []axis {
	axes = slices.DeleteFunc(axes, func(a axis) bool {
		for key, s := range p.assignmentLayer {
			if !slices.Contains(startedClusterKeys, key) && slices.Contains(replacedKeys(key, s.Value, nil), a.key) {
				return true
			}
		}
		return false
	})
	for i := range axes {
		a := &axes[i]
		p.checkStoreAxis(a)
		if s, ok := p.assignmentLayer[a.key]; ok && !s.Value.IsPartial {
			a.values = []*file.Node{s.Value}
		} else if rate, ok := p.assignmentLayer["rate"]; ok && a.key == "arrival" {
			p.openArrivals(a, rate.Pos)
		}
	}
	return axes
}

// checkStoreAxis rejects a list of versions or builds of a store if an assignment selects a running
// cluster. The trials would be named after versions or builds, but all would use that one cluster.
func (p *fileParser) checkStoreAxis(a *axis) {
	e, ok := p.assignmentLayer["endpoints"]
	if !ok || a.key != "store" {
		return
	}
	for _, v := range a.values {
		for _, key := range startedClusterKeys {
			if v.Field(key) != v && key != "members" {
				p.failf(e.Pos, "the list of stores in line %d has %s, which applies only to clusters that quorumbench starts, but the endpoints belong to a running cluster; remove that key from the list", a.pos.Line, key)
				return
			}
		}
	}
}

// openArrivals changes the arrival "closed" in a list to "constant". A rate is assigned, and a
// closed loop with a rate becomes an open loop with constant arrivals. The list must not contain
// "constant" twice.
func (p *fileParser) openArrivals(a *axis, at file.Position) {
	hasArrival := func(arrival Arrival) func(*file.Node) bool {
		return func(n *file.Node) bool { return n.Text == arrival.String() }
	}
	closed := slices.IndexFunc(a.values, hasArrival(Closed))
	if closed < 0 {
		return
	}
	p.warn("--set %s sets a rate, which closed loops do not have, so \"closed\" in the list of arrivals in line %d is replaced by \"constant\"", at.Assignment, a.pos.Line)
	open := slices.DeleteFunc(slices.Clone(a.values), hasArrival(Closed))
	if !slices.ContainsFunc(open, hasArrival(Constant)) {
		open = slices.Insert(open, closed, &file.Node{Kind: file.Scalar, Text: Constant.String(), Pos: a.values[closed].Pos})
	}
	a.values = open
}

// checkAssignments rejects assignments that affect no trial.
func (p *fileParser) checkAssignments(trials []*builder) {
	noTrial := func(has func(*builder) bool) bool { return !slices.ContainsFunc(trials, has) }
	for _, a := range p.options.Assignments {
		key, entry, nested := strings.Cut(a.Key, ".")
		k, known := p.keys[a.Key]
		switch {
		case slices.Contains(startedClusterKeys, key) && noTrial(func(b *builder) bool { return b.cluster.RunningCluster == nil }):
			p.failf(p.assignmentPosition(a), "%s applies only to clusters that quorumbench starts, but all trials use running clusters", key)
		case known && noTrial(func(b *builder) bool { return k.Operations.occurIn(&b.load) }):
			p.failf(p.assignmentPosition(a), "<"+k.Key+"> applies only to "+k.Operations.name+", and no trial has any")
		case nested && noTrial(func(b *builder) bool { s, ok := b.layer[key]; return ok && s.Value.Field(entry) != s.Value }):
			p.failf(p.assignmentPosition(a), "no trial has the mapping %s, so its entry %s cannot be set; set the whole mapping %s", key, entry, key)
		}
	}
}
