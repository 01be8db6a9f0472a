package record

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Mixed is the operation, or the consistency, of a trial that has several.
const Mixed = "mixed"

// Conditions are what a trial's figures hold for. They are part of the trial's
// JSON object, because a number without them is none.
type Conditions struct {
	Number  int    `json:"number"` // from 1, as written in the scenario
	Name    string `json:"name"`
	Repeat  int    `json:"repeat"`  // from 1
	Repeats int    `json:"repeats"` // how many there are of this trial

	Store       string  `json:"store"`
	Version     string  `json:"version"`
	Operation   string  `json:"operation"` // mixed when there are several
	Consistency string  `json:"consistency"`
	Mix         []Share `json:"mix"`
	// ShortOf says, by consistency, how the store reads where that is less than
	// the level's name says; absent where each is what it is called.
	ShortOf map[string]string `json:"consistency_short_of,omitempty"`

	Target        string   `json:"target"`
	Members       int      `json:"members"`
	Endpoints     []string `json:"endpoints"`
	TLS           bool     `json:"tls"`
	Authenticated bool     `json:"authenticated"`

	// Label is what the scenario calls this version or build of the store, and
	// Exec the server binary that it gave; empty when it gave none.
	Label string `json:"label,omitempty"`
	Exec  string `json:"exec,omitempty"`
	// BaselineOf is the name of the trial that this one is the baseline of.
	BaselineOf string `json:"baseline_of,omitempty"`

	Connections int `json:"connections"`
	// NewConnection says that each operation had a connection of its own, whose
	// making is part of its time; Connections is then how many there were at
	// most at a time.
	NewConnection   bool     `json:"new_connection,omitempty"`
	Clients         int      `json:"clients"`
	Arrival         string   `json:"arrival"`           // closed, constant or poisson
	Rate            *float64 `json:"rate"`              // due a second; null in a closed loop
	RateOf          string   `json:"rate_of,omitempty"` // the trial whose throughput it is a share of
	Total           uint64   `json:"total"`             // asked for; 0 when a duration was
	DurationSeconds float64  `json:"duration_seconds"`
	WarmupSeconds   float64  `json:"warmup_seconds"`
	TimeoutSeconds  float64  `json:"timeout_seconds"`
	MaxInFlight     int      `json:"max_in_flight_limit"` // 0 in a closed loop
	Loops           int      `json:"loops"`               // the generator's event loops

	KeySize      int     `json:"key_size"`   // bytes, without the prefix
	ValueSize    int     `json:"value_size"` // bytes
	KeySpace     uint64  `json:"key_space"`
	KeyPrefix    string  `json:"key_prefix"`
	Distribution string  `json:"distribution"`
	Theta        float64 `json:"distribution_theta,omitempty"`     // zipfian
	HotKeys      float64 `json:"distribution_hot_keys,omitempty"`  // hotspot
	HotOps       float64 `json:"distribution_hot_share,omitempty"` // hotspot
	RangeKey     string  `json:"range_key,omitempty"`
	RangeEnd     string  `json:"range_end,omitempty"`
	RangeLimit   int64   `json:"range_limit,omitempty"`
	// How ranges are read, where it is not plainly.
	CountOnly bool  `json:"count_only,omitempty"`
	KeysOnly  bool  `json:"keys_only,omitempty"`
	Streamed  bool  `json:"streamed,omitempty"`
	PageSize  int64 `json:"page_size,omitempty"`
	TxnKeys   int   `json:"txn_keys,omitempty"` // of a transaction
	// STM is what stm operations were; null without any.
	STM *STM `json:"stm,omitempty"`
	// Watching is what was watched beside the load; null for nothing.
	Watching *Watching `json:"watching,omitempty"`
	// CompactSeconds is how often the store was compacted beside the load, up to
	// CompactBehind revisions before the present one; 0 for not at all.
	CompactSeconds float64 `json:"compact_interval_seconds,omitempty"`
	CompactBehind  int64   `json:"compact_behind,omitempty"`
	Preloaded      bool    `json:"preloaded"`
	Seed           uint64  `json:"seed"`
	// Scaled is what the scenario has where it was run scaled; null when it was
	// run as written.
	Scaled *Scaled `json:"scaled,omitempty"`

	Cluster string `json:"cluster"` // its id in run.json
	// Env are variables that the members got beside the usual ones.
	Env           map[string]string `json:"env,omitempty"`
	Durability    *Durability       `json:"durability"`
	VolatileMeant bool              `json:"volatile_meant"`
	Machine       *Machine          `json:"machine" csv:"-"`       // the generator's; one text in tables
	Shared        *bool             `json:"members_share_machine"` // with the generator; null if not known
	Tool          string            `json:"tool_version"`
	Notes         []string          `json:"notes"`
}

