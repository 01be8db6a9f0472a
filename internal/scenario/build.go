package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// build returns the trial for a choice, and the trial's baseline if there is one.
func (p *fileParser) build(pos file.Position, o *outline, c choice) []*builder {
	p.checkExclusiveKeys(c.layer)
	given := p.applyOptions(c.layer.mergedOver(o.defaults), c.layer)
	b := p.buildTrial(pos, o, c, c.layer, given)
	if p.options.Scale != 0 {
		if p.aliases == nil {
			p.aliases = map[string]string{}
		}
		c.layer = given
		if was, err := c.title(b.name); err == nil {
			p.aliases[was] = b.trial.Name
		}
	}
	changed, where, ok := p.baselineLayer(given)
	if !ok {
		return []*builder{b}
	}
	base := p.buildTrial(pos, o, c, layer{}, changed)
	base.trial.BaselineOf = b.trial.Name
	if base.trial.Name = b.trial.Name + "-baseline"; !validName.MatchString(base.trial.Name) {
		p.failf(where, "%s", invalidNameText(base.trial.Name))
	}
	if key := base.trial.Cluster.Key; key != "" && key == b.trial.Cluster.Key {
		p.failf(where, "the baseline of %s uses the same cluster as the trial; give the baseline another version, binary or setting", b.trial.Name)
	}
	return []*builder{b, base}
}

// buildTrial builds a trial from all the values that apply to it.
func (p *fileParser) buildTrial(pos file.Position, o *outline, c choice, ownLayer, given layer) *builder {
	c.labels, c.layer = maps.Clone(c.labels), given
	b := &builder{fileParser: p, draft: p.newDraft(), choice: c, pos: pos, ownLayer: ownLayer, givenLayer: given}
	b.repeats = o.repeats
	for _, key := range sortedKeys(given) { // the sorted order puts a mapping before its entries
		if k := p.keys[key]; !k.expands() {
			// Each value was already read once, without an error.
			_ = k.readFrom(b.draft, given[key].Value)
		}
	}
	if p.commandCluster != nil {
		b.runningCluster, b.givenLayer = *p.commandCluster, ownLayer
	}
	if given.hasKey("total") {
		b.load.Duration = 0
	}
	b.scale()
	name, err := b.title(b.name)
	if err != nil {
		p.fail(b.keyPosition("name"), err)
	}
	b.deriveValues()
	if of := b.load.Rate.SourceTrial; of != "" {
		if b.load.Rate.SourceTrial, _, err = b.fill(of); err != nil {
			p.fail(b.keyPosition("rate"), err)
		}
	}
	b.checkUnused()
	known := b.checkStore()
	if known {
		b.capabilities = b.catalog.Capabilities(b.cluster.Store)
		b.fitConnections(name)
	}
	b.check()
	b.checkHosts()
	b.checkWatchKey()
	b.checkFaultMembers()
	b.checkRunning()
	if known {
		b.checkCapabilities()
		b.checkCluster()
		b.warnOfUpgrades(name)
	}
	if !b.load.hasKind(isSTM) {
		b.load.STM = nil // if STM is set, the value is from defaults and is intended for other trials
	}
	b.trial = Trial{Name: name, Repeats: b.repeats, Cluster: b.cluster, Load: b.load, WorkerHosts: b.workerHosts, Unscaled: b.unscaled, Notes: b.notes()}
	for _, warning := range append(b.load.warnings(b.namer), b.load.sharedWarnings(&b.capabilities.Watches)...) {
		b.warnAboutTrial(name, b.namer.fill(warning))
	}
	return b
}

