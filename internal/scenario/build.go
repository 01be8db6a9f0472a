package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// build returns the trial for a choice, and the trial's baseline if there is one.
func (p *fileParser) build(at place, o *outline, c choice) []*builder {
	p.clashes(c.layer)
	given := p.overlay(c.layer.mergedOver(o.defaults), c.layer)
	b := p.buildOf(at, o, c, c.layer, given)
	if p.options.Scale != 0 {
		if p.aliases == nil {
			p.aliases = map[string]string{}
		}
		c.layer = given
		if was, err := c.title(b.name); err == nil {
			p.aliases[was] = b.trial.Name
		}
	}
	changed, where, ok := p.baseline(given)
	if !ok {
		return []*builder{b}
	}
	base := p.buildOf(at, o, c, layer{}, changed)
	base.trial.BaselineOf = b.trial.Name
	if base.trial.Name = b.trial.Name + "-baseline"; !nameable.MatchString(base.trial.Name) {
		p.failf(where, "%s", notNameable(base.trial.Name))
	}
	if key := base.trial.Cluster.Key; key != "" && key == b.trial.Cluster.Key {
		p.failf(where, "the baseline of %s uses the same cluster as the trial; give the baseline another version, binary or setting", b.trial.Name)
	}
	return []*builder{b, base}
}

