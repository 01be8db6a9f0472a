package command

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorumbench/quorumbench/internal/results/metrics"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
)

// publishFlags holds the values of --metrics and --push.
type publishFlags struct {
	listen string // HOST:PORT; empty without --metrics
	push   *metrics.Destination
}

// AddMetrics registers --metrics and --push for a command that calls Publish.
func (a *App) AddMetrics(r Flags) {
	Value(r, "metrics", &a.publish.listen, "HOST:PORT", parseListen, func(s string) string { return s },
		"serve the figures of the run to Prometheus at this address, until the run ends; port 0 selects a free port")
	Value(r, "push", &a.publish.push, "URL", metrics.ParseDestination, (*metrics.Destination).String,
		"send the figures of the run to this URL every 5s with Prometheus remote write; for credentials, write NAME:env:VARIABLE@ in the URL, or set a bearer token in the environment variable "+metrics.TokenVariable)
}

// parseListen checks an address at which to listen.
func parseListen(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil {
		return "", fmt.Errorf("%q is not an address; write HOST:PORT, for example 127.0.0.1:9187", s)
	}
	return s, nil
}

// Published publishes the metrics of a run. A nil pointer publishes nothing.
type Published struct {
	server *metrics.Server
	pusher *metrics.Pusher
}

// Publish publishes the metrics of a run in the ways that the flags --metrics and --push select.
// Call it before the run, and after all other functions in the options have been set. If it cannot
// listen at the address of --metrics, it returns an error. Without these flags, it returns nil. The
// function `note` prints a message.
func (a *App) Publish(o *runner.Options, note func(string)) (*Published, error) {
	f := a.publish
	if f.listen == "" && f.push == nil {
		return nil, nil
	}
	began := time.Now()
	run := metrics.Run{Name: record.DirName(o.Scenario.Name, began), Version: Tool().Version, StartTime: began}
	c := metrics.NewCollector(run)
	registry := prometheus.NewRegistry()
	if err := registry.Register(c); err != nil {
		return nil, err
	}
	p := &Published{}
	if f.listen != "" {
		l, err := net.Listen("tcp", f.listen)
		if err != nil {
			return nil, Usage("--metrics %s: cannot listen at this address: %w; choose an address of this machine and a free port", f.listen, err)
		}
		p.server = metrics.Serve(l, registry)
	}
	if f.push != nil {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		if p.pusher, err = metrics.StartPushing(f.push, registry, run.Name, host, os.Getenv, time.Now); err != nil {
			p.End(note)
			return nil, Usage("--push: %w", err)
		}
	}
	if p.server != nil {
		note("metrics are served at " + p.server.URL() + " until the run ends")
	}
	follow(o, c)
	return p, nil
}

// follow sends the data of a run to a collector. The functions that are already set in the options
// continue to receive the data.
func follow(o *runner.Options, c *metrics.Collector) {
	o.Observer = o.Observer.Join(record.Observer{Event: c.Event, Machines: c.Machines})
	o.AddSecondHandler(c.Second)
	o.AddProgressHandler(func(p runner.Progress) {
		if p.Stage == runner.TrialDone && p.Spec != nil && p.Result != nil {
			c.EndTrial(p.Spec, p.Result)
			return
		}
		c.EnterPhase(p.Spec, string(p.Stage))
	})
}

// End stops publishing. If pushes failed, it calls `note` with one sentence.
func (p *Published) End(note func(string)) {
	if p == nil {
		return
	}
	if p.pusher != nil {
		if problem := p.pusher.Close(); problem != "" {
			note("warning: " + problem)
		}
	}
	if p.server != nil {
		p.server.Close()
	}
}
