//go:build !linux

package host

// loopback returns 127.0.0.1, the only loopback address that exists on every system.
func loopback(func(n int) int) string { return "127.0.0.1" }

// firstEphemeralPort returns a port below which no supported system other than Linux opens outgoing
// connections. On some systems, the ports for outgoing connections start at 32768. On the BSDs,
// they start at 49152, as IANA recommends.
func firstEphemeralPort() int { return 32768 }
