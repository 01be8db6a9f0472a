package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/compare"
	"github.com/quorumbench/quorumbench/tools/benchpeers/internal/peer"
)

// print writes what came out.
func (c *comparison) print(out io.Writer) error {
	var verdicts []compare.Verdict
	for _, g := range compare.Goals(openRate) {
		verdicts = append(verdicts, g.Judge(&c.results))
	}
	conditions := c.conditions()
	if c.json {
		return compare.WriteJSON(out, conditions, &c.results, verdicts, c.notes)
	}
	w := &firstError{out: out}
	w.printf("%s\n\n", describe(conditions))
	var names []string
	for _, p := range c.peers {
		names = append(names, p.Name())
	}
	w.keep(compare.WriteFigures(w, &c.results, c.cases, names))
	w.keep(compare.WriteLateness(w, &c.results))
	w.keep(compare.WriteChecks(w, &c.results, c.cases))
	w.printf("\n")
	w.keep(compare.WriteGoals(w, verdicts))
	for _, note := range c.notes {
		w.printf("\n%s", note)
	}
	if len(c.notes) > 0 {
		w.printf("\n")
	}
	return w.err
}

func (c *comparison) conditions() compare.Conditions {
	m := probe.Machine()
	seconds := c.seconds.Seconds()
	if c.soak {
		seconds = 0
	}
	return compare.Conditions{
		Store: strings.Join(c.stores, ", "), Members: c.members,
		CPU: m.CPU, CPUs: m.CPUs, System: m.System + "/" + m.Architecture, Kernel: m.Kernel, Go: runtime.Version(),
		FileSystem: c.place.sync.FileSystem, FdatasyncP50: int64(c.place.sync.P50.NS), FdatasyncP99: int64(c.place.sync.P99.NS),
		Rounds: c.begun, Seconds: seconds,
		H2load: c.version(peer.H2load, peer.H2loadVersion), Wrk: c.version(peer.Wrk, peer.WrkVersion),
		Etcdctl: c.version(peer.Etcdctl, peer.EtcdctlLabel),
	}
}

func describe(c compare.Conditions) string {
	text := fmt.Sprintf("%s; clusters of %d, all on one machine with the peers, which ask the leader: %s, %d CPUs, %s %s, %s.\n",
		c.Store, c.Members, c.CPU, c.CPUs, c.System, c.Kernel, c.Go)
	p99 := "not known"
	if c.FdatasyncP99 > 0 {
		p99 = readable.Duration(float64(c.FdatasyncP99))
	}
	text += fmt.Sprintf("Data on %s, fdatasync p50 %s, p99 %s. Keys of 8 B, values of %s.\n",
		c.FileSystem, readable.Duration(float64(c.FdatasyncP50)), p99, readable.Bytes(valueSize))
	if c.Seconds == 0 {
		return text + "One run of a minute and one of ten."
	}
	text += fmt.Sprintf("Median (min-max); rounds: %d, of %g s for each peer, in rotated order", c.Rounds, c.Seconds)
	for _, version := range []string{c.H2load, c.Wrk, c.Etcdctl} {
		if version != "" {
			text += "; " + version
		}
	}
	return text + "."
}

// version asks for a peer's version, if it takes part.
func (c *comparison) version(name string, ask func() string) string {
	if !slices.ContainsFunc(c.peers, func(p peer.Peer) bool { return p.Name() == name }) {
		return ""
	}
	return ask()
}

// firstError writes until it cannot.
type firstError struct {
	out io.Writer
	err error
}

func (w *firstError) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.out.Write(p)
	w.err = err
	return n, err
}

func (w *firstError) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // kept by Write
}

func (w *firstError) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}
