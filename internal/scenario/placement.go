package scenario

import (
	"slices"
	"strings"
)

// checkHosts rejects lists of hosts for members or workers if a listed host does not exist, or if a
// list has more hosts than the trial has members or workers.
func (b *builder) checkHosts() {
	for _, placed := range []struct {
		key, what string
		on        []string
		most      int
	}{{"members-on", "members", b.cluster.On, b.cluster.Members}, {"workers-on", "workers", b.workersOn, int(b.load.Workers)}} {
		for _, name := range placed.on {
			if !slices.ContainsFunc(b.hosts, func(h Host) bool { return h.Name == name }) {
				b.failf(b.place(placed.key), "<"+placed.key+"> names %q, which is not one of the scenario's hosts (%s)", name, hostNames(b.hosts))
			}
		}
		if len(placed.on) > placed.most && placed.most > 0 {
			b.failf(b.place(placed.key), "<"+placed.key+"> lists %d hosts for only %d %s", len(placed.on), placed.most, placed.what)
		}
	}
}

func hostNames(hosts []Host) string {
	if len(hosts) == 0 {
		return "the file lists none"
	}
	names := make([]string, len(hosts))
	for i := range hosts {
		names[i] = hosts[i].Name
	}
	return strings.Join(names, ", ")
}

// MembersOn returns the names of the hosts on which the trial's members run, in turn: the hosts in
// members-on, or all hosts if the trial has no members-on.
func (s *Scenario) MembersOn(t *Trial) []string {
	if len(t.Cluster.On) > 0 || t.Cluster.Attach != nil {
		return t.Cluster.On
	}
	return s.hostNames(func(string) bool { return true })
}

// WorkersOn returns the names of the hosts on which the trial's workers run, in turn. These are the
// hosts in workers-on. If the trial has several workers but no workers-on, they are the hosts
// without a member, or all hosts if every host has a member. If the list is empty, this machine
// generates the load.
func (s *Scenario) WorkersOn(t *Trial) []string {
	if len(t.WorkersOn) > 0 || t.Load.Workers < 2 {
		return t.WorkersOn
	}
	members := s.MembersOn(t)
	if n := t.Cluster.Members; t.Cluster.Attach == nil && n < len(members) {
		members = members[:n]
	}
	if free := s.hostNames(func(name string) bool { return !slices.Contains(members, name) }); len(free) > 0 {
		return free
	}
	return s.hostNames(func(string) bool { return true })
}

func (s *Scenario) hostNames(of func(name string) bool) (names []string) {
	for i := range s.Hosts {
		if of(s.Hosts[i].Name) {
			names = append(names, s.Hosts[i].Name)
		}
	}
	return names
}
