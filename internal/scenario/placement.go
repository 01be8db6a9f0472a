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
		hosts     []string
		limit     int
	}{{"members-on", "members", b.cluster.Hosts, b.cluster.Members}, {"workers-on", "workers", b.workerHosts, int(b.load.Workers)}} {
		for _, name := range placed.hosts {
			if !slices.ContainsFunc(b.hosts, func(h Host) bool { return h.Name == name }) {
				b.failf(b.keyPosition(placed.key), "<"+placed.key+"> names %q, which is not one of the scenario's hosts (%s)", name, hostNames(b.hosts))
			}
		}
		if len(placed.hosts) > placed.limit && placed.limit > 0 {
			b.failf(b.keyPosition(placed.key), "<"+placed.key+"> lists %d hosts for only %d %s", len(placed.hosts), placed.limit, placed.what)
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

// MemberHosts returns the names of the hosts on which the trial's members run, in turn: the hosts
// in members-on, or all hosts if the trial has no members-on.
func (s *Scenario) MemberHosts(t *Trial) []string {
	if len(t.Cluster.Hosts) > 0 || t.Cluster.RunningCluster != nil {
		return t.Cluster.Hosts
	}
	return s.hostNames(func(string) bool { return true })
}

// WorkerHosts returns the names of the hosts on which the trial's workers run, in turn. These are
// the hosts in workers-on. If the trial has several workers but no workers-on, they are the hosts
// without a member, or all hosts if every host has a member. If the list is empty, this machine
// generates the load.
func (s *Scenario) WorkerHosts(t *Trial) []string {
	if len(t.WorkerHosts) > 0 || t.Load.Workers < 2 {
		return t.WorkerHosts
	}
	members := s.MemberHosts(t)
	if n := t.Cluster.Members; t.Cluster.RunningCluster == nil && n < len(members) {
		members = members[:n]
	}
	if free := s.hostNames(func(name string) bool { return !slices.Contains(members, name) }); len(free) > 0 {
		return free
	}
	return s.hostNames(func(string) bool { return true })
}

func (s *Scenario) hostNames(include func(name string) bool) (names []string) {
	for i := range s.Hosts {
		if include(s.Hosts[i].Name) {
			names = append(names, s.Hosts[i].Name)
		}
	}
	return names
}
