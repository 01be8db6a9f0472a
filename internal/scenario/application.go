package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/registry"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Application is a load that is what an application sends, instead of a mix of
// operations on a key space: which calls, when, of which keys. It says all of the load
// but for where it goes, over how many connections and for how long. The zero value is
// none.
type Application struct {
	Name     string
	Settings app.Settings // nil where none were given; never changed, but replaced
}

// of is the application; nil if there is none of the name.
func (a *Application) of() app.Application { return registry.Find(a.Name) }

// set gives it a setting.
func (a *Application) set(key string, v float64) {
	s := maps.Clone(a.Settings)
	if s == nil {
		s = app.Settings{}
	}
	s[key] = v
	a.Settings = s
}

var applicationReading = Reading{"application", applicationText, applicationText}

func applicationText(l *Load) string {
	if app := l.Application.of(); app != nil {
		return l.Application.Name + ": " + app.Phrase(l.Application.Settings)
	}
	return l.Application.Name
}

// applicationParameters are those of applications.
func applicationParameters() []*Parameter {
	names := registry.Names()
	all := []*Parameter{{Key: "application", Differs: "the application", Reads: &applicationReading,
		value:  textValue(func(l *Load) *string { return &l.Application.Name }, "NAME", "`"+strings.Join(names, "`, `")+"`"),
		column: &column{title: "application", cell: func(t *Trial) string { return t.Load.Application.Name }, optional: true, none: "none"}}}
	for _, s := range settings() {
		all = append(all, &Parameter{Key: s.Key, Meaning: "of " + strings.Join(s.of, ", ") + ": " + s.Meaning, Differs: s.Differs, Reads: &applicationReading, value: s})
	}
	return all
}

// saidByApplication are the keys of what an application says itself.
var saidByApplication = []string{
	"operation", "mix", "consistency", "clients", "key-space", "key-size", "value-size", "distribution", "range-key", "range-end", "range-limit",
	"count-only", "keys-only", "stream", "page-size", "txn-keys", "stm", "new-connection", "watch", "compact", "arrival", "rate", "total", "warmup",
	"preload", "threads",
}

// settleApplication fills in what an application's load is.
func (b *builder) settleApplication() {
	a := &b.load.Application
	if a.Name == "" {
		return
	}
	for _, key := range saidByApplication {
		if s, ok := b.asked[key]; ok {
			b.failf(s.at, "the application says itself what is sent, when and to which keys, so <"+key+"> means nothing; drop it")
		}
	}
	which := a.of()
	if which == nil {
		b.load.describe(app.Profile{}) // it is refused
		return
	}
	d := which.Definition()
	for _, p := range d.Parameters {
		if _, given := a.Settings[p.Key]; !given {
			a.set(p.Key, p.Default)
		}
	}
	if d.Prefix != "" && !b.layer.has("prefix") {
		b.load.Prefix = d.Prefix
	}
	way := 0
	if slices.Contains(b.catalog.Stores(), b.cluster.Store) {
		way, _ = d.WayOf(b.cluster.Store, b.catalog.Capabilities(b.cluster.Store)) // checkAbilities says why not
	}
	if d.Outside(a.Settings) != nil {
		b.load.describe(app.Profile{}) // likewise
	} else if _, why := which.Check(a.Settings); why != "" {
		b.load.describe(app.Profile{})
	} else {
		p := which.Profile(a.Settings, way)
		if said, ok := b.asked["connections"]; ok && p.Connections > 0 {
			b.failf(said.at, "each call of the application belongs to a connection of its own, so <connections> means nothing; drop it")
		}
		b.load.describe(p)
	}
	b.places = nil
	for range b.load.Mix {
		b.places = append(b.places, b.place("application"))
	}
}

// describe says what an application sends in the words of a load, for who reads it:
// what it is made of, at what rate in the mean.
func (l *Load) describe(p app.Profile) {
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
	l.KeySpace, l.KeySize, l.ValueSize = max(p.There, 1), p.KeySize, p.ValueSize
	if l.Watch = nil; p.Watchers > 0 {
		l.Watch = &Watch{Watchers: p.Watchers, Streams: p.Streams, PrevKV: p.PreviousValues}
	}
}

// checkApplicationAbilities refuses a store that the application has no way of using.
func (b *builder) checkApplicationAbilities() {
	a := b.load.Application.of()
	if a == nil {
		return
	}
	d := a.Definition()
	way, err := d.WayOf(b.cluster.Store, b.can)
	if err != nil {
		b.failf(b.place("application"), "<application> is not for this store: %v", err)
		return
	}
	s := b.load.Application.Settings
	if w, ok := a.(app.Windowed); ok && d.Outside(s) == nil {
		if _, why := a.Check(s); why != "" {
			return // it is refused
		}
		if key, why := w.CheckWindow(s, way, b.load.Duration); why != "" {
			b.failf(b.place(key), "%s", b.words.fill(why))
		}
	}
}

func (l *Load) checkApplication(c *checks) {
	a := &l.Application
	for _, s := range settings() {
		if _, given := a.Settings[s.Key]; given && !slices.Contains(s.of, a.Name) {
			if a.Name == "" {
				c.add(s.Key, "<"+s.Key+"> is for an <application>, and this load is none; drop it, or say application: "+strings.Join(s.of, " or "))
			} else if a.of() != nil {
				c.add(s.Key, "<"+s.Key+"> is no parameter of the application %s; drop it", a.Name)
			}
		}
	}
	app := a.of()
	switch {
	case a.Name == "":
		return
	case app == nil:
		c.add("application", "there is no application %q; choose %s", a.Name, strings.Join(registry.Names(), ", "))
		return
	case l.Arrival != Recorded || l.Total > 0 || l.Warmup > 0 || l.Workers > 1:
		c.add("application", "an application says itself when its calls become due: it has a duration, no total, no warm-up and one worker")
	}
	d := app.Definition()
	if p := d.Outside(a.Settings); p != nil {
		s := setting{Parameter: *p}
		c.outOf(p.Key, s.show(a.Settings[p.Key]), "from "+s.bounds())
		return
	}
	if key, why := app.Check(a.Settings); why != "" {
		c.add(key, "%s", c.words.fill(why))
		return
	}
	if calls := l.Rate.PerSecond * l.Duration.Seconds(); calls > MostCalls {
		c.add("duration", "<duration> %v has %s calls, which is more than the %s that are planned at once; ask for less time", l.Duration,
			text.Count(uint64(calls)), text.Count(MostCalls))
	}
}

// MostCalls is how many calls of an application are planned at most: some 16 bytes each.
const MostCalls = 100_000_000
