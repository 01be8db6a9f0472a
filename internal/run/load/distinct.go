package load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// distinct refuses endpoints that are the same server under two names, such as
// localhost:2379 and 127.0.0.1:2379: it would count as two members. A name that
// cannot be resolved is left to the code that connects to it.
func distinct(ctx context.Context, endpoints []string) error {
	places := make([]map[netip.AddrPort]bool, len(endpoints))
	for i, e := range endpoints {
		places[i] = resolve(ctx, e)
		for j := range i {
			if p, ok := within(places[i], places[j]); ok {
				return fmt.Errorf("the endpoints %s and %s are the same server, %s: give one of them", endpoints[j], e, p)
			}
		}
	}
	return nil
}

// resolve is where an endpoint leads; empty if that is not known.
func resolve(ctx context.Context, endpoint string) map[netip.AddrPort]bool {
	host, service, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	places := map[netip.AddrPort]bool{}
	for _, a := range addresses {
		places[netip.AddrPortFrom(a.Unmap(), uint16(port))] = true
	}
	return places
}

// within returns a place of both if all of one's are places of the other:
// localhost has two addresses, and a server may listen at one.
func within(a, b map[netip.AddrPort]bool) (one netip.AddrPort, ok bool) {
	common := 0
	for p := range a {
		if b[p] {
			common++
			one = p
		}
	}
	return one, common > 0 && (common == len(a) || common == len(b))
}
