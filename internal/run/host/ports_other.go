//go:build !linux

package host

// loopback returns the only loopback address that every system has.
func loopback(func(n int) int) string { return "127.0.0.1" }

// ephemeralFrom returns the lowest port that a system may use for outgoing connections:
// 32768 on some, 49152 by IANA and on the BSDs.
func ephemeralFrom() int { return 32768 }
