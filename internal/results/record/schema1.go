package record

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// oldTrialSchema had the load's parameters beside the figures, by other names.
const oldTrialSchema = "quorumbench/trial/1"

// readLoad reads the load of a trial's JSON object.
func (t *Trial) readLoad(b []byte) error {
	if t.Schema == oldTrialSchema {
		var old flatLoad
		if err := json.Unmarshal(b, &old); err != nil {
			return err
		}
		var err error
		t.Load, err = old.load()
		t.Schema = TrialSchema // as it is from here on, and as it would be written
		return err
	}
	var now struct {
		Seed uint64          `json:"seed"`
		Load json.RawMessage `json:"load"`
	}
	if err := json.Unmarshal(b, &now); err != nil {
		return err
	}
	if len(now.Load) > 0 {
		if err := t.Decode(now.Load); err != nil {
			return err
		}
	}
	t.Seed = now.Seed
	return nil
}

// load is the load that trials of the schema 1 have.
func (o *flatLoad) load() (scenario.Load, error) {
	l := scenario.Load{
		Connections: o.Connections, NewConnection: o.NewConnection, Clients: o.Clients, Total: o.Total,
		Duration: span(o.DurationSeconds), Warmup: span(o.WarmupSeconds), Timeout: span(o.TimeoutSeconds), MaxInFlight: o.MaxInFlight,
		KeySize: o.KeySize, ValueSize: o.ValueSize, KeySpace: o.KeySpace, Prefix: text(o.KeyPrefix),
		Distribution: scenario.Distribution{Name: o.Distribution, Theta: o.Theta, HotKeys: o.HotKeys, HotOps: o.HotOps},
		RangeKey:     key(o.RangeKey), RangeEnd: key(o.RangeEnd), RangeLimit: o.RangeLimit,
		Scan:    scenario.Scan{CountOnly: o.CountOnly, KeysOnly: o.KeysOnly, Streamed: o.Streamed, PageSize: o.PageSize},
		TxnKeys: o.TxnKeys, Preload: o.Preloaded, Seed: o.Seed, VolatileMeant: o.VolatileMeant,
		Compact: scenario.Compaction{Every: span(o.CompactSeconds), Behind: o.CompactBehind},
	}
	var wrong error // the first
	note := func(err error) { wrong = cmp.Or(wrong, err) }
	for _, part := range o.Mix {
		op := scenario.Operation{Weight: part.Weight}
		var err error
		op.Kind, err = kv.ParseKind(part.Operation)
		note(err)
		if part.Consistency != "" {
			op.Consistency, err = kv.ParseConsistency(part.Consistency)
			note(err)
		}
		l.Mix = append(l.Mix, op)
	}
	var err error
	if o.Target != "" {
		l.Target, err = kv.ParseTarget(o.Target)
		note(err)
	}
	if o.Arrival != "" {
		l.Arrival, err = scenario.ParseArrival(o.Arrival)
		note(err)
	}
	// What share of the other trial's throughput it was, is not known.
	l.Rate.Of = text(o.RateOf)
	if o.Rate != nil && o.RateOf == "" {
		l.Rate.PerSecond = *o.Rate
	}
	if s := o.STM; s != nil {
		l.STM = &scenario.STM{KeysPerTxn: s.Keys, WritePercent: s.WritePercent}
		l.STM.Isolation, err = kv.ParseIsolation(s.Isolation)
		note(err)
		l.STM.Locker, err = kv.ParseLocker(s.Locker)
		note(err)
	}
	if w := o.Watching; w != nil {
		l.Watch = &scenario.Watch{
			Watchers: w.Watchers, Streams: w.Streams, Connections: w.Connections, WatchedKeys: w.Keys, Span: w.Span,
			PrevKV: w.PrevKV, Key: key(w.Key), Expect: w.Earlier, AtWindow: w.AtWindow,
		}
	}
	return l, wrong
}

// text is a key as it can be shown, and key the same for one that may be missing.
func text(s string) string { return scenario.KeyText([]byte(s)) }

func key(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(text(s))
}

// span is a length of time in seconds.
func span(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }
