package scenario

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/readfile"
)

// Options change a file as it is read. The zero value changes nothing.
type Options struct {
	// Scale multiplies totals, clients and connections, and the key spaces that
	// follow a total; 0 is no scaling. See CheckScale.
	Scale float64
	// Store and its Version, and Exec, replace what the file's defaults say, as
	// run's flags --store NAME[@VERSION] and --exec do. A trial that says its
	// own is refused, and so is one Exec for several stores.
	Store, Version, Exec string
	// Set are parameters that all trials have instead of their own.
	Set []Assignment
}

// overrides are the options as a layer above all others.
func (o Options) overrides() layer {
	l := layer{}
	for k, v := range map[string]string{"store": o.Store, "exec": o.Exec, "version": o.Version} {
		if v != "" {
			l[k] = setting{place{}, &node{kind: scalar, text: v}}
		}
	}
	return l
}

// overlay lays the options over all that was given for a trial; own is what
// the trial itself says.
func (p *fileParser) overlay(all, own layer) layer {
	over := p.options.overrides()
	for _, k := range []string{"store", "exec"} {
		s, said := over[k]
		if !said {
			continue
		}
		for _, also := range []string{"store", "exec", "version"} {
			if t, ok := own[also]; ok && (also != "store" || k == "store" && t.value.text != s.value.text) {
				p.failf(t.at, "--%s %s cannot replace what a trial itself says: here %s is %s", k, s.value.text, also, t.value.what())
			}
		}
		if e, ok := all["endpoints"]; ok {
			p.failf(e.at, "--%s is for clusters that are started, and this trial's runs already", k)
		}
	}
	return over.over(p.overlaySet(all))
}

// checkExec refuses one server for several stores.
func (p *fileParser) checkExec(plans []plan) {
	if p.options.Exec == "" {
		return
	}
	var stores []string
	for i := range plans {
		if s := plans[i].trial.Cluster.Store; !slices.Contains(stores, s) {
			stores = append(stores, s)
		}
	}
	if len(stores) > 1 {
		p.failf(place{}, "--exec names one server, and the trials are of several stores (%s); say it in the file, for each", strings.Join(stores, ", "))
	}
}

// checkServers refuses an exec that was given once, in the defaults, in a trial
// or in a baseline, for several stores: one binary is the server of one.
func (p *fileParser) checkServers(plans []plan) {
	stores := map[place][]string{}
	for i := range plans {
		exec, given := plans[i].layer["exec"]
		if !given || exec.at == (place{}) {
			continue
		}
		if name := plans[i].trial.Cluster.Store; !slices.Contains(stores[exec.at], name) {
			stores[exec.at] = append(stores[exec.at], name)
		}
	}
	for at, names := range stores {
		if len(names) > 1 {
			p.failf(at, "exec names one server, which cannot be that of several stores (%s); give each store its own, as in store: {name: %s, exec: PATH}",
				strings.Join(names, ", "), names[0])
		}
	}
}

// ParseFileWith is ParseFile with options.
func ParseFileWith(path string, c Catalog, o Options) (*Scenario, error) {
	data, err := readfile.Read(path, maxFile)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return ParseWith(path, data, c, o)
}

// ParseWith is Parse with options.
func ParseWith(name string, data []byte, c Catalog, o Options) (*Scenario, error) {
	if o.Scale != 0 {
		if err := CheckScale(o.Scale); err != nil {
			return nil, err
		}
	}
	if o.Exec != "" && o.Version != "" {
		return nil, problem("exec", "--exec and --version both name the server; give one of them")
	}
	p := &fileParser{file: name, catalog: c, keys: parametersByKey(), options: o}
	s := p.scenario(data)
	if len(p.errs) > 0 {
		return nil, p.errs.sorted()
	}
	return s, nil
}
