package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// configNode is the node that contains the list of members (ZooKeeper 3.5 and later).
const configNode = "/zookeeper/config"

// Members implements store.Admin. It returns the members sorted by number, with the endpoints from
// the cluster's configuration. If the configuration has no client addresses, it returns the given
// endpoints.
func (a *admin) Members(ctx context.Context) ([]store.Member, error) {
	err := errNotAllowed
	for _, e := range a.access.Endpoints {
		asking, cancel := context.WithTimeout(ctx, a.timeout)
		var text string
		text, err = sendWord(asking, a.access, e, "conf")
		cancel()
		if err == nil {
			return a.membersOr(clientAddresses(text)), nil
		}
	}
	if !errors.Is(err, errNotAllowed) {
		return nil, fmt.Errorf("cannot read ZooKeeper's list of members: %s", reason(ctx, err))
	}
	config, err := a.config(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read ZooKeeper's list of members from %s: %s", configNode, reason(ctx, err))
	}
	return a.membersOr(clientAddresses(config)), nil
}

// config reads configNode.
func (a *admin) config(ctx context.Context) (string, error) {
	s, err := a.openSession(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = s.endSession() }() // if this fails, the session expires
	r, err := s.request(func(c *jute.Conn) { c.GetData(jute.Call{}, toPath(configNode), false) })
	switch {
	case err != nil:
		return "", err
	case r.Code != jute.OK:
		return "", refused(r.Code)
	}
	b := jute.NewReader(r.Body)
	text := string(b.Buffer())
	if !b.OK() {
		return "", jute.ErrMalformed
	}
	return text, nil
}

func (a *admin) membersOr(found []store.Member) []store.Member {
	if len(found) == 0 {
		for _, e := range a.access.Endpoints {
			found = append(found, store.Member{Endpoint: e})
		}
	}
	return found
}

// clientAddresses parses lines such as server.1=10.0.0.1:2888:3888:participant;10.0.0.1:2181 and
// returns the members sorted by number. It returns nil if a line has no client address.
func clientAddresses(config string) []store.Member {
	byID := map[int]string{}
	for line := range strings.Lines(config) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "server.")
		if !ok {
			continue
		}
		number, server, _ := strings.Cut(line, "=")
		server, client, known := strings.Cut(server, ";")
		id, err := strconv.Atoi(number)
		if err != nil || !known {
			return nil // each member's client address is only in the member's own configuration file
		}
		if host, port, found := cutHost(client); !found || isUnspecified(host) {
			if !found {
				port = client
			}
			host, _, _ = cutHost(server)
			client = host + ":" + port
		}
		byID[id] = client
	}
	var out []store.Member
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, store.Member{ID: uint64(max(id, 0)), Name: fmt.Sprintf("m%d", id), Endpoint: byID[id]})
	}
	return out
}

// cutHost splits an address at the colon after the host. If the host is an IPv6 address, it is in
// brackets, and cutHost keeps the brackets.
func cutHost(address string) (host, rest string, found bool) {
	end := 0
	if strings.HasPrefix(address, "[") {
		end = strings.IndexByte(address, ']') + 1
	}
	host, rest, found = strings.Cut(address[end:], ":")
	return address[:end] + host, rest, found
}

// isUnspecified reports whether a host is an address such as 0.0.0.0 or [::], with which a member
// listens at all addresses of its machine.
func isUnspecified(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsUnspecified()
}