// deriveValues sets values that depend on the given values.
func (b *builder) deriveValues() {
	l := &b.load
	b.deriveApplicationFields()
	b.setDefaultPrefix()
	if b.layer.hasKey("rate") && !b.layer.hasKey("arrival") && l.Application.Name == "" {
		l.Arrival = Constant
	}
	for i := range l.Mix {
		if o := &l.Mix[i]; o.Kind.Reads() && o.Consistency == kv.NoConsistency {
			o.Consistency = b.consistency
		}
	}
	if a := b.options.RunningCluster; a != nil {
		dir := b.runningCluster.DataDir
		if b.runningCluster = *a; b.layer["data-dir"].Pos.Assignment != "" {
			b.runningCluster.DataDir = dir
		}
	}
	if b.usesRunningCluster() {
		b.cluster.RunningCluster, b.cluster.Members = &b.runningCluster, 0
	} else if !b.layer.hasKey("target") {
		l.Target = kv.Target{Mode: kv.AllMembers}
	}
	if !b.layer.hasKey("preload") {
		l.Preload = l.usesKeySpace() || l.Application.Name != ""
	}
	l.Complete()
	if n := len(b.workerHosts); n > 0 && !b.layer.hasKey("workers") {
		l.Workers = uint32(n)
	}
	if l.Compact.Interval == 0 && l.Compact.KeptRevisions >= 0 {
		l.Compact = Compaction{}
	}
	b.clampKeySpace()
	if t := l.STM; l.hasKind(isSTM) && t.KeysPerTxn > 0 && t.WritePercent >= 0 && t.KeysPerTxn*t.WritePercent/100 == 0 {
		b.adjustmentNotes = append(b.adjustmentNotes, b.namer.sprintf("Transactions do not write: %d percent (<stm.write-percent>) of %s (<stm.keys>) is less than one key.",
			t.WritePercent, text.Plural(uint64(t.KeysPerTxn), "key")))
	}
	if w := l.Watch; w != nil && w.KeysPerWatcher == wholeKeySpace && len(w.Key) == 0 && w.WatchedKeys == 0 { // wholeKeySpace is rejected later in any other load
		w.WatchedKeys, w.KeysPerWatcher = 1, l.KeySpace
	}
}

// notes returns the notes that the report shows about the load.
func (b *builder) notes() []string {
	var out []string
	if b.unscaled != nil {
		out = append(out, b.unscaled.note(&b.load))
	}
	if set := b.assignmentsNote(); set != "" {
		out = append(out, set)
	}
	for _, p := range parameters(b.apps, nil) {
		if p.Note != "" && p.isSet(&b.load) {
			out = append(out, p.Note)
		}
	}
	return append(out, b.adjustmentNotes...)
}

// checkUnused rejects keys that have no effect on the trial. It accepts such keys in defaults,
// because they may be intended for other trials. However, it rejects keys in defaults that apply
// only to a running cluster.
func (b *builder) checkUnused() {
	for _, key := range sortedKeys(b.ownLayer) {
		if p := b.keys[key]; !p.WholeMix && !p.Operations.occurIn(&b.load) {
			b.failf(b.ownLayer[key].Pos, "<"+key+"> applies only to "+p.Operations.name+", and this trial has none")
		}
	}
	if s, ok := b.ownLayer["connections"]; ok && b.load.NewConnection {
		b.failf(s.Pos, "with <new-connection>, each operation has its own connection, so <connections> has no effect; remove it")
	}
	if b.layer.hasKey("endpoints") || b.options.RunningCluster != nil {
		return
	}
	for _, k := range runningClusterKeys {
		if s, ok := b.layer[k]; ok {
			b.failf(s.Pos, "<"+k+"> applies only to a running cluster, but this trial has no endpoints; give endpoints, or remove <"+k+">")
		}
	}
}

// fitConnections adapts the number of connections to the store. It warns only if the user gave the
// number.
func (b *builder) fitConnections(name string) {
	connectionsGiven := b.givenLayer.hasKey("connections")
	surplus := b.load.Connections > b.load.Clients && slices.Contains(b.axes, "clients") // no warning: other steps have more clients
	if w := b.load.fitConnections(b.capabilities.MaxInFlight); w != "" && connectionsGiven && !surplus {
		b.warnAboutTrial(name, w)
	}
	b.fitWatch()
	if w := b.load.dedicateConnections(b.capabilities.OrderedResponses); w != "" {
		b.adjustmentNotes = append(b.adjustmentNotes, w)
		if connectionsGiven {
			b.warnAboutTrial(name, w)
		}
	}
}

