package record

import (
	"encoding/json"
	"errors"
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
		var old oldLoad
		if err := json.Unmarshal(b, &old); err != nil {
			return err
		}
		var err error
		t.Load, err = old.load()
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

// oldLoad is how trials of the schema 1 have their load.
type oldLoad struct {
	Mix []struct {
		Operation   string  `json:"operation"`
		Consistency string  `json:"consistency"`
		Weight      float64 `json:"weight"`
	} `json:"mix"`
	Target          string   `json:"target"`
	Connections     int      `json:"connections"`
	NewConnection   bool     `json:"new_connection"`
	Clients         int      `json:"clients"`
	Arrival         string   `json:"arrival"`
	Rate            *float64 `json:"rate"`
	RateOf          string   `json:"rate_of"`
	Total           uint64   `json:"total"`
	DurationSeconds float64  `json:"duration_seconds"`
	WarmupSeconds   float64  `json:"warmup_seconds"`
	TimeoutSeconds  float64  `json:"timeout_seconds"`
	MaxInFlight     int      `json:"max_in_flight_limit"`
	Loops           int      `json:"loops"`
	KeySize         int      `json:"key_size"`
	ValueSize       int      `json:"value_size"`
	KeySpace        uint64   `json:"key_space"`
	KeyPrefix       string   `json:"key_prefix"`
	Distribution    string   `json:"distribution"`
	Theta           float64  `json:"distribution_theta"`
	HotKeys         float64  `json:"distribution_hot_keys"`
	HotOps          float64  `json:"distribution_hot_share"`
	RangeKey        string   `json:"range_key"`
	RangeEnd        string   `json:"range_end"`
	RangeLimit      int64    `json:"range_limit"`
	CountOnly       bool     `json:"count_only"`
	KeysOnly        bool     `json:"keys_only"`
	Streamed        bool     `json:"streamed"`
	PageSize        int64    `json:"page_size"`
	TxnKeys         int      `json:"txn_keys"`
	STM             *struct {
		Isolation    string `json:"isolation"`
		Keys         int    `json:"keys"`
		WritePercent int    `json:"write_percent"`
		Locker       string `json:"locker"`
	} `json:"stm"`
	Watching *struct {
		Watchers    int    `json:"watchers"`
		Streams     int    `json:"streams"`
		Connections int    `json:"connections"`
		Keys        uint64 `json:"watched_keys"`
		Span        uint64 `json:"keys_per_watcher"`
		PrevKV      bool   `json:"previous_values"`
		Key         string `json:"key"`
		Earlier     uint32 `json:"earlier_events"`
		AtWindow    bool   `json:"created_in_window"`
	} `json:"watching"`
	CompactSeconds float64 `json:"compact_interval_seconds"`
	CompactBehind  int64   `json:"compact_behind"`
	Preloaded      bool    `json:"preloaded"`
	Seed           uint64  `json:"seed"`
	VolatileMeant  bool    `json:"volatile_meant"`
}

func (o *oldLoad) load() (scenario.Load, error) {
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
	var wrong []error
	note := func(err error) { wrong = append(wrong, err) }
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
	return l, errors.Join(wrong...)
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
