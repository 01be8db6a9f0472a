package main

import (
	"encoding/json"
	"io"
	"slices"
)

// Schema is the schema of the JSON document.
const Schema = "quorumbench/peers/1"

// Document is the whole comparison as printed by --json. Times are in nanoseconds, memory
// in bytes, and shares from 0 to 1.
type Document struct {
	Schema     string     `json:"schema"`
	Conditions Conditions `json:"conditions"`
	Goals      []Verdict  `json:"goals"`
	Runs       []Run      `json:"runs"`
	Notes      []string   `json:"notes"`
}

// Conditions are what figures apply to.
type Conditions struct {
	Store        string  `json:"store"` // with its version; several are separated by commas
	Members      int     `json:"members"`
	CPU          string  `json:"cpu"`
	CPUs         int     `json:"cpus"`
	System       string  `json:"system"`
	Kernel       string  `json:"kernel"`
	Go           string  `json:"go"`
	FileSystem   string  `json:"file_system"`
	FdatasyncP50 int64   `json:"fdatasync_p50_ns"`
	FdatasyncP99 int64   `json:"fdatasync_p99_ns"` // 0 if not known
	Rounds       int     `json:"rounds"`           // rounds that began
	Seconds      float64 `json:"seconds"`          // of one measurement; 0 if they differ
	H2load       string  `json:"h2load,omitempty"` // version
	Wrk          string  `json:"wrk,omitempty"`    // version
	Etcdctl      string  `json:"etcdctl,omitempty"`
}

// WriteJSON writes the comparison as one JSON object.
func WriteJSON(out io.Writer, c Conditions, r *Results, verdicts []Verdict, notes []string) error {
	verdicts = slices.DeleteFunc(slices.Clone(verdicts), func(v Verdict) bool { return !v.Known })
	d := Document{
		Schema: Schema, Conditions: c,
		Goals: append([]Verdict{}, verdicts...), Runs: append([]Run{}, r.Runs...), Notes: append([]string{}, notes...), // never null
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
