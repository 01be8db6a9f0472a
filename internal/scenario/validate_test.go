package scenario

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// flags returns a load as a command line would define it.
func flags(change func(*Load)) *Load {
	l := DefaultLoad()
	l.Mix = []Operation{{Kind: kv.Put, Weight: 1}}
	change(&l)
	l.Complete()
	return &l
}

func TestDefaultLoadIsValid(t *testing.T) {
	for k := range kv.NumKinds {
		l := flags(func(l *Load) { l.Mix[0].Kind = k })
		if k == kv.Watch {
			continue // loads do not have this operation
		}
		if err := l.wrong(); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		if l.KeySpace != DefaultKeySpace || l.Connections != 1 || l.Clients != 1 || l.Preload {
			t.Errorf("%s: the default is %+v", k, l)
		}
	}
	l := flags(func(l *Load) { l.Total, l.Duration = 77, 0 })
	if err := l.wrong(); err != nil || l.KeySpace != 77 {
		t.Errorf("a total of 77 gives a key space of %d, %v", l.KeySpace, err)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Load){
		"operation: no operation is given; add operation: put, for example, or a mix":                                       func(l *Load) { l.Mix = nil },
		"mix: the mix has an operation that does not exist; remove it":                                                      func(l *Load) { l.Mix[0].Kind = kv.NumKinds },
		"mix: the weight of put is NaN, but must be from 0.000000001 to 1000000000; only the ratios of weights matter":      func(l *Load) { l.Mix[0].Weight = math.NaN() },
		"mix: the weight of put is +Inf, but must be from 0.000000001 to 1000000000; only the ratios of weights matter":     func(l *Load) { l.Mix[0].Weight = math.Inf(1) },
		"mix: the weight of put is 1e+308, but must be from 0.000000001 to 1000000000; only the ratios of weights matter":   func(l *Load) { l.Mix[0].Weight = 1e308 },
		"mix: the mix has put twice; merge the two entries and add up their weights":                                        func(l *Load) { l.Mix = append(l.Mix, l.Mix[0]) },
		"consistency: consistency applies only to reads, and put is not a read; omit the consistency":                       func(l *Load) { l.Mix[0].Consistency = kv.Local },
		"clients: clients is 0, but must be at least 1":                                                                     func(l *Load) { l.Clients = 0 },
		"connections: connections is -1, but must be at least 1":                                                            func(l *Load) { l.Connections = -1 },
		"max-in-flight: max-in-flight is 0, but must be at least 1":                                                         func(l *Load) { l.MaxInFlight = 0 },
		"threads: threads is 2000, but must be at most 1024":                                                                func(l *Load) { l.Threads = 2000 },
		"rate: constant arrivals need a rate above 0":                                                                       func(l *Load) { l.Arrival = Constant },
		"rate: rate is -1, but must be above 0":                                                                             func(l *Load) { l.Arrival, l.Rate.PerSecond = Constant, -1 },
		"rate: rate is NaN, but must be above 0":                                                                            func(l *Load) { l.Arrival, l.Rate.PerSecond = Poisson, math.NaN() },
		"rate: rate is +Inf, but must be at most 10000000 operations per second, which is more than any generator can send": func(l *Load) { l.Arrival, l.Rate.PerSecond = Constant, math.Inf(1) },
		"rate: rate is 20000% of a, but must be above 0% and at most 10000%":                                                func(l *Load) { l.Arrival, l.Rate = Constant, Rate{Percent: 20000, SourceTrial: "a"} },
		"arrival: the arrival does not exist; choose closed, constant or poisson":                                           func(l *Load) { l.Arrival = 9 },
		"total: duration and total both determine when the window ends; give only one of them":                              func(l *Load) { l.Total = 5 },
		"total: total is 10000000000000000, but must be at most 1000000000000000":                                           func(l *Load) { l.Total, l.Duration = 1e16, 0 },
		"duration: neither duration nor total determines when the window ends; give one of them, above 0": func(l *Load) {
			l.Duration = 0
		},
		"duration: duration is -1s, but must be at least 0": func(l *Load) { l.Duration = -time.Second },
		"timeout: timeout is -1s, but must be above 0":      func(l *Load) { l.Timeout = -time.Second },
		"warmup: warmup is -1ns, but must be at least 0":    func(l *Load) { l.Warmup = -1 },
		"key-size: key-size is -8, but must be at least 0":  func(l *Load) { l.KeySize = -8 },
		"key-size: key-size is 2 MiB, but must be at most 1 MiB": func(l *Load) {
			l.KeySize = 2 << 20
		},
		"value-size: value-size is 65 MiB, but must be at most 64 MiB": func(l *Load) { l.ValueSize = 65 << 20 },
		"key-space: key-space is 2000000000000, but must be from 1 to 1000000000000 keys": func(l *Load) {
			l.KeySpace = 2e12
		},
		"key-size: key-size 2 allows only 4,096 keys, but key-space is 4097; use keys of at least 3 B, or a smaller key-space": func(l *Load) {
			l.KeySize, l.KeySpace = 2, 4097
		},
		"key-size: key-size 0 allows only 1 key, but key-space is 2; use keys of at least 1 B, or a smaller key-space": func(l *Load) {
			l.KeySize, l.Prefix, l.KeySpace = 0, "a", 2
		},
		"distribution: there is no distribution \"normal\"; choose sequential, uniform, zipfian or hotspot": func(l *Load) { l.Distribution.Name = "normal" },
		"distribution: zipfian's theta is 1.5, but must be between 0 and 1, such as 0.99": func(l *Load) {
			l.Distribution = Distribution{Name: Zipfian, Theta: 1.5}
		},
		"distribution: hotspot's hot-operations is 2, but must be above 0 and at most 1: the fraction of operations that use hot keys": func(l *Load) {
			l.Distribution = Distribution{Name: Hotspot, HotKeys: 0.5, HotOps: 2}
		},
		"range-key: range-key is empty, but a key must have at least one byte": func(l *Load) { l.RangeKey = []byte{} },
		"range-end: range-end needs range-key, the first key of the interval": func(l *Load) {
			l.RangeEnd = []byte("a")
		},
		"range-limit: range-limit is -1, but must be at least 0; 0 means no limit":    func(l *Load) { l.RangeLimit = -1 },
		"target: target member:0 does not name a member; members are numbered from 1": func(l *Load) { l.Target.Mode = kv.SingleMember },
		"rate: a closed loop has no rate, because its clients send when they are free; remove rate, or choose constant or poisson arrivals": func(l *Load) {
			l.Rate.PerSecond = 5
		},
	} {
		err := flags(change).wrong()
		var p *Problem
		if !errors.As(err, &p) {
			t.Errorf("the error is %v, want the problem %s", err, want)
			continue
		}
		if got := p.Key + ": " + p.Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.Contains(p.Text, "line") {
			t.Errorf("the text %q mentions a line", p.Text)
		}
	}
}

