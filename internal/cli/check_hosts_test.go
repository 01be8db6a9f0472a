package cli

import (
	"slices"
	"testing"
)

// A host's name is the name in its address, or its whole address if another host has the same name.
func TestNamesOfHosts(t *testing.T) {
	for list, want := range map[string][]string{
		"db1,db2":                     {"db1", "db2"},
		"root@db1:22, agent:db2:7420": {"db1", "db2"},
		"agent:db1:7420,db1,db2":      {"db1:7420", "db1", "db2"},
		"root@db1,admin@db1":          {"root@db1", "admin@db1"},
		"agent:db1:7420,agent:db1:7421,unix:/run/a.sock": {"db1:7420", "db1:7421", "unix:/run/a.sock"},
	} {
		hosts, err := parseHosts(list, "")
		if err != nil {
			t.Errorf("%s: %v", list, err)
		}
		var names []string
		for i := range hosts {
			names = append(names, hosts[i].Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, not %q", list, names, want)
		}
	}
}
