//go:build !linux

package host

// loopback returns the only loopback address that every system has.
func loopback(func(n int) int) string { return "127.0.0.1" }

// ephemeralFrom returns the lowest port that any of these systems uses for outgoing connections:
// some start at 32768, the BSDs at 49152, as IANA recommends.
func ephemeralFrom() int { return 32768 }