func TestKeyCapacity(t *testing.T) {
	for size, want := range map[int]uint64{0: 1, 1: 64, 2: 4096, 8: 1 << 48, 10: 1 << 60, 11: math.MaxUint64, 1 << 20: math.MaxUint64} {
		if got := keyCapacity(size); got != want {
			t.Errorf("%d bytes make %d keys, want %d", size, got, want)
		}
	}
	exact := flags(func(l *Load) { l.KeySize, l.KeySpace = 2, 4096 })
	if err := exact.wrong(); err != nil {
		t.Errorf("4096 keys fit 2 bytes exactly: %v", err)
	}
	given := flags(func(l *Load) { l.Mix[0].Kind, l.RangeKey, l.KeySize = kv.Range, []byte("a"), 0 })
	if err := given.wrong(); err != nil {
		t.Errorf("a given key needs no key space: %v", err)
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct{ connections, clients, inFlight, want int }{
		{1, 1, 0, 1}, {100, 1000, 0, 100}, {100, 10, 0, 10}, {1, 1000, 0, 1},
		{1, 1000, 1, 1000}, {1000, 10, 1, 10}, {10, 10, 1, 10}, {1, 1000, 300, 4}, {5, 1000, 300, 5},
		{0, 5, 0, 0}, {5, 0, 0, 5}, {0, 0, 1, 0},
	} {
		l := flags(func(l *Load) { l.Connections, l.Clients = c.connections, c.clients })
		w := l.fitConnections(c.inFlight)
		if l.Connections != c.want || (w != "") != (c.want != c.connections) {
			t.Errorf("%+v: %d connections, %q", c, l.Connections, w)
		}
		if again := l.fitConnections(c.inFlight); again != "" {
			t.Errorf("%+v: a second fitConnections changes the connections again: %s", c, again)
		}
	}
}

// wrong returns the first error in a load.
func (l *Load) wrong() error {
	if found := l.problems(keyNamer{}, Apps()); len(found) > 0 {
		return found[0]
	}
	return nil
}