// buildOf builds a trial from all the values that apply to it.
func (p *fileParser) buildOf(at place, o *outline, c choice, own, given layer) *builder {
	c.labels, c.layer = maps.Clone(c.labels), given
	b := &builder{fileParser: p, draft: p.newDraft(), choice: c, at: at, own: own, asked: given}
	b.repeats = o.repeats
	for _, key := range sortedKeys(given) { // the sorted order puts a mapping before its entries
		if k := p.keys[key]; !k.expands() {
			// Each value was already read once, without an error.
			_ = k.readFrom(b.draft, given[key].value)
		}
	}
	if p.running != nil {
		b.attach, b.asked = *p.running, own
	}
	if given.hasKey("total") {
		b.load.Duration = 0
	}
	b.scale()
	name, err := b.title(b.name)
	if err != nil {
		p.fail(b.place("name"), err)
	}
	b.settle()
	if of := b.load.Rate.Of; of != "" {
		if b.load.Rate.Of, _, err = b.fill(of); err != nil {
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
	b.checkHosts()
	b.checkWatchKey()
	b.checkFaultMembers()
	b.checkRunning()
	if known {
		b.checkAbilities()
		b.checkCluster()
		b.warnOfUpgrades(name)
	}
	if !b.load.hasKind(isSTM) {
		b.load.STM = nil // if STM is set, defaults set it for other trials
	}
	b.trial = Trial{Name: name, Repeats: b.repeats, Cluster: b.cluster, Load: b.load, WorkersOn: b.workersOn, Scaled: b.scaledFrom, Notes: b.notes()}
	for _, warning := range append(b.load.warnings(b.words), b.load.sharedWarnings(&b.can.Watches)...) {
		b.warnOf(name, b.words.fill(warning))
	}
	return b
}

// settle sets values that depend on the given values.
func (b *builder) settle() {
	l := &b.load
	b.settleApplication()
	b.settlePrefix()
	if b.layer.hasKey("rate") && !b.layer.hasKey("arrival") && l.Application.Name == "" {
		l.Arrival = Constant
	}
	for i := range l.Mix {
		if o := &l.Mix[i]; o.Kind.Reads() && o.Consistency == kv.None {
			o.Consistency = b.consistency
		}
	}
	if a := b.options.Attach; a != nil {
		dir := b.attach.DataDir
		if b.attach = *a; b.layer["data-dir"].at.set != "" {
			b.attach.DataDir = dir
		}
	}
	if b.attached() {
		b.cluster.Attach, b.cluster.Members = &b.attach, 0
	} else if !b.layer.hasKey("target") {
		l.Target = kv.Target{Mode: kv.All}
	}
	if !b.layer.hasKey("preload") {
		l.Preload = l.usesKeySpace() || l.Application.Name != ""
	}
	l.Complete()
	if n := len(b.workersOn); n > 0 && !b.layer.hasKey("workers") {
		l.Workers = uint32(n)
	}
	if l.Compact.Every == 0 && l.Compact.Behind >= 0 {
		l.Compact = Compaction{}
	}
	b.leastKeySpace()
	if t := l.STM; l.hasKind(isSTM) && t.KeysPerTxn > 0 && t.WritePercent >= 0 && t.KeysPerTxn*t.WritePercent/100 == 0 {
		b.said = append(b.said, b.words.sprintf("Transactions do not write: %d percent (<stm.write-percent>) of %s (<stm.keys>) is less than one key.",
			t.WritePercent, text.Plural(uint64(t.KeysPerTxn), "key")))
	}
	if w := l.Watch; w != nil && w.Span == wholeSpace && len(w.Key) == 0 && w.WatchedKeys == 0 { // wholeSpace is rejected later in any other load
		w.WatchedKeys, w.Span = 1, l.KeySpace
	}
}

// notes returns the notes that the report shows about the load.
func (b *builder) notes() []string {
	var out []string
	if b.scaledFrom != nil {
		out = append(out, b.scaledFrom.note(&b.load))
	}
	if set := b.setNote(); set != "" {
		out = append(out, set)
	}
	for _, p := range parameters(b.apps, nil) {
		if p.Note != "" && p.isSet(&b.load) {
			out = append(out, p.Note)
		}
	}
	return append(out, b.said...)
}

// checkUnused rejects keys that have no effect on the trial. It accepts such keys in defaults,
// because they may be meant for other trials, unless they apply only to a running cluster.
func (b *builder) checkUnused() {
	for _, key := range sortedKeys(b.own) {
		if p := b.keys[key]; !p.Throughout && !p.For.occurIn(&b.load) {
			b.failf(b.own[key].at, "<"+key+"> applies only to "+p.For.name+", and this trial has none")
		}
	}
	if s, ok := b.own["connections"]; ok && b.load.NewConnection {
		b.failf(s.at, "with <new-connection>, each operation has its own connection, so <connections> has no effect; remove it")
	}
	if b.layer.hasKey("endpoints") || b.options.Attach != nil {
		return
	}
	for _, k := range ofRunning {
		if s, ok := b.layer[k]; ok {
			b.failf(s.at, "<"+k+"> applies only to a running cluster, but this trial has no endpoints; give endpoints, or remove <"+k+">")
		}
	}
}

// fit adapts the number of connections to the store. It warns only if the user gave the number.
func (b *builder) fit(name string) {
	if w := b.load.Watch; w != nil && b.can.InFlight == 1 && b.load.Application.Name == "" {
		w.Streams, w.Connections = w.Watchers, w.Watchers // on this store, each watcher needs its own connection
	}
	asked := b.asked.hasKey("connections")
	surplus := b.load.Connections > b.load.Clients && slices.Contains(b.axes, "clients") // no warning: other steps have more clients
	if w := b.load.fit(b.can.InFlight); w != "" && asked && !surplus {
		b.warnOf(name, w)
	}
	b.fitWatch()
	if w := b.load.fitOrdered(b.can.Ordered); w != "" {
		b.said = append(b.said, w)
		if asked {
			b.warnOf(name, w)
		}
	}
}

// fitWatch gives each watcher its own connection if a connection can have only one operation in
// flight. A watch occupies such a connection permanently.
func (b *builder) fitWatch() {
	w := b.load.Watch
	if w == nil || b.can.InFlight != 1 {
		return
	}
	w.Streams, w.Connections = w.Watchers, w.Watchers
	b.said = append(b.said, "Each watcher has its own connection, which is used for nothing else.")
}

func (b *builder) check() {
	problems := b.load.problems(b.words, b.apps)
	if a := b.cluster.Attach; a != nil {
		if wrong := a.check(b.words); wrong != nil {
			problems = append(problems, wrong)
		}
	}
	for _, problem := range problems {
		b.failf(b.place(problem.Key), "%s", problem.Text)
	}
	switch m, t := b.cluster.Members, b.load.Target; {
	case b.cluster.Attach != nil:
	case m < 1 || m > kv.MaxMembers:
		b.failf(b.place("members"), "members is %d, but must be from 1 to %d", m, kv.MaxMembers)
	case t.Mode == kv.One && t.Member > m:
		b.failf(b.place("target"), "target is %s, but the cluster has only %s", t, text.Plural(uint64(m), "member"))
	case t.Mode == kv.Followers && m == 1:
		b.failf(b.place("target"), "target is followers, but a cluster with 1 member has no followers; choose another target")
	}
}

// checkStore reports whether the catalog contains the trial's store, and adds an error if it does
// not. Without a known store, nothing else can be checked.
func (b *builder) checkStore() bool {
	known := b.catalog.Stores()
	if !b.layer.hasKey("store") {
		b.failf(b.at, "this trial has no store; give the key \"store\" one of these values: %s", strings.Join(known, ", "))
		return false
	}
	if !slices.Contains(known, b.cluster.Store) {
		b.failf(b.place("store"), "there is no store %q; choose one of: %s%s", b.cluster.Store, strings.Join(known, ", "), suggest(b.cluster.Store, known))
		return false
	}
	return true
}

// checkAbilities rejects features that the store does not support.
func (b *builder) checkAbilities() {
	store, l := b.cluster.Store, &b.load
	own := l.Application.Name == "" // the definition of an application lists what the store must support
	b.checkApplicationAbilities()
	for i, o := range l.Mix {
		if !own {
			break
		}
		if err := b.can.CheckOperation(store, o.Kind, o.Consistency); err != nil {
			b.failf(b.blame(o, b.places[i]), "%v", err)
		}
	}
	if l.Watch != nil && own {
		b.checkWatchAbilities()
	}
	if l.Cleanup.Keys {
		err := b.can.CheckOperation(store, kv.Delete, kv.None)
		if _, lists := b.can.Operations[kv.Range]; err == nil && !lists {
			b.failf(b.place("cleanup"), "%s cannot be cleaned up: it cannot list keys, so quorumbench cannot check whether any keys are left", store)
		} else if err != nil {
			b.failf(b.place("cleanup"), "%s cannot be cleaned up: %v", store, err)
		}
	}
	needs := func(key string, feature kv.Feature) {
		switch err := b.can.CheckFeature(store, feature); {
		case err == nil:
		case feature == kv.RangeForms:
			b.failf(b.place(key), "%s cannot read ranges with <"+key+">; remove <"+key+">", store)
		default:
			b.failf(b.place(key), "<"+key+"> is not supported by this store: %v", err)
		}
	}
	for _, p := range parameters(b.apps, nil) {
		for _, feature := range p.Features {
			if p.isSet(l) {
				needs(p.Key, feature)
			}
		}
	}
	b.checkFaultAbilities()
	if l.hasKind(isSTM) && l.STM.Locker != kv.LockNone {
		needs("stm.locker", kv.Leases)
	}
	if a := b.cluster.Attach; a != nil && a.TLS {
		needs("tls", kv.TLS)
	}
	if a := b.cluster.Attach; a != nil && a.User != "" {
		needs("user", kv.Users)
	}
}

// checkWatchAbilities rejects watch features that the store does not support.
func (b *builder) checkWatchAbilities() {
	store, w, can := b.cluster.Store, b.load.Watch, &b.can.Watches
	if err := b.can.CheckOperation(store, kv.Watch, kv.None); err != nil {
		b.failf(b.place("watch"), "%v", err)
		return
	}
	if err := b.can.CheckWatch(store, w.Mode); err != nil {
		b.failf(b.place("watch.mode"), "this <watch.mode> is not supported by this store: %v", err)
		return
	}
	if w.Expect > 0 && !can.Earlier {
		b.failf(b.place("watch.earlier-events"), "<watch.earlier-events> is not supported by this store: a watcher of %s receives only events that occur after the watcher is created", store)
	}
	if w.PrevKV && !can.Before {
		b.failf(b.place("watch.prev-kv"), "<watch.prev-kv> is not supported by this store: watch events from %s do not contain the previous value", store)
	}
	if w.Span > 1 && len(w.Key) == 0 && can.Mode(w.Mode) == kv.OnceWatch {
		b.failf(b.place("watch.keys-per-watcher"), "<watch.keys-per-watcher> cannot be combined with <watch.mode> \"once\", in which each watcher watches only one key")
	}
}

// blame returns the position in the file to report for an error about an operation. The position is
// that of the key consistency if the trial has this key and the store supports the operation at
// another consistency level. Otherwise it is the position of the operation.
func (b *builder) blame(o Operation, operation place) place {
	s, ok := b.layer["consistency"]
	if !ok || o.Consistency != b.consistency || !o.Kind.Reads() {
		return operation
	}
	for c := range kv.NumConsistencies {
		if c != o.Consistency && b.can.CheckOperation(b.cluster.Store, o.Kind, c) == nil {
			return s.value.at
		}
	}
	return operation
}

// checkCluster decodes the store's settings and computes the cluster's key from them.
func (b *builder) checkCluster() {
	c := &b.cluster
	var err error
	if c.Attach == nil {
		var decode func(any) error
		if b.settings != nil {
			decode = func(into any) error { return decodeStrict(b.settings, c.Store, into) }
		}
		if c.Settings, err = b.catalog.Settings(c.Store, decode); err != nil {
			b.fail(b.place("settings"), err)
		}
		b.checkQuota()
		b.checkCertificates()
	}
	if c.Version != "" {
		if err := b.catalog.Version(c.Store, c.Version); err != nil {
			b.failf(b.place("version"), "%v", err)
		}
	}
	if c.Key, err = clusterKey(b.cluster); err != nil {
		b.fail(b.place("settings"), err)
	}
}

// baseline returns the values of a trial's baseline and its position, and reports whether the trial
// has a baseline. The values are those of the trial, with the changes that the key baseline lists.
// The baseline does not inherit the label, because the label describes only the trial's cluster.
func (p *fileParser) baseline(all layer) (layer, place, bool) {
	s, ok := all["baseline"]
	if !ok {
		return nil, place{}, false
	}
	rest := maps.Clone(all)
	delete(rest, "baseline")
	delete(rest, "label")
	differs := layer{}
	for _, pair := range s.value.pairs {
		differs[pair.key] = pair
	}
	return p.spread(differs).mergedOver(rest), s.at, true
}
