package scenario

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// checkFaultList looks at each fault by itself.
func checkFaultList(c *checks, key string, all []Fault) {
	for _, f := range all {
		row, traffic := f.row(), f.checkTraffic()
		switch {
		case f.Do >= numFaultKinds:
			c.add(key, "there is no such fault; choose %s", faultWords())
		case f.Do == Random && len(f.Of) == 0:
			c.add(key, "the fault %q needs of: the kinds of which it is one, as in of: [kill, pause]", f)
		case f.Do != Random && len(f.Of) > 0:
			c.add(key, "the fault %q has of, which are the kinds of a random one; drop it", f)
		case slices.ContainsFunc(f.Of, func(k FaultKind) bool { return k >= Random || k.row().to || k.row().network.amounts() }):
			c.add(key, "the fault %q cannot be one of %s; which need more than by, or are several themselves", f, kindsText(f.Of))
		case traffic != "":
			c.add(key, "the fault %q %s", f, traffic)
		case f.At < 0 || f.For < 0 || f.By < 0 || f.Every < 0:
			c.add(key, "the fault %q has a time below 0", f)
		case row.instant != "" && f.For > 0:
			c.add(key, "the fault %q %s", f, row.instant)
		case row.instant == "" && f.For == 0:
			c.add(key, "the fault %q needs for: how long it lasts, as in for: 3s", f)
		case row.by != "" && f.By == 0:
			c.add(key, "the fault %q needs by: %s", f, row.by)
		case row.by == "" && !row.ahead && f.By != 0:
			c.add(key, "the fault %q has by, which is how much longer each sync of a slow disk takes; drop it, or choose slow-disk", f)
		case row.to && f.Server == "":
			c.add(key, "the fault %q needs to: the server that members get, as in to: 3.9.5, to: default or to: /opt/etcd", f)
		case f.Do == Random && f.Every == 0:
			c.add(key, "the fault %q needs every: the time in which one is at a random time, as in every: 20s", f)
		case row.of == oneOfSeveral && f.Member.Mode == kv.All:
			c.add(key, "the fault %q takes one member at a time, so that the others have a quorum; choose leader, follower, any, or a member as m1, m2", f)
		case row.of == theCluster && f.Member.Mode != kv.All && f.Do == Random:
			c.add(key, "the fault %q is done to the whole cluster, whichever it is; choose all as its member", f)
		case row.of == theCluster && f.Member.Mode != kv.All:
			c.add(key, "the fault %q is done to the whole cluster; drop member", f)
		case row.of == aFollower && (f.Member.Mode == kv.All || f.Member.Mode == kv.LeaderOnly):
			c.add(key, "the fault %q is done to a member that does not lead; choose follower, any, or a member as m1, m2", f)
		case f.Every == 0 && f.Repeat > 1:
			c.add(key, "the fault %q is repeated and needs every: the time from one to the next, as in every: 20s", f)
		case f.Every > 0 && f.Every <= f.For:
			c.add(key, "the fault %q begins again before it is over; every must be longer than for", f)
		}
	}
}

// checkFaults refuses faults that the window has no room for, and those of
// which one begins while another lasts.
func (l *Load) checkFaults(c *checks) {
	if len(l.Faults) == 0 || c.wrong("faults", "duration", "total") {
		return
	}
	if l.Duration == 0 {
		c.add("faults", "<faults> are at times of the window, so <duration> must bound it and not <total>")
		return
	}
	all := l.happenings(true)
	if len(all) > maxFaults {
		c.add("faults", "<faults> are more than %d", maxFaults)
		return
	}
	for i := range all {
		h := &all[i]
		switch {
		case h.At+h.For >= l.Duration:
			c.add("faults", "the fault %q at %s would last until %s, and the window closes at %s; make <duration> longer, or the fault earlier",
				h.String(), FormatDuration(h.At), FormatDuration(h.At+h.For), FormatDuration(l.Duration))
			return
		case i > 0 && (h.At == all[i-1].At || h.At < all[i-1].At+all[i-1].For):
			c.add("faults", "the fault %q at %s begins before %q at %s is over; one fault at a time tells what it breaks",
				h.String(), FormatDuration(h.At), all[i-1].String(), FormatDuration(all[i-1].At))
			return
		case h.ahead() > h.At, i > 0 && h.ahead() > h.At-all[i-1].At-all[i-1].For:
			c.add("faults", "the fault %q at %s keeps what was written %s before it, when the window had not opened or another fault was not over; make it later, or by shorter",
				h.String(), FormatDuration(h.At), FormatDuration(h.By))
			return
		}
	}
}

