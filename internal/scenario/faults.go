package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// faultsValue returns the parameter for the faults to inject during the load. In a flag, each fault
// has the form "kill leader at 10s for 3s every 20s repeat 5", and commas separate the faults.
func faultsValue() value {
	return typedValue[[]fault.Fault]{
		field: func(l *Load) *[]fault.Fault { return &l.Faults }, placeholder: "FAULT,...", fileSchema: faultsSchema,
		fromText: fault.Parse, fromFile: readFaults, format: fault.Text, checkBounds: checkEachFault,
		isAbsent: func(all []fault.Fault) bool { return len(all) == 0 },
	}
}

// readFaults reads faults. The value is a list of mappings, or a text in the form that flags use.
func readFaults(_ *draft, key string, n *file.Node) (all []fault.Fault, err error) {
	if n.Kind == file.Scalar {
		return file.ParseWord(n, key, fault.Parse)
	}
	if n.Kind != file.List {
		return nil, n.Pos.Errorf("faults must be a list, for example [{at: 10s, do: kill, member: leader, for: 3s}], not %s", n.Describe())
	}
	for _, item := range n.Items {
		f, err := readFault(item)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, n.Pos.Errorf("the list of faults is empty; omit the key faults")
	}
	return all, nil
}

func readFault(n *file.Node) (f fault.Fault, err error) {
	if n.Kind == file.Scalar {
		return file.ParseWord(n, "a fault", fault.ParseFault)
	}
	texts := map[string]string{}
	readers := map[string]func(*file.Node) error{}
	for _, name := range fault.FieldNames() {
		readers[name] = func(n *file.Node) (err error) {
			if name == "of" && n.Kind == file.List {
				kinds := make([]string, len(n.Items))
				for i, item := range n.Items {
					if kinds[i], err = item.SingleLine(name); err != nil {
						return err
					}
				}
				texts[name] = strings.Join(kinds, fault.KindSeparator)
				return nil
			}
			texts[name], err = n.SingleLine(name)
			return err
		}
	}
	if err := n.Fields("a fault", readers); err != nil {
		return f, err
	}
	f, field, err := fault.ParseFields(texts)
	if err != nil {
		return f, n.Field(field).Pos.Errorf("%v", err)
	}
	return f, nil
}

// checkEachFault checks each fault independently of the other faults and of the load.
func checkEachFault(c *checks, key string, all []fault.Fault) {
	for _, f := range all {
		if wrong := f.Problem(); wrong != "" {
			c.add(key, "the fault %q %s", f, wrong)
		}
	}
}

// Injections returns the faults injected during the load, in order, with each repetition as a
// separate entry. All random choices depend only on the load's seed.
func (l *Load) Injections() []fault.Injection { return fault.Schedule(l.Faults, l.Duration, l.Seed) }

// hasFault reports whether the function matches returns true for any possible kind of any of the
// load's faults.
func (l *Load) hasFault(matches func(fault.Kind) bool) bool {
	return slices.ContainsFunc(l.Faults, func(f fault.Fault) bool { return slices.ContainsFunc(f.PossibleKinds(), matches) })
}

// ChangesCluster reports whether any of the load's faults leaves the cluster changed.
func (l *Load) ChangesCluster() bool { return l.hasFault(fault.Kind.ChangesCluster) }

// checkFaults rejects faults that do not fit into the window, and faults that overlap.
func (l *Load) checkFaults(c *checks) {
	if len(l.Faults) == 0 || c.hasProblem("faults", "duration", "total") {
		return
	}
	if l.Duration == 0 {
		c.add("faults", "the times of <faults> count from the start of the window, so the window needs a <duration> instead of a <total>")
		return
	}
	all := fault.WorstCaseSchedule(l.Faults, l.Duration)
	if len(all) > fault.MaxFaults {
		c.add("faults", "<faults> would inject more than %d faults; use fewer repetitions", fault.MaxFaults)
		return
	}
	for i := range all {
		h := &all[i]
		switch {
		case h.At+h.Duration >= l.Duration:
			c.add("faults", "the fault %q at %s would last until %s, but the window closes at %s; make <duration> longer, or start the fault earlier",
				h.String(), text.FormatDuration(h.At), text.FormatDuration(h.At+h.Duration), text.FormatDuration(l.Duration))
			return
		case i > 0 && (h.At == all[i-1].At || h.At < all[i-1].At+all[i-1].Duration):
			c.add("faults", "the fault %q at %s begins before %q at %s has ended; faults must not overlap, so that the effect of each can be seen",
				h.String(), text.FormatDuration(h.At), all[i-1].String(), text.FormatDuration(all[i-1].At))
			return
		case h.LeadTime() > h.At, i > 0 && h.LeadTime() > h.At-all[i-1].At-all[i-1].Duration:
			c.add("faults", "the preparation for the fault %q at %s starts %s earlier, but at that time the window has not opened yet or another fault has not ended; start the fault later, or shorten its field \"by\"",
				h.String(), text.FormatDuration(h.At), text.FormatDuration(h.Amount))
			return
		}
	}
}

