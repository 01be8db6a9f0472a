package record

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// flatLoad has each parameter of a load by itself, as trials of the schema 1
// have it in JSON, and CSV files in their columns.
type flatLoad struct {
	Mix             []flatOperation `json:"mix"`
	Target          string          `json:"target"`
	Connections     int             `json:"connections"`
	NewConnection   bool            `json:"new_connection"`
	Clients         int             `json:"clients"`
	Arrival         string          `json:"arrival"`
	Rate            *float64        `json:"rate" csv:"-"` // the conditions have it
	RateOf          string          `json:"rate_of"`
	Total           uint64          `json:"total"`
	DurationSeconds float64         `json:"duration_seconds"`
	WarmupSeconds   float64         `json:"warmup_seconds"`
	TimeoutSeconds  float64         `json:"timeout_seconds"`
	MaxInFlight     int             `json:"max_in_flight_limit"`
	KeySize         int             `json:"key_size"`
	ValueSize       int             `json:"value_size"`
	KeySpace        uint64          `json:"key_space"`
	KeyPrefix       string          `json:"key_prefix"`
	Distribution    string          `json:"distribution"`
	Theta           float64         `json:"distribution_theta"`
	HotKeys         float64         `json:"distribution_hot_keys"`
	HotOps          float64         `json:"distribution_hot_share"`
	RangeKey        string          `json:"range_key"`
	RangeEnd        string          `json:"range_end"`
	RangeLimit      int64           `json:"range_limit"`
	CountOnly       bool            `json:"count_only"`
	KeysOnly        bool            `json:"keys_only"`
	Streamed        bool            `json:"streamed"`
	PageSize        int64           `json:"page_size"`
	TxnKeys         int             `json:"txn_keys"`
	STM             *flatSTM        `json:"stm"`
	Watching        *flatWatch      `json:"watching"`
	CompactSeconds  float64         `json:"compact_interval_seconds"`
	CompactBehind   int64           `json:"compact_behind"`
	Preloaded       bool            `json:"preloaded"`
	Seed            uint64          `json:"seed"`
	VolatileMeant   bool            `json:"volatile_meant"`
}

type flatOperation struct {
	Operation   string  `json:"operation"`
	Consistency string  `json:"consistency"`
	Weight      float64 `json:"weight"`
}

// String is the part of a mix as tables have it: get linearizable 3.
func (o flatOperation) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %g", o.Operation, o.Consistency, o.Weight)), " ")
}

type flatSTM struct {
	Isolation    string `json:"isolation"`
	Keys         int    `json:"keys"`
	WritePercent int    `json:"write_percent"`
	Locker       string `json:"locker"`
}

type flatWatch struct {
	Watchers    int    `json:"watchers" csv:"watchers"`
	Streams     int    `json:"streams"`
	Connections int    `json:"connections"`
	Keys        uint64 `json:"watched_keys"`
	Span        uint64 `json:"keys_per_watcher"`
	PrevKV      bool   `json:"previous_values"`
	Key         string `json:"key"`
	Earlier     uint32 `json:"earlier_events"`
	AtWindow    bool   `json:"created_in_window"`
}

// flatColumns are the columns of flatLoad, or of the conditions, that have a
// parameter, by its key. A parameter that came later has a column called like
// its key: see LaterCells.
var flatColumns = map[string]string{
	"mix": "mix", "target": "target", "connections": "connections", "new-connection": "new_connection", "clients": "clients", "threads": "loops",
	"arrival": "arrival", "rate": "rate", "total": "total", "duration": "duration_seconds", "warmup": "warmup_seconds", "timeout": "timeout_seconds",
	"max-in-flight": "max_in_flight_limit", "key-size": "key_size", "value-size": "value_size", "key-space": "key_space", "prefix": "key_prefix",
	"distribution": "distribution", "preload": "preloaded", "range-key": "range_key", "range-end": "range_end", "range-limit": "range_limit",
	"count-only": "count_only", "keys-only": "keys_only", "stream": "streamed", "page-size": "page_size", "txn-keys": "txn_keys",
	"stm.keys": "stm_keys", "stm.write-percent": "stm_write_percent", "stm.isolation": "stm_isolation", "stm.locker": "stm_locker",
	"watch.watchers": "watchers", "watch.streams": "watching_streams", "watch.connections": "watching_connections", "watch.watched-keys": "watching_watched_keys",
	"watch.keys-per-watcher": "watching_keys_per_watcher", "watch.prev-kv": "watching_previous_values", "watch.key": "watching_key",
	"watch.earlier-events": "watching_earlier_events", "watch.created-in-window": "watching_created_in_window",
	"compact.every": "compact_interval_seconds", "compact.behind": "compact_behind", "allow-volatile": "volatile_meant",
}

// LaterCells are the load's parameters that the schema 1 did not have, as
// scenario files write them. Their columns stand behind all others.
func (c *Conditions) LaterCells() (cells []ConditionCell) {
	for _, p := range scenario.Parameters() {
		if _, earlier := flatColumns[p.Key]; p.OfLoad() && !earlier {
			cells = append(cells, ConditionCell{Name: strings.NewReplacer("-", "_", ".", "_").Replace(p.Key), Text: p.Text(&c.Load), Word: true})
		}
	}
	return cells
}

// flatten is a load as CSV files have it.
func flatten(l *scenario.Load) flatLoad {
	f := flatLoad{
		Target: l.Target.String(), Connections: l.Connections, NewConnection: l.NewConnection, Clients: l.Clients, Arrival: l.Arrival.String(),
		RateOf: l.Rate.Of, Total: l.Total, DurationSeconds: l.Duration.Seconds(), WarmupSeconds: l.Warmup.Seconds(), TimeoutSeconds: l.Timeout.Seconds(),
		MaxInFlight: l.MaxInFlight, KeySize: l.KeySize, ValueSize: l.ValueSize, KeySpace: l.KeySpace, KeyPrefix: scenario.KeyText([]byte(l.Prefix)),
		Distribution: l.Distribution.Name, Theta: l.Distribution.Theta, HotKeys: l.Distribution.HotKeys, HotOps: l.Distribution.HotOps,
		RangeKey: scenario.KeyText(l.RangeKey), RangeEnd: scenario.KeyText(l.RangeEnd), RangeLimit: l.RangeLimit,
		CountOnly: l.Scan.CountOnly, KeysOnly: l.Scan.KeysOnly, Streamed: l.Scan.Streamed, PageSize: l.Scan.PageSize,
		TxnKeys: l.TxnKeys, CompactSeconds: l.Compact.Every.Seconds(), CompactBehind: l.Compact.Behind,
		Preloaded: l.Preload, Seed: l.Seed, VolatileMeant: l.VolatileMeant,
	}
	for _, o := range l.Mix {
		f.Mix = append(f.Mix, flatOperation{Operation: o.Kind.String(), Consistency: o.Consistency.String(), Weight: o.Weight})
	}
	if s := l.STM; s != nil {
		f.STM = &flatSTM{Isolation: s.Isolation.String(), Keys: s.KeysPerTxn, WritePercent: s.WritePercent, Locker: s.Locker.String()}
	}
	if w := l.Watch; w != nil {
		f.Watching = &flatWatch{
			Watchers: w.Watchers, Streams: w.Streams, Connections: w.Connections, Keys: w.WatchedKeys, Span: w.Span,
			PrevKV: w.PrevKV, Key: scenario.KeyText(w.Key), Earlier: w.Expect, AtWindow: w.AtWindow,
		}
	}
	return f
}