// checkFaultMembers refuses faults of members that the trial's cluster does not
// have, or that are not ours to break.
func (b *builder) checkFaultMembers() {
	if len(b.load.Faults) == 0 {
		return
	}
	at, n := b.place("faults"), b.cluster.Members
	if b.cluster.Attach != nil {
		b.failf(at, "<faults> end and stop a member's processes, which are known of clusters that quorumbench starts and not of one that runs already; give members instead of endpoints")
		return
	}
	for _, f := range b.load.Faults {
		b.cluster.Disks = b.cluster.Disks || slices.ContainsFunc(f.kinds(), FaultKind.NeedsDisk)
		b.cluster.Spare = b.cluster.Spare || slices.ContainsFunc(f.kinds(), func(k FaultKind) bool { return k.row().spare })
		b.cluster.Network = b.cluster.Network || slices.ContainsFunc(f.kinds(), FaultKind.NeedsNetwork)
		switch {
		case n < f.leastMembers():
			b.failf(at, "the fault %q needs a cluster of at least %d members, and this one has %d", f, f.leastMembers(), n)
		case f.Member.Mode == kv.Followers && n == 1:
			b.failf(at, "the fault %q is of a follower, and a cluster of 1 member has none", f)
		case n < 3 && slices.ContainsFunc(f.kinds(), func(k FaultKind) bool { return k.row().of == oneOfSeveral }):
			b.failf(at, "the fault %q leaves no quorum in a cluster of %s; it needs 3", f, text.Plural(uint64(max(n, 0)), "member"))
		case f.Member.Mode == kv.One && f.Member.Member > n:
			b.failf(at, "the fault %q is of m%d, and the cluster has %s", f, f.Member.Member, text.Plural(uint64(max(n, 0)), "member"))
		}
	}
	for i := range b.hosts {
		h := &b.hosts[i]
		used := slices.Contains(b.cluster.On, h.Name) || len(b.cluster.On) == 0 && i < n
		used = used || slices.Contains(b.workersOn, h.Name) || len(b.workersOn) == 0 && b.load.Workers > 1
		if b.cluster.Network && used && h.Via != ViaLocal {
			b.failf(at, "<faults> of the network need members and workers on the machine that quorumbench runs on, and the host %s is reached via %s", h.Name, h.Via)
			return
		}
	}
}

// warnOfUpgrades says what an upgrade of the store needs, where one is asked for.
func (b *builder) warnOfUpgrades(name string) {
	for _, f := range b.load.Faults {
		if f.Do == RollingUpgrade && b.can.Upgrades != "" {
			b.warnOf(name, fmt.Sprintf("the fault %q: %s", f, b.can.Upgrades))
			return
		}
	}
}

// checkFaultAbilities refuses faults that the store has not in it.
func (b *builder) checkFaultAbilities() {
	for _, f := range b.load.Faults {
		for _, k := range f.kinds() {
			if needs := k.row().needs; needs != nil {
				if err := b.can.Feature(b.cluster.Store, *needs); err != nil {
					b.failf(b.place("faults"), "the fault %q is not for this store: %v", f, err)
				}
			}
		}
		if version, _ := ServerOf(f.Server); version != "" {
			if err := b.catalog.Version(b.cluster.Store, version); err != nil {
				b.failf(b.place("faults"), "the fault %q: %v", f, err)
			}
		}
	}
}

// securedSettings are settings of a store whose members can speak TLS.
type securedSettings interface {
	// Secured reports whether they do.
	Secured() bool
}

// checkCertificates refuses to replace certificates that are not there.
func (b *builder) checkCertificates() {
	for _, f := range b.load.Faults {
		if !slices.Contains(f.kinds(), NewCertificate) {
			continue
		}
		if s, ok := b.cluster.Settings.(securedSettings); ok && !s.Secured() {
			b.failf(b.place("faults"), "the fault %q needs members that speak TLS: give settings: {tls: true}", f)
		}
	}
}

// quotaSettings are settings of a store that has a quota of space.
type quotaSettings interface {
	// CheckQuota returns why the quota cannot be reached on purpose; nil if it can.
	CheckQuota() error
}

// checkQuota refuses to fill what cannot be filled.
func (b *builder) checkQuota() {
	for _, f := range b.load.Faults {
		if s, ok := b.cluster.Settings.(quotaSettings); ok && slices.Contains(f.kinds(), FillQuota) {
			if err := s.CheckQuota(); err != nil {
				b.failf(b.place("faults"), "the fault %q is not for these settings: %v", f, err)
			}
		}
	}
}

// faultEntry is a fault as records have it.
type faultEntry struct {
	At     string `json:"at"`
	Do     string `json:"do"`
	Member string `json:"member"`
	For    string `json:"for,omitempty"`
	By     string `json:"by,omitempty"`
	Of     string `json:"of,omitempty"`
	Every  string `json:"every,omitempty"`
	Repeat int    `json:"repeat,omitempty"`
	trafficEntry
}