// fitWatch gives each watcher its own connection if a connection can have only one operation in
// flight. A watch occupies such a connection permanently.
func (b *builder) fitWatch() {
	w := b.load.Watch
	if w == nil || b.capabilities.MaxInFlight != 1 {
		return
	}
	w.Streams, w.Connections = w.Watchers, w.Watchers
	b.adjustmentNotes = append(b.adjustmentNotes, "Each watcher has its own connection, which is used for nothing else.")
}

func (b *builder) check() {
	problems := b.load.problems(b.namer, b.apps)
	if a := b.cluster.RunningCluster; a != nil {
		if wrong := a.check(b.namer); wrong != nil {
			problems = append(problems, wrong)
		}
	}
	for _, problem := range problems {
		b.failf(b.keyPosition(problem.Key), "%s", problem.Text)
	}
	switch m, t := b.cluster.Members, b.load.Target; {
	case b.cluster.RunningCluster != nil:
	case m < 1 || m > kv.MaxMembers:
		b.failf(b.keyPosition("members"), "members is %d, but must be from 1 to %d", m, kv.MaxMembers)
	case t.Mode == kv.SingleMember && t.Member > m:
		b.failf(b.keyPosition("target"), "target is %s, but the cluster has only %s", t, text.Plural(uint64(m), "member"))
	case t.Mode == kv.Followers && m == 1:
		b.failf(b.keyPosition("target"), "target is followers, but a cluster with 1 member has no followers; choose another target")
	}
}

// checkStore reports whether the catalog contains the trial's store, and adds an error if it does
// not. Without a known store, nothing else can be checked.
func (b *builder) checkStore() bool {
	known := b.catalog.Stores()
	if !b.layer.hasKey("store") {
		b.failf(b.pos, "this trial has no store; give the key \"store\" one of these values: %s", strings.Join(known, ", "))
		return false
	}
	if !slices.Contains(known, b.cluster.Store) {
		b.failf(b.keyPosition("store"), "there is no store %q; choose one of: %s%s", b.cluster.Store, strings.Join(known, ", "), suggest(b.cluster.Store, known))
		return false
	}
	return true
}

// checkCapabilities rejects features that the store does not support.
func (b *builder) checkCapabilities() {
	store, l := b.cluster.Store, &b.load
	hasMix := l.Application.Name == "" // the definition of an application lists what the store must support
	b.checkApplicationCapabilities()
	for i, o := range l.Mix {
		if !hasMix {
			break
		}
		if err := b.capabilities.CheckOperation(store, o.Kind, o.Consistency); err != nil {
			b.failf(b.errorPosition(o, b.mixPositions[i]), "%v", err)
		}
	}
	if l.Watch != nil && hasMix {
		b.checkWatchCapabilities()
	}
	if l.Cleanup.Keys {
		err := b.capabilities.CheckOperation(store, kv.Delete, kv.NoConsistency)
		if _, lists := b.capabilities.Operations[kv.Range]; err == nil && !lists {
			b.failf(b.keyPosition("cleanup"), "%s cannot be cleaned up: it cannot list keys, so quorumbench cannot check whether any keys are left", store)
		} else if err != nil {
			b.failf(b.keyPosition("cleanup"), "%s cannot be cleaned up: %v", store, err)
		}
	}
	requireFeature := func(key string, feature kv.Feature) {
		switch err := b.capabilities.CheckFeature(store, feature); {
		case err == nil:
		case feature == kv.RangeForms:
			b.failf(b.keyPosition(key), "%s cannot read ranges with <"+key+">; remove <"+key+">", store)
		default:
			b.failf(b.keyPosition(key), "<"+key+"> is not supported by this store: %v", err)
		}
	}
	for _, p := range parameters(b.apps, nil) {
		for _, feature := range p.Features {
			if p.isSet(l) {
				requireFeature(p.Key, feature)
			}
		}
	}
	b.checkFaultCapabilities()
	if l.hasKind(isSTM) && l.STM.Locker != kv.LockNone {
		requireFeature("stm.locker", kv.Leases)
	}
	if a := b.cluster.RunningCluster; a != nil && a.TLS {
		requireFeature("tls", kv.TLS)
	}
	if a := b.cluster.RunningCluster; a != nil && a.User != "" {
		requireFeature("user", kv.Users)
	}
}

