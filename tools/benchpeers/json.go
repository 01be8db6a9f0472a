package main

import (
	"encoding/json"
	"io"
	"slices"
)

// Schema identifies the schema of the JSON document.
const Schema = "quorumbench/peers/1"

// Document is the complete comparison that --json prints. Times are in nanoseconds, memory is in
// bytes, and shares are from 0 to 1.
type Document struct {
	Schema     string     `json:"schema"`
	Conditions Conditions `json:"conditions"`
	Goals      []Verdict  `json:"goals"`
	Runs       []Run      `json:"runs"`
	Notes      []string   `json:"notes"`
}

// Conditions describes the machine and the settings with which the figures were measured.
type Conditions struct {
	Store        string  `json:"store"` // store and version; several stores are separated by commas
	Members      int     `json:"members"`
	CPU          string  `json:"cpu"`
	CPUs         int     `json:"cpus"`
	System       string  `json:"system"`
	Kernel       string  `json:"kernel"`
	Go           string  `json:"go"`
	FileSystem   string  `json:"file_system"`
	FdatasyncP50 int64   `json:"fdatasync_p50_ns"`
	FdatasyncP99 int64   `json:"fdatasync_p99_ns"` // 0 if unknown
	Rounds       int     `json:"rounds"`           // number of rounds started
	Seconds      float64 `json:"seconds"`          // length of each measurement; 0 if the lengths differ
	H2load       string  `json:"h2load,omitempty"` // version of h2load
	Wrk          string  `json:"wrk,omitempty"`    // version of wrk
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
