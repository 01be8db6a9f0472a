package probe

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// Server describes the server at an endpoint, as seen from this machine.
type Server struct {
	IsLocal bool // whether the address belongs to this machine
	// PID is the ID of the process that listens at the endpoint, or 0 if unknown. Program is the
	// name of this process.
	PID     int
	Program string
}

// IsForwarder reports whether the process is a program that is known to forward its input to
// another process. If so, its processor time is not that of the server.
func (l *Server) IsForwarder() bool {
	return slices.Contains([]string{
		"docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "conmon", "kubectl", "ssh", "sshd", "socat", "haproxy", "nginx", "envoy", "traefik",
	}, l.Program)
}

// FindServers determines which of the endpoints (HOST:PORT) are on this machine, and which
// processes listen there. An endpoint whose name cannot be resolved is assumed to be on another
// machine.
func FindServers(ctx context.Context, endpoints []string) []Server {
	all, wanted := make([]Server, len(endpoints)), make([]netip.AddrPort, len(endpoints))
	own := ownAddresses()
	for i, e := range endpoints {
		hostname, port, err := net.SplitHostPort(e)
		if err != nil {
			continue
		}
		ips, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", hostname)
		number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
		if err != nil {
			continue
		}
		for _, ip := range ips {
			if ip = ip.Unmap().WithZone(""); ip.IsLoopback() || slices.Contains(own, ip) {
				all[i].IsLocal, wanted[i] = true, netip.AddrPortFrom(ip, uint16(number)) // #nosec G115 -- a port
				break
			}
		}
	}
	if slices.ContainsFunc(all, func(l Server) bool { return l.IsLocal }) {
		findServers("/proc", wanted, all)
	}
	return all
}

func ownAddresses() (own []netip.Addr) {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				own = append(own, ip.Unmap())
			}
		}
	}
	return own
}