// checkWatchCapabilities rejects watch features that the store does not support.
func (b *builder) checkWatchCapabilities() {
	store, w, watches := b.cluster.Store, b.load.Watch, &b.capabilities.Watches
	if err := b.capabilities.CheckOperation(store, kv.Watch, kv.NoConsistency); err != nil {
		b.failf(b.keyPosition("watch"), "%v", err)
		return
	}
	if err := b.capabilities.CheckWatch(store, w.Mode); err != nil {
		b.failf(b.keyPosition("watch.mode"), "this <watch.mode> is not supported by this store: %v", err)
		return
	}
	if w.EarlierEvents > 0 && !watches.PastRevisions {
		b.failf(b.keyPosition("watch.earlier-events"), "<watch.earlier-events> is not supported by this store: a watcher of %s receives only events that occur after the watcher is created", store)
	}
	if w.PrevKV && !watches.PreviousValues {
		b.failf(b.keyPosition("watch.prev-kv"), "<watch.prev-kv> is not supported by this store: watch events from %s do not contain the previous value", store)
	}
	if w.KeysPerWatcher > 1 && len(w.Key) == 0 && watches.ResolveMode(w.Mode) == kv.OnceWatch {
		b.failf(b.keyPosition("watch.keys-per-watcher"), "<watch.keys-per-watcher> cannot be combined with <watch.mode> \"once\", in which each watcher watches only one key")
	}
}

// errorPosition returns the position in the file to report for an error about an operation. The
// position is that of the key "consistency" if the trial has this key and the store supports the
// operation at another consistency level. Otherwise it is the position of the operation.
func (b *builder) errorPosition(o Operation, operation file.Position) file.Position {
	s, ok := b.layer["consistency"]
	if !ok || o.Consistency != b.consistency || !o.Kind.Reads() {
		return operation
	}
	for c := range kv.NumConsistencies {
		if c != o.Consistency && b.capabilities.CheckOperation(b.cluster.Store, o.Kind, c) == nil {
			return s.Value.Pos
		}
	}
	return operation
}

// checkCluster decodes the store's settings and computes the cluster's key from them.
func (b *builder) checkCluster() {
	c := &b.cluster
	var err error
	if c.RunningCluster == nil {
		var decode func(any) error
		if b.settings != nil {
			decode = func(into any) error { return b.settings.DecodeSettings(c.Store, settingNames(into), into) }
		}
		if c.Settings, err = b.catalog.Settings(c.Store, decode); err != nil {
			b.fail(b.keyPosition("settings"), err)
		}
		b.checkQuota()
		b.checkCertificates()
	}
	if c.Version != "" {
		if err := b.catalog.Version(c.Store, c.Version); err != nil {
			b.failf(b.keyPosition("version"), "%v", err)
		}
	}
	if c.Key, err = clusterKey(b.cluster); err != nil {
		b.fail(b.keyPosition("settings"), err)
	}
}

// baselineLayer returns the values of a trial's baseline and its position, and reports whether the
// trial has a baseline. The values are those of the trial, with the changes that the key "baseline"
// lists. The baseline does not inherit the label, because the label describes only the trial's
// cluster.
func (p *fileParser) baselineLayer(all layer) (layer, file.Position, bool) {
	s, ok := all["baseline"]
	if !ok {
		return nil, file.Position{}, false
	}
	rest := maps.Clone(all)
	delete(rest, "baseline")
	delete(rest, "label")
	changes := layer{}
	for _, pair := range s.Value.Pairs {
		changes[pair.Key] = pair
	}
	return p.hoistStoreKeys(changes).mergedOver(rest), s.Pos, true
}
