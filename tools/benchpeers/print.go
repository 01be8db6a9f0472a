package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/text"
)

// print writes the results.
func (c *comparison) print(out io.Writer) error {
	var verdicts []Verdict
	for _, g := range Goals(openRate) {
		verdicts = append(verdicts, g.Judge(&c.results))
	}
	conditions := c.conditions()
	if c.json {
		return WriteJSON(out, conditions, &c.results, verdicts, c.notes)
	}
	var names []string
	for _, p := range c.peers {
		names = append(names, p.Name)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n\n", describe(conditions))
	err := errors.Join(
		WriteFigures(&text, &c.results, c.cases, names),
		WriteLateness(&text, &c.results),
		WriteChecks(&text, &c.results, c.cases),
	)
	fmt.Fprintln(&text)
	err = errors.Join(err, WriteGoals(&text, verdicts))
	for _, note := range c.notes {
		fmt.Fprintf(&text, "\n%s", note)
	}
	if len(c.notes) > 0 {
		fmt.Fprintln(&text)
	}
	_, writing := text.WriteTo(out)
	return errors.Join(err, writing)
}

func (c *comparison) conditions() Conditions {
	m := probe.Machine()
	seconds := c.seconds.Seconds()
	if c.soak {
		seconds = 0
	}
	return Conditions{
		Store: strings.Join(c.stores, ", "), Members: c.members,
		CPU: m.CPU, CPUs: m.CPUs, System: m.System + "/" + m.Architecture, Kernel: m.Kernel, Go: runtime.Version(),
		FileSystem: c.place.sync.FileSystem, FdatasyncP50: int64(c.place.sync.P50.NS), FdatasyncP99: int64(c.place.sync.P99.NS),
		Rounds: c.startedRounds, Seconds: seconds,
		H2load: c.version(H2load), Wrk: c.version(Wrk), Etcdctl: c.version(Etcdctl),
	}
}

func describe(c Conditions) string {
	words := fmt.Sprintf("%s; members in each cluster: %d, on the same machine as the peers, which send requests to the leader: %s, %d CPUs, %s %s, %s.\n",
		c.Store, c.Members, c.CPU, c.CPUs, c.System, c.Kernel, c.Go)
	p99 := "not known"
	if c.FdatasyncP99 > 0 {
		p99 = text.Duration(float64(c.FdatasyncP99))
	}
	words += fmt.Sprintf("Data on %s, fdatasync p50 %s, p99 %s. Keys of 8 B, values of %s.\n",
		c.FileSystem, text.Duration(float64(c.FdatasyncP50)), p99, text.Bytes(valueSize))
	if c.Seconds == 0 {
		return words + "One run of one minute and one run of ten minutes."
	}
	words += fmt.Sprintf("Median (min-max); rounds: %d; in each round, each peer runs for %g s, in rotated order", c.Rounds, c.Seconds)
	for _, version := range []string{c.H2load, c.Wrk, c.Etcdctl} {
		if version != "" {
			words += "; " + version
		}
	}
	return words + "."
}

// version returns a peer's version, or an empty string if the peer is not part of the comparison.
func (c *comparison) version(name string) string {
	for _, p := range c.peers {
		if p.Name == name {
			return p.Version()
		}
	}
	return ""
}
