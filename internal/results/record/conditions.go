package record

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Mixed is the value of Operation or Consistency if a trial has several operations or consistency
// levels.
const Mixed = "mixed"

// Conditions describes the load and the system for which a trial's figures are valid. The trial's
// JSON object contains the conditions, because a figure is meaningless without them.
type Conditions struct {
	Number  int    `json:"number"` // position of the trial in the scenario, counted from 1
	Name    string `json:"name"`
	Repeat  int    `json:"repeat"`  // from 1
	Repeats int    `json:"repeats"` // number of repeats; 0 if trials were repeated until their figures were precise

	Store       string `json:"store"`
	Version     string `json:"version"`
	Operation   string `json:"operation"` // the load's operation; Mixed if there are several
	Consistency string `json:"consistency"`
	// WeakerReads has an entry for each consistency level that is weaker in this store than the
	// name of the level suggests. The entry describes how the store executes such reads.
	// WeakerReads is absent if no level is weaker.
	WeakerReads map[string]string `json:"weaker_consistency,omitempty"`

	// Load is the load that the generator sent. In JSON, it is the object "load" and has the keys
	// of a scenario file. Parameters that do not apply to the load are zero. The rate in Load is
	// the rate that was requested.
	scenario.Load `json:"-"`
	Rate          *float64 `json:"rate"`  // operations due per second; null in a closed loop
	Loops         int      `json:"loops"` // the generator's event loops

	Members   int      `json:"members"`
	Endpoints []string `json:"endpoints"`
	// Absent lists the members that did not respond before the load. The load ran without these
	// members.
	Absent        []AbsentMember `json:"absent_members,omitempty" csv:"-"`
	TLS           bool           `json:"tls"`
	Authenticated bool           `json:"authenticated"`

	// Label is the scenario's name for this version or build of the store. Exec is the server
	// binary that the scenario sets, or empty if it sets none.
	Label string `json:"label,omitempty"`
	Exec  string `json:"exec,omitempty"`
	// BaselineOf is the name of the trial to which this trial is the baseline.
	BaselineOf string `json:"baseline_of,omitempty"`
	// Scaled holds the original values from the scenario if the run was scaled, and is null
	// otherwise.
	Scaled *Scaled `json:"scaled,omitempty"`

	Cluster string `json:"cluster"` // ID in run.json
	// Env holds additional environment variables of the members.
	Env           map[string]string   `json:"env,omitempty"`
	Durability    *measure.Durability `json:"durability"`
	Machine       *measure.Machine    `json:"machine" csv:"-"`       // the generator's machine; Cells omits it, because tables show it as a single text
	SharesMachine *bool               `json:"members_share_machine"` // whether members run on the generator's machine; null if not known
	Tool          string              `json:"tool_version"`
	Notes         []string            `json:"notes"`
}

// AbsentMember is a member that did not respond before a load.
type AbsentMember struct {
	Endpoint string `json:"endpoint"`
	Reason   string `json:"reason"`
}

// String returns a sentence which states that the member did not respond.
func (m AbsentMember) String() string {
	return fmt.Sprintf("The member at %s did not respond before the load (%s), so the load ran on the other members.", m.Endpoint, m.Reason)
}

// Repeated reports whether the trial is, or may be, one of several repeats.
func (c *Conditions) Repeated() bool { return c.Repeats > 1 || c.UntilPrecise() }

// UntilPrecise reports whether the trial was repeated until its figures were precise, instead of a
// fixed number of times.
func (c *Conditions) UntilPrecise() bool { return c.Repeats == 0 && c.Repeat > 0 }

// Environment returns the variables of Env as one text.
func (c *Conditions) Environment() string { return strings.Join(scenario.Variables(c.Env), " ") }

// Scaled holds a trial's parameters before scaling. A field is 0 if scaling did not change it.
type Scaled struct {
	Factor          float64 `json:"factor"`
	Total           uint64  `json:"total,omitempty"`
	KeySpace        uint64  `json:"key_space,omitempty"`
	Clients         int     `json:"clients,omitempty"`
	Connections     int     `json:"connections,omitempty"`
	DurationSeconds float64 `json:"duration_seconds,omitempty"`
	WarmupSeconds   float64 `json:"warmup_seconds,omitempty"`
}

// NewConditions returns the conditions that a trial in a scenario determines. The caller adds the
// conditions that are known only during a run: version, members, endpoints, durability and machine.
// If the rate is a share of another trial's rate, the caller also adds the rate.
func NewConditions(t *scenario.Trial) Conditions {
	c := Conditions{
		Number: t.Number, Name: t.Name, Repeat: t.Repeat, Repeats: t.Repeats,
		Store: t.Cluster.Store, Members: t.Cluster.Members, Label: t.Cluster.Label, Exec: t.Cluster.Exec, Env: t.Cluster.Env,
		BaselineOf: t.BaselineOf, Load: t.Load.Normalized(), Loops: t.Load.Threads, Notes: slices.Clone(t.Notes),
	}
	if s := t.Unscaled; s != nil {
		c.Scaled = &Scaled{
			Factor: s.Factor, Total: s.Total, KeySpace: s.KeySpace, Clients: s.Clients, Connections: s.Connections,
			DurationSeconds: s.Duration.Seconds(), WarmupSeconds: s.Warmup.Seconds(),
		}
	}
	if rate := t.Load.Rate; c.Open() && rate.SourceTrial == "" && rate.PerSecond > 0 {
		c.Rate = new(rate.PerSecond)
	}
	if a := t.Cluster.RunningCluster; a != nil {
		c.Endpoints = a.Endpoints
		c.TLS = a.UsesTLS()
		c.Authenticated = a.User != ""
	}
	c.nameMix()
	return c
}

// nameMix sets Operation and Consistency. If all operations of the mix have the same value, it sets
// this value, and otherwise Mixed. Writes have no consistency, so they do not affect Consistency.
func (c *Conditions) nameMix() {
	for i, op := range c.Mix {
		kind, level := op.Kind.String(), op.Consistency.String()
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

// Open reports whether the load is an open loop, in which a schedule determines when operations
// become due.
func (c *Conditions) Open() bool { return c.Arrival != scenario.Closed }

// HasKind reports whether the mix contains an operation whose kind satisfies the condition.
func (c *Conditions) HasKind(matches func(kv.Kind) bool) bool {
	return slices.ContainsFunc(c.Mix, func(o scenario.Operation) bool { return matches(o.Kind) })
}
