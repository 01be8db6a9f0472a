package scenario

import (
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/application/kubernetes"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// Application is a load that is what an application sends, instead of a mix of
// operations on a key space: which calls, when, of which keys. It says all of the load
// but for where it goes, over how many connections and for how long. The zero value is
// none.
type Application struct {
	Name        string
	Nodes       int
	PodsPerNode int
	Churn       float64 // pods that are created, and as many removed, a second
}

// Kubernetes is the application's configuration, if it is that.
func (a *Application) Kubernetes(seed uint64) kubernetes.Config {
	return kubernetes.Config{Nodes: a.Nodes, PodsPerNode: a.PodsPerNode, Churn: a.Churn, Seed: seed}
}

// applications are their names.
var applications = []string{kubernetes.Name}

var applicationReading = Reading{"application", applicationText, applicationText}

func applicationText(l *Load) string {
	a := &l.Application
	if a.Name == "" {
		return ""
	}
	return a.Name + ": " + readable.Plural(uint64(max(a.Nodes, 0)), "node") + " with " + readable.Plural(uint64(max(a.PodsPerNode, 0)), "pod") +
		" each, " + strconv.FormatFloat(a.Churn, 'g', -1, 64) + " a second created and as many removed"
}

// applicationParameters are those of applications.
func applicationParameters() []*Parameter {
	name := text(func(l *Load) *string { return &l.Application.Name }, "NAME", "`kubernetes`")
	nodes := optional(whole(func(l *Load) *int { return &l.Application.Nodes }, 1, kubernetes.MaxNodes))
	pods := optional(whole(func(l *Load) *int { return &l.Application.PodsPerNode }, 1, kubernetes.MaxPodsPerNode))
	nodes.verify, pods.verify = nil, nil // the application is checked as a whole
	churn := optional(typed[float64]{
		field: func(l *Load) *float64 { return &l.Application.Churn }, word: "N", within: between(0, kubernetes.MaxChurn), toJSON: asIs[float64],
		fromText: ParseNumber, show: func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) },
	})
	return []*Parameter{
		{Key: "application", Differs: "the application", Reads: &applicationReading, Features: []kv.Feature{kv.ApplicationCalls}, value: name,
			column: &column{title: "application", cell: func(t *Trial) string { return t.Load.Application.Name }, optional: true, none: "none"}},
		{Key: "nodes", Differs: "the nodes", Reads: &applicationReading, value: nodes},
		{Key: "pods-per-node", Differs: "the pods of a node", Reads: &applicationReading, value: pods},
		{Key: "churn", Differs: "the pods that are created and removed", Reads: &applicationReading, value: churn},
	}
}

// saidByApplication are the keys of what an application says itself.
var saidByApplication = []string{
	"operation", "mix", "consistency", "clients", "key-space", "key-size", "value-size", "distribution", "range-key", "range-end", "range-limit",
	"count-only", "keys-only", "stream", "page-size", "txn-keys", "stm", "new-connection", "watch", "compact", "arrival", "rate", "total", "warmup",
	"preload", "check", "threads",
}

// settleApplication fills in what an application's load is.
func (b *builder) settleApplication() {
	l := &b.load
	a := &l.Application
	if a.Name == "" {
		return
	}
	fill := func(key string, given bool, set func()) {
		if !b.layer.has(key) && !given {
			set()
		}
	}
	fill("nodes", a.Nodes != 0, func() { a.Nodes = kubernetes.DefaultNodes })
	fill("pods-per-node", a.PodsPerNode != 0, func() { a.PodsPerNode = kubernetes.DefaultPodsPerNode })
	fill("churn", a.Churn != 0, func() { a.Churn = kubernetes.DefaultChurn })
	if !b.layer.has("prefix") {
		l.Prefix = "/registry/"
	}
	for _, key := range saidByApplication {
		if s, ok := b.asked[key]; ok {
			b.failf(s.at, "the application says itself what is sent, when and to which keys, so <"+key+"> means nothing; drop it")
		}
	}
	a.describe(l)
	b.places = nil
	for range l.Mix {
		b.places = append(b.places, b.place("application"))
	}
}

// describe says what the application sends in the words of a load, for who reads it:
// what it is made of, at what rate in the mean.
func (a *Application) describe(l *Load) {
	c := a.Kubernetes(l.Seed)
	l.Arrival, l.Total, l.Warmup, l.Preload, l.Threads = Recorded, 0, 0, true, 1
	if _, wrong := c.Check(); wrong != "" || a.Name != kubernetes.Name {
		l.Mix, l.Rate = []Operation{{Kind: kv.CAS, Weight: 1}}, Rate{PerSecond: 1}
		return // it is refused
	}
	l.Mix = nil
	for call, rate := range c.Rates() {
		kind, level := kubernetes.Call(call).Kind()
		if at := slices.IndexFunc(l.Mix, func(o Operation) bool { return o.Kind == kind && o.Consistency == level }); at >= 0 {
			l.Mix[at].Weight += rate
		} else {
			l.Mix = append(l.Mix, Operation{Kind: kind, Consistency: level, Weight: rate})
		}
	}
	l.Rate = Rate{PerSecond: c.PerSecond()}
	l.Clients, l.Distribution = l.Connections, Distribution{Name: Uniform}
	l.KeySpace, l.KeySize, l.ValueSize = c.There(), kubernetes.KeySize, c.MeanValue()
	paths, _ := kubernetes.Watched()
	l.Watch = &Watch{Watchers: len(paths), Streams: len(paths), PrevKV: true}
}

func (l *Load) checkApplication(c *checks) {
	a := &l.Application
	switch {
	case a.Name == "":
		for key, given := range map[string]bool{"nodes": a.Nodes != 0, "pods-per-node": a.PodsPerNode != 0, "churn": a.Churn != 0} {
			if given {
				c.add(key, "<"+key+"> is for an <application>, and this load is none; drop it, or say application: "+kubernetes.Name)
			}
		}
		return
	case !slices.Contains(applications, a.Name):
		c.add("application", "there is no application %q; choose %s", a.Name, kubernetes.Name)
		return
	case l.Arrival != Recorded || l.Total > 0 || l.Warmup > 0 || l.Check || l.Workers > 1:
		c.add("application", "an application says itself when its calls become due: it has a duration, no total, no warm-up, no check and one worker")
	}
	config := a.Kubernetes(l.Seed)
	if key, why := config.Check(); why != "" {
		c.add(key, "%s", c.words.fill(why))
		return
	}
	if calls := config.PerSecond() * l.Duration.Seconds(); calls > mostCalls {
		c.add("duration", "<duration> %v has %s calls, which is more than the %s that are planned at once; ask for less time", l.Duration,
			readable.Count(uint64(calls)), readable.Count(mostCalls))
	}
}

// mostCalls is how many calls of an application are planned at most: 16 bytes each.
const mostCalls = 100_000_000
