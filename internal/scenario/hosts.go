package scenario

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// Host is a machine on which members run and workers generate load.
type Host struct {
	Name string // unique in the scenario
	// Address is, via local, the IP address at which its members serve, empty for
	// loopback addresses of their own; via agent HOST:PORT of the agent, or unix:PATH.
	Address string
	Via     Via
}

// Via is how a host is reached.
type Via uint8

// The ways to a host.
const (
	ViaLocal Via = iota // this machine, of which there may be several with an address each
	ViaAgent            // "quorumbench agent" on another one
)

var viaNames = [...]string{"local", "agent"}

// String returns the way's name in files.
func (v Via) String() string { return viaNames[v] }

// ParseVia reads a way's name.
func ParseVia(s string) (Via, error) {
	if i := slices.Index(viaNames[:], s); i >= 0 {
		return Via(i), nil
	}
	return 0, fmt.Errorf("via is %q, and hosts are reached via local, which is this machine, or agent", s)
}

// UnixPrefix begins the address of an agent at a Unix socket.
const UnixPrefix = "unix:"

// Unix reports whether a host's agent listens at a Unix socket, which needs no
// certificates.
func (h *Host) Unix() bool { return h.Via == ViaAgent && strings.HasPrefix(h.Address, UnixPrefix) }

// checkAddress says what is wrong with a host's address.
func (h *Host) checkAddress() error {
	switch {
	case h.Via == ViaLocal && h.Address != "" && net.ParseIP(h.Address) == nil:
		return fmt.Errorf("the address of host %s is %q, and must be an IP address", h.Name, h.Address)
	case h.Via == ViaAgent && !h.Unix():
		if _, port, err := net.SplitHostPort(h.Address); err != nil || port == "" {
			return fmt.Errorf("the address of host %s is %q, and must be its agent's, HOST:PORT or unix:PATH", h.Name, h.Address)
		}
	}
	return nil
}

// maxHosts is how many hosts a scenario can have.
const maxHosts = 1000

// readHosts reads the file's list of hosts.
func readHosts(n *node) ([]Host, error) {
	if n.kind != list {
		return nil, n.at.errorf("hosts must be a list, as in [{name: a, address: 127.0.0.2}], not %s", n.otherThan(list))
	}
	if len(n.items) > maxHosts {
		return nil, n.at.errorf("there are %d hosts, and can be %d at most", len(n.items), maxHosts)
	}
	var hosts []Host
	for _, item := range n.items {
		h, err := readHost(item)
		if err != nil {
			return nil, err
		}
		for _, o := range hosts {
			switch {
			case o.Name == h.Name:
				return nil, item.at.errorf("two hosts have the name %s", h.Name)
			case o.Address == h.Address && h.Address != "":
				return nil, item.at.errorf("the hosts %s and %s have one address, %s", o.Name, h.Name, h.Address)
			}
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func readHost(n *node) (h Host, err error) {
	err = n.fields("a host", map[string]func(*node) error{
		"name":    func(n *node) (err error) { h.Name, err = n.filled("name"); return err },
		"address": func(n *node) (err error) { h.Address, err = n.filled("address"); return err },
		"via":     func(n *node) (err error) { h.Via, err = parsed(n, "via", ParseVia); return err },
	})
	switch {
	case err != nil:
		return h, err
	case h.Name == "":
		return h, n.at.errorf("a host needs a name, as in {name: a, address: 127.0.0.2}")
	case !nameable.MatchString(h.Name):
		return h, n.at.errorf("the host %s", notNameable(h.Name))
	}
	if err := h.checkAddress(); err != nil {
		return h, n.at.errorf("%v", err)
	}
	return h, nil
}

// checkHosts refuses to place members or workers on hosts that there are not, or
// more of them than there are members or workers.
func (b *builder) checkHosts() {
	for _, placed := range []struct {
		key, what string
		on        []string
		most      int
	}{{"members-on", "members", b.cluster.On, b.cluster.Members}, {"workers-on", "workers", b.workersOn, int(b.load.Workers)}} {
		for _, name := range placed.on {
			if !slices.ContainsFunc(b.hosts, func(h Host) bool { return h.Name == name }) {
				b.failf(b.place(placed.key), "<"+placed.key+"> names %q, which is none of the hosts: %s", name, hostNames(b.hosts))
			}
		}
		if len(placed.on) > placed.most && placed.most > 0 {
			b.failf(b.place(placed.key), "<"+placed.key+"> has %d hosts for %d %s", len(placed.on), placed.most, placed.what)
		}
	}
}

func hostNames(hosts []Host) string {
	if len(hosts) == 0 {
		return "the file has none"
	}
	names := make([]string, len(hosts))
	for i := range hosts {
		names[i] = hosts[i].Name
	}
	return strings.Join(names, ", ")
}

// MembersOn are the names of the hosts that the trial's members are on, in turn:
// those that it says, or all.
func (s *Scenario) MembersOn(t *Trial) []string {
	if len(t.Cluster.On) > 0 || t.Cluster.Attach != nil {
		return t.Cluster.On
	}
	return s.hostNames(func(string) bool { return true })
}

// WorkersOn are those that its workers are on, in turn: those that it says, or,
// where it has several workers, those without a member, or all. Without any the
// load comes from here.
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
