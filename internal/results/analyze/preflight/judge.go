package preflight

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Verdict is the result of all rules of a store.
type Verdict struct {
	Store string
	Decision
	Written  string // the writes that were measured for this store
	Findings []Finding
	Settings []kv.Setting
}

// Finding is the result of one rule.
type Finding struct {
	What   string // the measured quantity
	State  State
	Advice bool     // a guideline, which does not affect the verdict
	Where  []string // the hosts or pairs that do not meet the rule, or all if it is met
	Reason string   // one sentence with the measured figure and the limit
	Remedy string   // empty if the rule is met
	More   time.Duration
	Source kv.Document
	Disk   *DiskFinding // for a rule about a disk
}

// Judge applies a store's rules to the hosts and adds a verdict.
func (c *Check) Judge(store string, rules *kv.HostRules) {
	v := Verdict{Store: store, Written: rules.Written}
	for i := range c.Hosts {
		v.Findings = append(v.Findings, c.disk(&c.Hosts[i], rules))
	}
	if rules.NoNetworkFiles != nil {
		v.Findings = append(v.Findings, c.networkFiles(rules.NoNetworkFiles))
	}
	for i := range rules.Rules {
		if f, ok := c.apply(&rules.Rules[i]); ok {
			v.Findings = append(v.Findings, f)
		}
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Advice {
			continue
		}
		switch {
		case f.State > v.State:
			v.State, v.More = f.State, f.More
		case f.State == v.State && f.More > 0 && v.More > 0:
			v.More = max(v.More, f.More)
		case f.State == v.State: // more time would not decide all rules
			v.More = 0
		}
	}
	if rules.Settings != nil && len(c.Pairs) > 0 {
		v.Settings = rules.Settings(c.measured(rules))
	}
	c.Verdicts = append(c.Verdicts, v)
}

// Verdict returns the verdict for a store, or nil.
func (c *Check) Verdict(store string) *Verdict {
	if i := slices.IndexFunc(c.Verdicts, func(v Verdict) bool { return v.Store == store }); i >= 0 {
		return &c.Verdicts[i]
	}
	return nil
}

// The remedies for a slow disk, and for a folder whose files are in memory.
const (
	fasterDisk = "use a local SSD or NVMe disk, or stop other programs that write to this disk"
	durable    = "use a folder on a disk"
)

// disk applies the disk rule to one host. If the CPUs are fully used, writes may be slow because no
// CPU is free.
func (c *Check) disk(h *Host, rules *kv.HostRules) Finding {
	d := judgeDisk(h, rules, len(c.Hosts))
	f := Finding{What: "disk", State: d.State, More: d.More, Where: []string{h.Name}, Reason: d.Reason, Source: rules.Document, Disk: &d}
	if d.Slow.Value > 0 && d.State != Pass && h.Busy >= verdict.FullMachine {
		f.Reason += fmt.Sprintf("; the CPUs were %s busy, which may be the cause", text.Percent(h.Busy, 0))
	}
	switch {
	case d.State == Fail && !h.Limits.Durable:
		f.Remedy = durable
	case d.State == Fail:
		f.Remedy = fasterDisk
	case d.State == CannotTell && d.More == 0 && h.Busy >= verdict.FullMachine:
		f.Remedy = "repeat the check while other programs do not use the CPUs"
	case d.State == CannotTell && d.More > 0:
		f.Remedy = "measure longer: " + Lasting(d.More) + " would decide"
	case d.State == CannotTell:
		f.Remedy = "the disk is so close to the limit that a longer check would hardly help; treat the disk as too slow, or measure at another time of the day"
	}
	return f
}

// Lasting returns the words for an additional time, such as "4 more minutes".
func Lasting(d time.Duration) string {
	if d < 2*time.Minute {
		return text.Plural(uint64(d.Round(time.Second)/time.Second), "more second")
	}
	return text.Plural(uint64((d+time.Minute-1)/time.Minute), "more minute")
}

// networkFiles applies the rule that the folder must not be on a network file system.
func (c *Check) networkFiles(rule *kv.HostRule) Finding {
	f := Finding{What: rule.Quantity.String(), Source: rule.Source}
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Limits.Networked {
			f.Where = append(f.Where, h.Name)
			f.State, f.Remedy = Fail, rule.Remedy
			f.Reason = fmt.Sprintf("the folder is on %s: %s", h.Limits.FileSystem, rule.Effect)
		}
	}
	if f.State == Pass {
		f.Where, f.Reason = c.names(), "the folder is on a local file system"
	}
	return f
}