// checkFaultMembers rejects faults in a cluster that quorumbench does not start, faults for which
// the cluster has too few members, and network faults if a member or worker runs on another
// machine. It also records what the faults need from the cluster.
func (b *builder) checkFaultMembers() {
	if len(b.load.Faults) == 0 {
		return
	}
	at, n := b.keyPosition("faults"), b.cluster.Members
	if b.cluster.RunningCluster != nil {
		b.failf(at, "<faults> can be injected only into clusters that quorumbench starts; give members instead of endpoints")
		return
	}
	b.cluster.FaultDisks, b.cluster.SpareMember, b.cluster.FaultNetwork = b.load.hasFault(fault.Kind.NeedsDisk), b.load.hasFault(fault.Kind.NeedsSpare), b.load.hasFault(fault.Kind.NeedsNetwork)
	for _, f := range b.load.Faults {
		switch {
		case n < f.MinMembers():
			b.failf(at, "the fault %q needs a cluster of at least %d members, but this cluster has %d", f, f.MinMembers(), n)
		case f.Member.Mode == kv.Followers && n == 1:
			b.failf(at, "the fault %q needs a follower, but a cluster with 1 member has none", f)
		case n < 3 && slices.ContainsFunc(f.PossibleKinds(), fault.Kind.NeedsQuorum):
			b.failf(at, "the fault %q leaves no quorum in a cluster with %s; use at least 3 members", f, text.Plural(uint64(max(n, 0)), "member"))
		case f.Member.Mode == kv.SingleMember && f.Member.Member > n:
			b.failf(at, "the fault %q applies to m%d, but the cluster has only %s", f, f.Member.Member, text.Plural(uint64(max(n, 0)), "member"))
		}
	}
	for i := range b.hosts {
		h := &b.hosts[i]
		used := slices.Contains(b.cluster.Hosts, h.Name) || len(b.cluster.Hosts) == 0 && i < n
		used = used || slices.Contains(b.workerHosts, h.Name) || len(b.workerHosts) == 0 && b.load.Workers > 1
		if b.cluster.FaultNetwork && used && h.Transport != TransportLocal {
			b.failf(at, "network <faults> require that all members and workers run on the same machine as quorumbench, but the host %s is reached via %s", h.Name, h.Transport)
			return
		}
	}
}

// warnOfUpgrades warns about the store's rules for upgrades if the load has a rolling upgrade.
func (b *builder) warnOfUpgrades(name string) {
	for _, f := range b.load.Faults {
		if f.Kind == fault.RollingUpgrade && b.capabilities.UpgradeConditions != "" {
			b.warnAboutTrial(name, fmt.Sprintf("the fault %q: %s", f, b.capabilities.UpgradeConditions))
			return
		}
	}
}

// checkFaultCapabilities rejects faults that the store does not support.
func (b *builder) checkFaultCapabilities() {
	for _, f := range b.load.Faults {
		for _, k := range f.PossibleKinds() {
			if needs := k.RequiredFeature(); needs != nil {
				if err := b.capabilities.CheckFeature(b.cluster.Store, *needs); err != nil {
					b.failf(b.keyPosition("faults"), "the fault %q is not supported by this store: %v", f, err)
				}
			}
		}
		if version, _ := fault.ParseServer(f.Server); version != "" {
			if err := b.catalog.Version(b.cluster.Store, version); err != nil {
				b.failf(b.keyPosition("faults"), "the fault %q: %v", f, err)
			}
		}
	}
}

// securedSettings is implemented by the settings of stores whose members can use TLS.
type securedSettings interface {
	// Secured reports whether the members use TLS.
	Secured() bool
}

// checkCertificates rejects the fault new-certificate if the members do not use TLS. For a store
// that cannot replace certificates at all, checkFaultCapabilities rejects the fault.
func (b *builder) checkCertificates() {
	if b.capabilities.CheckFeature(b.cluster.Store, *fault.NewCertificate.RequiredFeature()) != nil {
		return
	}
	for _, f := range b.load.Faults {
		if !slices.Contains(f.PossibleKinds(), fault.NewCertificate) {
			continue
		}
		if s, ok := b.cluster.Settings.(securedSettings); ok && !s.Secured() {
			b.failf(b.keyPosition("faults"), "the fault %q needs members that use TLS; add settings: {tls: true}", f)
		}
	}
}

// quotaSettings is implemented by the settings of stores with a space quota.
type quotaSettings interface {
	// CheckQuota returns an error with the reason if a fault cannot fill the quota.
	CheckQuota() error
}

// checkQuota rejects the fault fill-quota if the quota cannot be filled.
func (b *builder) checkQuota() {
	for _, f := range b.load.Faults {
		if s, ok := b.cluster.Settings.(quotaSettings); ok && slices.Contains(f.PossibleKinds(), fault.FillQuota) {
			if err := s.CheckQuota(); err != nil {
				b.failf(b.keyPosition("faults"), "the fault %q does not work with these settings: %v", f, err)
			}
		}
	}
}