// Environment is the variables of Env as one text.
func (c *Conditions) Environment() string { return strings.Join(scenario.Variables(c.Env), " ") }

// Share is one part of a mix.
type Share struct {
	Operation   string  `json:"operation"`
	Consistency string  `json:"consistency"`
	Weight      float64 `json:"weight"`
}

// String is the part as tables have it: get linearizable 3.
func (s Share) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %g", s.Operation, s.Consistency, s.Weight)), " ")
}

// Scaled is what a scaled trial asked for before it was scaled; 0 where that was
// left as it was.
type Scaled struct {
	Factor          float64 `json:"factor"`
	Total           uint64  `json:"total,omitempty"`
	KeySpace        uint64  `json:"key_space,omitempty"`
	Clients         int     `json:"clients,omitempty"`
	Connections     int     `json:"connections,omitempty"`
	DurationSeconds float64 `json:"duration_seconds,omitempty"`
	WarmupSeconds   float64 `json:"warmup_seconds,omitempty"`
}

// FromScenario returns the conditions that a scenario's trial decides. The
// caller adds what only the run knows: version, members, endpoints, the rate
// when it is a share of another trial's, durability, machine.
func FromScenario(t *scenario.Trial) Conditions {
	l := &t.Load
	c := Conditions{
		Number: t.Number, Name: t.Name, Repeat: t.Repeat, Repeats: t.Repeats,
		Store: t.Cluster.Store, Members: t.Cluster.Members, Target: l.Target.String(),
		Connections: l.Connections, Clients: l.Clients, Arrival: l.Arrival.String(),
		Total: l.Total, DurationSeconds: l.Duration.Seconds(), WarmupSeconds: l.Warmup.Seconds(), TimeoutSeconds: l.Timeout.Seconds(),
		KeySize: l.KeySize, ValueSize: l.ValueSize, KeySpace: l.KeySpace, KeyPrefix: text([]byte(l.Prefix)),
		Distribution: l.Distribution.Name,
		RangeKey:     text(l.RangeKey), RangeEnd: text(l.RangeEnd), RangeLimit: l.RangeLimit,
		Preloaded: l.Preload, Seed: l.Seed, Loops: l.Threads, VolatileMeant: l.VolatileMeant,
	}
	c.Label, c.Exec, c.BaselineOf, c.NewConnection = t.Cluster.Label, t.Cluster.Exec, t.BaselineOf, l.NewConnection
	c.Env = t.Cluster.Env
	c.CountOnly, c.KeysOnly, c.Streamed, c.PageSize = l.Scan.CountOnly, l.Scan.KeysOnly, l.Scan.Streamed, l.Scan.PageSize
	c.Watching = watchingOf(l.Watch)
	if l.Compact.Every > 0 {
		c.CompactSeconds, c.CompactBehind = l.Compact.Every.Seconds(), l.Compact.Behind
	}
	c.Notes = slices.Clone(t.Notes)
	if s := t.Scaled; s != nil {
		c.Scaled = &Scaled{
			Factor: s.Factor, Total: s.Total, KeySpace: s.KeySpace, Clients: s.Clients, Connections: s.Connections,
			DurationSeconds: s.Duration.Seconds(), WarmupSeconds: s.Warmup.Seconds(),
		}
	}
	switch l.Distribution.Name {
	case "zipfian":
		c.Theta = l.Distribution.Theta
	case "hotspot":
		c.HotKeys, c.HotOps = l.Distribution.HotKeys, l.Distribution.HotOps
	}
	if l.Arrival != scenario.Closed {
		c.MaxInFlight = l.MaxInFlight
		if rate := l.Rate.PerSecond; l.Rate.Of == "" && rate > 0 {
			c.Rate = &rate
		}
	}
	if a := t.Cluster.Attach; a != nil {
		c.Endpoints = a.Endpoints
		c.TLS = a.UsesTLS()
		c.Authenticated = a.User != ""
	}
	c.RateOf = l.Rate.Of
	c.setMix(l.Mix)
	if c.has(func(k kv.Kind) bool { return k == kv.Txn }) {
		c.TxnKeys = l.TxnKeys
	}
	if c.has(func(k kv.Kind) bool { return k == kv.STM }) {
		c.STM = stmOf(l.STM)
	}
	return c
}

