package scenario

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// deriveApplicationFields sets the fields of a load that imitates an application.
func (b *builder) deriveApplicationFields() {
	a := &b.load.Application
	if a.Name == "" {
		return
	}
	for _, key := range applicationKeys {
		if s, ok := b.givenLayer[key]; ok {
			b.failf(s.Pos, "the application determines what is sent, when, and to which keys, so <"+key+"> has no effect; remove it")
		}
	}
	app := application.Find(b.apps, a.Name)
	if app == nil {
		b.load.applyProfile(application.Profile{}) // the unknown name is rejected later
		return
	}
	d := app.Definition()
	a.Compacts = d.Compacts
	b.completeSettings(&d)
	if d.Prefix != "" && !b.layer.hasKey("prefix") {
		b.load.Prefix = d.Prefix
	}
	way := 0
	if slices.Contains(b.catalog.Stores(), b.cluster.Store) {
		way, _ = d.FindWay(b.cluster.Store, b.catalog.Capabilities(b.cluster.Store)) // checkApplicationCapabilities reports an error
	}
	if values := a.Values(); d.OutOfBounds(values) != nil {
		b.load.applyProfile(application.Profile{}) // rejected later
	} else if _, why := app.Check(values); why != "" {
		b.load.applyProfile(application.Profile{})
	} else {
		a.Text = app.Phrase(values)
		p := app.Profile(values, way)
		if said, ok := b.givenLayer["connections"]; ok && p.Connections > 0 {
			b.failf(said.Pos, "the application determines which connection each call uses, so <connections> has no effect; remove it")
		}
		b.load.applyProfile(p)
	}
	b.mixPositions = nil
	for range b.load.Mix {
		b.mixPositions = append(b.mixPositions, b.keyPosition("application"))
	}
}

// completeSettings adds the application's default settings and sorts the settings.
func (b *builder) completeSettings(d *application.Definition) {
	a := &b.load.Application
	for _, p := range d.Parameters {
		if a.index(p.Key) < 0 {
			a.set(p, p.Default)
		}
	}
	ranks := map[string]int{}
	for i, s := range settings(b.apps) {
		ranks[s.Key] = i
	}
	slices.SortFunc(a.Settings, func(x, y Setting) int { return cmp.Compare(ranks[x.Key], ranks[y.Key]) })
}

// applyProfile sets the fields of the load, such as its operations and their average rate, to the
// values in the application's profile, so that reports and messages can describe the load.
func (l *Load) applyProfile(p application.Profile) {
	l.Arrival, l.Total, l.Warmup, l.Preload, l.Threads = Recorded, 0, 0, true, 1
	if len(p.Calls) == 0 {
		l.Mix, l.Rate = []Operation{{Kind: kv.CAS, Weight: 1}}, Rate{PerSecond: 1}
		return
	}
	l.Mix = nil
	for _, c := range p.Calls {
		at := slices.IndexFunc(l.Mix, func(o Operation) bool { return o.Kind == c.Kind && o.Consistency == c.Level })
		switch {
		case at >= 0:
			l.Mix[at].Weight += c.PerSecond
		case c.PerSecond > 0:
			l.Mix = append(l.Mix, Operation{Kind: c.Kind, Consistency: c.Level, Weight: c.PerSecond})
		}
	}
	l.Rate = Rate{PerSecond: p.PerSecond()}
	if p.Connections > 0 {
		l.Connections = p.Connections
	}
	l.Clients, l.Distribution = l.Connections, Distribution{Name: Uniform}
	l.KeySpace, l.KeySize, l.ValueSize = max(p.Existing, 1), p.KeySize, p.ValueSize
	if l.Watch = nil; p.Watchers > 0 {
		l.Watch = &Watch{Watchers: p.Watchers, Streams: p.Streams, PrevKV: p.PreviousValues}
	}
}

// checkApplicationCapabilities rejects a store that the application cannot use, and a window that
// is too short for the application's settings.
func (b *builder) checkApplicationCapabilities() {
	a := application.Find(b.apps, b.load.Application.Name)
	if a == nil {
		return
	}
	d := a.Definition()
	way, err := d.FindWay(b.cluster.Store, b.capabilities)
	if err != nil {
		b.failf(b.keyPosition("application"), "<application> is not supported by this store: %v", err)
		return
	}
	s := b.load.Application.Values()
	if w, ok := a.(application.WindowChecker); ok && d.OutOfBounds(s) == nil {
		if _, why := a.Check(s); why != "" {
			return // rejected elsewhere
		}
		if key, why := w.CheckWindow(s, way, b.load.Duration); why != "" {
			b.failf(b.keyPosition(key), "%s", b.namer.fill(why))
		}
	}
}

func (l *Load) checkApplication(c *checks) {
	a := &l.Application
	app := application.Find(c.apps, a.Name)
	for _, s := range settings(c.apps) {
		if a.index(s.Key) >= 0 && !slices.Contains(s.applications, a.Name) {
			if a.Name == "" {
				c.add(s.Key, "<"+s.Key+"> applies only to an <application>, and this load has none; remove it, or add application: "+strings.Join(s.applications, " or "))
			} else if app != nil {
				c.add(s.Key, "<"+s.Key+"> is not a parameter of the application %s; remove it", a.Name)
			}
		}
	}
	switch {
	case a.Name == "":
		return
	case app == nil:
		c.add("application", "there is no application %q; choose %s", a.Name, strings.Join(application.Names(c.apps), ", "))
		return
	case l.Arrival != Recorded || l.Total > 0 || l.Warmup > 0 || l.Workers > 1:
		c.add("application", "an application determines when its calls become due, so the load must have a duration, and cannot have a total, a warm-up or several workers")
	}
	d := app.Definition()
	values := a.Values()
	if p := d.OutOfBounds(values); p != nil {
		s := setting{Parameter: *p}
		c.addOutOfBounds(p.Key, a.setting(p.Key), "from "+s.bounds())
		return
	}
	if key, why := app.Check(values); why != "" {
		c.add(key, "%s", c.namer.fill(why))
		return
	}
	if calls := l.Rate.PerSecond * l.Duration.Seconds(); calls > MaxCalls {
		c.add("duration", "in a <duration> of %v, the application sends %s calls, but at most %s can be planned; make the duration shorter", l.Duration,
			text.Count(uint64(calls)), text.Count(MaxCalls))
	}
}

// MaxCalls is the maximum number of calls that can be planned for an application. Each call needs
// about 16 bytes of memory.
const MaxCalls = 100_000_000