func (c *Check) names() (all []string) {
	for i := range c.Hosts {
		all = append(all, c.Hosts[i].Name)
	}
	return all
}

// reading is the value of a quantity at one place.
type reading struct {
	where string
	value float64
	known bool
	why   string // the reason why the value is unknown, or empty
}

// readings returns the values of a quantity on all hosts, or between all pairs of hosts.
func (c *Check) readings(q kv.HostQuantity) (all []reading) {
	if q.Pairwise() {
		for i := range c.Pairs {
			p := &c.Pairs[i]
			value, ok := c.pairValue(p, q)
			all = append(all, reading{p.Name(), value, ok, p.Failure})
		}
		return all
	}
	for i := range c.Hosts {
		value, ok := c.Hosts[i].value(q)
		if q == kv.HostCount {
			value, ok = float64(len(c.Hosts)), true
		}
		all = append(all, reading{c.Hosts[i].Name, value, ok, ""})
	}
	return all
}

// apply applies a rule; ok is false if the quantity does not exist, because there is only one host.
func (c *Check) apply(rule *kv.HostRule) (f Finding, ok bool) {
	all := c.readings(rule.Quantity)
	if len(all) == 0 {
		return f, false
	}
	f = Finding{What: rule.Quantity.String(), Advice: rule.Advice, Source: rule.Source}
	missed := func(r reading) bool {
		return r.known && (rule.AtMost > 0 && r.value > rule.AtMost || rule.AtLeast > 0 && r.value < rule.AtLeast)
	}
	worst := func(a, b reading) int {
		if rule.AtMost > 0 {
			a, b = b, a
		}
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	}
	bad := slices.DeleteFunc(slices.Clone(all), func(r reading) bool { return !missed(r) })
	unknown := slices.DeleteFunc(slices.Clone(all), func(r reading) bool { return r.known })
	switch {
	case len(bad) > 0:
		slices.SortStableFunc(bad, worst)
		f.State, f.Where, f.Remedy = Fail, places(bad), rule.Remedy
		f.Reason = fmt.Sprintf("%s; %s: %s", measuredWords(rule.Quantity, bad[0].value), limit(rule), rule.Effect)
	case len(unknown) > 0:
		f.State, f.Where = CannotTell, places(unknown)
		f.Reason, f.Remedy = "it could not be measured", "make the measurement possible, and repeat the check"
		if unknown[0].why != "" {
			f.Reason = unknown[0].why
		}
	default:
		slices.SortStableFunc(all, worst)
		f.Where = places(all)
		f.Reason = fmt.Sprintf("%s; %s", measuredWords(rule.Quantity, all[0].value), limit(rule))
	}
	return f, true
}

func places(all []reading) (names []string) {
	for _, r := range all {
		names = append(names, r.where)
	}
	return names
}

// limit returns the words for a rule's limit.
func limit(rule *kv.HostRule) string {
	words := "limit: "
	if rule.Advice {
		words = "guideline: "
	}
	switch {
	case rule.Quantity == kv.Swap:
		return words + "none"
	case rule.AtMost > 0:
		return words + "at most " + quantity(rule.Quantity, rule.AtMost)
	}
	return words + "at least " + quantity(rule.Quantity, rule.AtLeast)
}

// measuredWords returns the words for a measured value.
func measuredWords(q kv.HostQuantity, value float64) string {
	if q == kv.P99RoundTrip {
		return "at least " + quantity(q, value) + " with a certainty of " + text.Percent(1-FalseAlarms, 0)
	}
	return quantity(q, value)
}

// quantity formats a value with its unit.
func quantity(q kv.HostQuantity, value float64) string {
	switch q {
	case kv.Memory, kv.Swap:
		return text.Bytes(uint64(max(value, 0)))
	case kv.MeanRoundTrip, kv.P99RoundTrip, kv.ClockDifference:
		return text.Duration(1e9 * value)
	case kv.WithheldCPU:
		return text.Percent(value, 1)
	}
	return text.FormatNumber(value)
}

// Place returns the places of a finding as one text.
func (f *Finding) Place() string { return strings.Join(f.Where, ", ") }
