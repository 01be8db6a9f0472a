package scenario

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// builder makes one trial of one choice.
type builder struct {
	*fileParser
	*draft
	plan
	own layer // what the trial itself says, without defaults
	// asked is what somebody gave: all but what a preset says.
	asked layer

	can        kv.Capabilities // the store's, if it is known
	stepped    bool            // clients is one of a list
	scaledFrom *Scaled
	said       []string // notes on what was changed
}

// build makes the trial of a choice.
func (p *fileParser) build(at place, o *outline, c choice) plan {
	p.clashes(c.layer)
	all := p.overlay(c.layer.over(o.defaults), c.layer)
	return p.buildOf(at, o, c, c.layer, all)
}

// buildBaseline makes the baseline of a trial that was built of the same
// choice, if it has one.
func (p *fileParser) buildBaseline(of *plan, o *outline, c choice) (plan, bool) {
	all, at, ok := p.baseline(p.overlay(c.layer.over(o.defaults), c.layer))
	if !ok {
		return plan{}, false
	}
	pl := p.buildOf(of.at, o, c, layer{}, all)
	pl.trial.BaselineOf = of.trial.Name
	if pl.trial.Name = of.trial.Name + "-baseline"; !nameable.MatchString(pl.trial.Name) {
		p.failf(at, "%s", notNameable(pl.trial.Name))
	}
	if pl.trial.Cluster.Key != "" && pl.trial.Cluster.Key == of.trial.Cluster.Key {
		p.failf(at, "the baseline of %s is no other cluster than its own", of.trial.Name)
	}
	return pl, true
}

// buildOf makes a trial of all that was given for it.
func (p *fileParser) buildOf(at place, o *outline, c choice, own, all layer) plan {
	c.labels = maps.Clone(c.labels)
	b := &builder{fileParser: p, draft: newDraft(p.keys, p.words), own: own, asked: all, stepped: slices.Contains(c.keys, "clients")}
	b.at, b.layer = at, maps.Clone(all)
	b.repeats = o.repeats
	b.scale(&c)
	for _, key := range sortedKeys(b.layer) { // an entry after its mapping
		if k := p.keys[key]; !k.expands() {
			// Each value was read once already, without an error.
			_ = k.readFrom(b.draft, b.layer[key].value)
		}
	}
	if p.running != nil {
		b.attach, b.asked = *p.running, own
	}
	b.settleScale(all)
	name, err := title(b.name, c, b.layer)
	if err != nil {
		p.fail(b.place("name"), err)
	}
	b.settle()
	if of := b.load.Rate.Of; of != "" {
		if b.load.Rate.Of, _, err = fill(of, c, b.layer); err != nil {
			p.fail(b.place("rate"), err)
		}
	}
	b.checkUnused()
	known := b.checkStore()
	if known {
		b.can = b.catalog.Capabilities(b.cluster.Store)
		b.fit(name)
	}
	b.check()
	b.checkWatch()
	if known {
		b.checkAbilities()
		b.checkCluster()
	}
	b.trial = Trial{Name: name, Repeats: b.repeats, Cluster: b.cluster, Load: b.load, Scaled: b.scaledFrom, Notes: b.notes()}
	for _, w := range b.load.warnings(b.words) {
		b.warn(name, w)
	}
	return b.plan
}

// warn adds a warning, with the trial's name where there can be others.
func (b *builder) warn(name, text string) {
	if b.running == nil {
		text = "trial " + name + ": " + text
	}
	b.warnings = append(b.warnings, text)
}

func (b *builder) given(key string) bool {
	_, ok := b.layer[key]
	return ok
}

func (b *builder) asksFor(key string) bool {
	_, ok := b.asked[key]
	return ok
}

// settle fills in what follows from what was given.
func (b *builder) settle() {
	l := &b.load
	if b.given("rate") && !b.given("arrival") {
		l.Arrival = Constant
	}
	if b.given("total") {
		l.Duration = 0
	}
	for i := range l.Mix {
		if o := &l.Mix[i]; o.Kind.Reads() && o.Consistency == kv.None {
			o.Consistency = b.consistency
		}
	}
	if b.given("endpoints") {
		b.cluster.Attach, b.cluster.Members = &b.attach, 0
	} else if !b.given("target") {
		l.Target = kv.Target{Mode: kv.All}
	}
	if !b.given("preload") {
		l.Preload = l.usesKeySpace()
	}
	l.Complete()
	if l.Compact.Every == 0 && l.Compact.Behind >= 0 {
		l.Compact = Compaction{}
	}
	b.leastKeySpace()
	b.settleSTM()
	b.settleWatch()
}

// notes are what the report says of the load.
func (b *builder) notes() []string {
	var out []string
	if b.scaledFrom != nil {
		out = append(out, b.scaledFrom.note(&b.load))
	}
	if set := b.options.Set; len(set) > 0 {
		out = append(out, "set on the command line: "+joined(set))
	}
	for _, p := range Parameters() {
		if p.Note != "" && p.IsSet(&b.load) {
			out = append(out, p.Note)
		}
	}
	return append(out, b.said...)
}

