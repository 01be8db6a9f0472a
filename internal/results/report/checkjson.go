package report

import (
	"io"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// perfCheck is what `check perf --format json` prints.
type perfCheck struct {
	Check       string             `json:"check"`
	Load        string             `json:"load"`
	Store       string             `json:"store"`
	Version     string             `json:"version"`
	Members     int                `json:"members"`
	Target      string             `json:"target"`
	Rate        *float64           `json:"rate"`
	Clients     int                `json:"clients"`
	Connections int                `json:"connections"`
	Duration    float64            `json:"duration_seconds"`
	Seed        uint64             `json:"seed"`
	State       string             `json:"state"` // pass, fail or interrupted
	Lines       []string           `json:"lines"`
	Seconds     float64            `json:"seconds"`
	Due         uint64             `json:"due"`
	NotSent     uint64             `json:"not_sent"`
	Throughput  float64            `json:"writes_per_second"`
	Slowest     float64            `json:"slowest_seconds"`
	Spread      float64            `json:"stddev_seconds"`
	Response    map[string]float64 `json:"response_seconds"` // percentiles that are known
	Service     map[string]float64 `json:"service_seconds"`
	Errors      []analyze.Failure  `json:"errors"`
	Causes      []analyze.Cause    `json:"causes"`
	Looked      []string           `json:"looked_at,omitempty"`
	Cleanup     *record.Cleanup    `json:"cleanup"`
}

// PerfCheckJSON writes a check of a load of the given name as one object.
func PerfCheckJSON(w io.Writer, c *analyze.PerfCheck, load string) error {
	t := c.Trial
	j := perfCheck{
		Check: "perf", Load: load, Store: t.Store, Version: t.Version, Members: t.Members, Target: t.Target.String(),
		Rate: t.Rate, Clients: t.MaxInFlight, Connections: t.Connections, Duration: t.Duration.Seconds(), Seed: t.Seed,
		State: checkState(t, c.Pass), Lines: c.Lines, Seconds: t.Seconds, Due: t.Due, NotSent: c.NotSent,
		Throughput: t.PerSecond, Slowest: c.Slowest, Spread: c.Spread,
		Response: analyze.SecondsOf(t.ResponseTime.Summary), Service: analyze.SecondsOf(t.ServiceTime.Summary),
		Errors: c.ByError, Causes: []analyze.Cause{}, Cleanup: t.Cleanup,
	}
	if t.State == record.Interrupted {
		j.Lines = nil
	} else if !c.Pass {
		j.Causes, j.Looked = append(j.Causes, c.Limits.Causes...), c.Limits.Looked
	}
	return writeJSON(w, j)
}

// checkState is pass, fail or interrupted.
func checkState(t *record.Trial, pass bool) string {
	switch {
	case t.State == record.Interrupted:
		return "interrupted"
	case pass && t.Cleanup.Err() == nil:
		return "pass"
	}
	return "fail"
}

// scaleCheck is what `check datascale --format json` prints.
type scaleCheck struct {
	Check      string             `json:"check"`
	Load       string             `json:"load"`
	Store      string             `json:"store"`
	Version    string             `json:"version"`
	Keys       uint64             `json:"keys"`
	Clients    int                `json:"clients"`
	Seed       uint64             `json:"seed"`
	State      string             `json:"state"` // pass, fail or interrupted
	Written    uint64             `json:"written"`
	Seconds    float64            `json:"seconds"`
	Throughput float64            `json:"writes_per_second"`
	Service    map[string]float64 `json:"service_seconds"`
	Members    []memberCost       `json:"members"`
	Errors     []analyze.Failure  `json:"errors"`
	Cleanup    *record.Cleanup    `json:"cleanup"`
}

type memberCost struct {
	Name         string `json:"name"`
	Endpoint     string `json:"endpoint"`
	MemoryBefore *int64 `json:"memory_bytes_before,omitempty"`
	MemoryAfter  *int64 `json:"memory_bytes_after,omitempty"`
	DiskBefore   *int64 `json:"database_bytes_before,omitempty"`
	DiskAfter    *int64 `json:"database_bytes_after,omitempty"`
	Unread       string `json:"unread,omitempty"`
}

// ScaleCheckJSON writes a check of what keys cost as one object.
func ScaleCheckJSON(w io.Writer, c *analyze.ScaleCheck, load string) error {
	t := c.Trial
	j := scaleCheck{
		Check: "datascale", Load: load, Store: t.Store, Version: t.Version, Keys: t.Total, Clients: t.Clients, Seed: t.Seed,
		State: checkState(t, c.Pass), Written: t.Operations, Seconds: t.Seconds, Throughput: t.PerSecond,
		Service: analyze.SecondsOf(t.ServiceTime.Summary), Errors: c.ByError, Cleanup: t.Cleanup,
	}
	for i := range c.Members {
		m := &c.Members[i]
		one := memberCost{Name: m.Name, Endpoint: m.Endpoint, Unread: m.Unread}
		if m.Memory.Known {
			one.MemoryBefore, one.MemoryAfter = &m.Memory.Before, &m.Memory.After
		}
		if m.Disk.Known {
			one.DiskBefore, one.DiskAfter = &m.Disk.Before, &m.Disk.After
		}
		j.Members = append(j.Members, one)
	}
	return writeJSON(w, j)
}
