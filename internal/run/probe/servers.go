package probe

import (
	"context"
	"net"
	"net/netip"
	"slices"
)

// Server describes a server's address as seen from this machine.
type Server struct {
	Here bool // the address is this machine's
	// PID is the process that listens there; 0 if it is unknown. Program is its name.
	PID     int
	Program string
}

// Forwards reports whether the process is known to forward its input to another process, so
// that its processor time is not the server's.
func (l *Server) Forwards() bool {
	return slices.Contains([]string{
		"docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "conmon", "kubectl", "ssh", "sshd", "socat", "haproxy", "nginx", "envoy", "traefik",
	}, l.Program)
}

// FindServers determines which of the endpoints, each HOST:PORT, are on this machine, and
// which process listens there. An endpoint that cannot be resolved is not on this machine.
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
				all[i].Here, wanted[i] = true, netip.AddrPortFrom(ip, uint16(number)) // #nosec G115 -- a port
				break
			}
		}
	}
	if slices.ContainsFunc(all, func(l Server) bool { return l.Here }) {
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