// setMix names the operation and the consistency: those that all have, or
// mixed. Writes have no consistency and do not make a mix of it.
func (c *Conditions) setMix(mix []scenario.Operation) {
	for i, op := range mix {
		kind, level := op.Kind.String(), op.Consistency.String()
		c.Mix = append(c.Mix, Share{Operation: kind, Consistency: level, Weight: op.Weight})
		if i == 0 {
			c.Operation, c.Consistency = kind, level
			continue
		}
		if kind != c.Operation {
			c.Operation = Mixed
		}
		if c.Consistency == "" {
			c.Consistency = level
		} else if level != "" && level != c.Consistency {
			c.Consistency = Mixed
		}
	}
}

// Open reports whether operations become due by a schedule.
func (c *Conditions) Open() bool { return c.Arrival != "" && c.Arrival != scenario.Closed.String() }

// has reports whether some part of the mix satisfies the condition.
func (c *Conditions) has(is func(kv.Kind) bool) bool {
	for _, s := range c.Mix {
		if k, err := kv.ParseKind(s.Operation); err == nil && is(k) {
			return true
		}
	}
	return false
}

// text is a key as it can be shown: itself, or 0x and hexadecimal.
func text(b []byte) string {
	if s := string(b); printable.Is(s) {
		return s
	}
	return "0x" + hex.EncodeToString(b)
}

// keysAsText writes the keys of a record of an older version, which had them as
// they are wherever they were UTF-8, as text does.
func (c *Conditions) keysAsText() {
	keys := []*string{&c.KeyPrefix, &c.RangeKey, &c.RangeEnd}
	if c.Watching != nil {
		keys = append(keys, &c.Watching.Key)
	}
	for _, k := range keys {
		*k = text([]byte(*k))
	}
}

// Observed is what a trial saw beside the operations. Times are those of the
// measured window.
type Observed struct {
	State   State
	Failure string    // one sentence, with Failed
	Started time.Time // of the warm-up
	Opened  time.Time // of the window
	// CPUSeconds is the generator's processor time, user and system.
	CPUSeconds  float64
	MaxRSSBytes int64
	// ThrottledNS is how long the generator's control group was held back, and
	// StolenShare the part of the machine's processor time that its host took
	// (0 to 1); null where the system does not say.
	ThrottledNS *int64
	StolenShare *float64
	// BusyShare and ForeignShare are the parts of the machine's processor time
	// (0 to 1) that anything used, and that programs beside the generator and
	// the members used; null where the system does not say.
	BusyShare, ForeignShare *float64
	LostMembers             []string
	TermChanges             int
	Hashes                  *Hashes // null unless they were asked for
	// WarmupSeconds is how long the warm-up was; nil where that is not known.
	// Steady says whether throughput was steady at its end; nil where nobody
	// waited for it, as in an open loop.
	WarmupSeconds *float64
	Steady        *bool
	// Store is what the members' processes used in the window; nil where they
	// do not run on this machine, or the system does not say.
	Store *StoreUsage
	// Members are the cluster's as far as they are known, and Answered is what
	// TrialWriter.Answered says; nil where nobody looked.
	Members  []Member
	Answered *Answered
}

// StoreUsage is what all processes of a cluster's members used, proxies before
// them included.
type StoreUsage struct {
	CPUSeconds  float64 // processor time, user and system
	MaxRSSBytes int64   // the sum of each process's most resident memory
}