// checkUnused refuses keys of the trial itself that can have no effect; in
// defaults they may be meant for other trials.
func (b *builder) checkUnused() {
	for _, key := range sortedKeys(b.own) {
		if p := b.keys[key]; p.Operations != nil && !p.Throughout && !b.load.has(p.Operations) {
			b.failf(b.own[key].at, "<"+key+"> is for "+p.OperationsText+", and this trial has none")
		}
	}
	if s, ok := b.own["connections"]; ok && b.load.NewConnection {
		b.failf(s.at, "with <new-connection> each operation has a connection of its own, so <connections> means nothing; drop it")
	}
	if b.given("endpoints") {
		return
	}
	for _, k := range []string{"tls", "user", "dial-timeout", "data-dir"} {
		if s, ok := b.layer[k]; ok {
			b.failf(s.at, "<"+k+"> is for a cluster that runs already, and this trial has no endpoints")
		}
	}
}

// fit adapts the connections; what was not asked for changes without a word.
func (b *builder) fit(name string) {
	surplus := b.load.Connections > b.load.Clients && b.stepped // its steps have more
	if w := b.load.Fit(b.can.InFlight); w != "" && b.asksFor("connections") && !surplus {
		b.warn(name, w)
	}
	if w := b.load.FitOrdered(b.can.Ordered); w != "" {
		b.said = append(b.said, w)
		if b.asksFor("connections") {
			b.warn(name, w)
		}
	}
}

func (b *builder) check() {
	for _, problem := range b.load.problems(b.words) {
		b.failf(b.place(problem.Key), "%s", problem.Text)
	}
	if a := b.cluster.Attach; a != nil {
		var wrong *Problem
		if errors.As(a.validate(b.words), &wrong) {
			b.failf(b.place(wrong.Key), "%s", wrong.Text)
		}
		return
	}
	switch m, t := b.cluster.Members, b.load.Target; {
	case m < 1 || m > kv.MaxMembers:
		b.failf(b.place("members"), "members is %d and must be from 1 to %d", m, kv.MaxMembers)
	case t.Mode == kv.One && t.Member > m:
		b.failf(b.place("target"), "target is %s, and the cluster has %s", t, readable.Plural(uint64(m), "member"))
	case t.Mode == kv.Followers && m == 1:
		b.failf(b.place("target"), "target is followers, and a cluster of 1 member has none")
	}
}

// checkStore reports whether the catalog knows the store: nothing else may be
// asked about one that it does not.
func (b *builder) checkStore() bool {
	known := b.catalog.Stores()
	if !b.given("store") {
		b.failf(b.at, "this trial says no store; give store, one of: %s", strings.Join(known, ", "))
		return false
	}
	if !slices.Contains(known, b.cluster.Store) {
		b.failf(b.place("store"), "there is no store %q; choose one of: %s%s", b.cluster.Store, strings.Join(known, ", "), suggest(b.cluster.Store, known))
		return false
	}
	return true
}

// checkAbilities refuses what the store lacks of what the trial asks for.
func (b *builder) checkAbilities() {
	store := b.cluster.Store
	if key := b.load.scanKey(); key != "" && !b.can.Has(kv.RangeForms) {
		b.failf(b.place(key), "%s cannot read a range with <"+key+">; leave it out", store)
	}
	for i, o := range b.load.Mix {
		if err := b.can.Operation(store, o.Kind, o.Consistency); err != nil {
			b.failf(b.blame(o, b.places[i]), "%v", err)
		}
	}
	if b.load.Watch != nil {
		if err := b.can.Operation(store, kv.Watch, kv.None); err != nil {
			b.failf(b.place("watch"), "%v", err)
		}
	}
	b.checkRemoval()
	a, stm := b.cluster.Attach, b.load.STM
	lacks := func(key string, feature kv.Feature) {
		if err := b.can.Feature(store, feature); err != nil {
			b.failf(b.place(key), "<"+key+"> is not for this store: %v", err)
		}
	}
	for _, p := range Parameters() {
		for _, feature := range p.Features {
			if p.IsSet(&b.load) {
				lacks(p.Key, feature)
			}
		}
	}
	for _, of := range []struct {
		feature kv.Feature
		key     string
		asked   bool
	}{
		{kv.Leases, "stm.locker", b.load.has(isSTM) && stm != nil && stm.Locker != kv.LockNone},
		{kv.TLS, "tls", a != nil && a.TLS},
		{kv.Users, "user", a != nil && a.User != ""},
	} {
		if of.asked {
			lacks(of.key, of.feature)
		}
	}
}

// checkCluster decodes the store's settings and distinguishes clusters by them.
func (b *builder) checkCluster() {
	if b.cluster.Attach == nil {
		b.decodeSettings()
	}
	if v := b.cluster.Version; v != "" {
		if err := b.catalog.Version(b.cluster.Store, v); err != nil {
			b.failf(b.place("version"), "%v", err)
		}
	}
	var err error
	if b.cluster.Key, err = clusterKey(b.cluster); err != nil {
		b.fail(b.place("settings"), err)
	}
}

// blame is where the cause stands: the operation, unless the store has it at
// another level and the consistency was given apart from it.
func (b *builder) blame(o Operation, operation place) place {
	s, ok := b.layer["consistency"]
	if !ok || o.Consistency != b.consistency || !o.Kind.Reads() {
		return operation
	}
	for c := range kv.NumConsistencies {
		if c != o.Consistency && b.can.Operation(b.cluster.Store, o.Kind, c) == nil {
			return s.value.at
		}
	}
	return operation
}

func (b *builder) decodeSettings() {
	var decode func(any) error
	if n := b.settings; n != nil {
		store := b.cluster.Store
		decode = func(into any) error { return decodeStrict(n, store, into) }
	}
	v, err := b.catalog.Settings(b.cluster.Store, decode)
	if err != nil {
		b.fail(b.place("settings"), err)
	}
	b.cluster.Settings = v
}
