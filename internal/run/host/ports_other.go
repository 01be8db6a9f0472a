//go:build !linux

package host

// loopback is the only loopback address that every system has.
func loopback(func(n int) int) string { return "127.0.0.1" }

// ephemeralFrom is below what IANA and the BSDs give to outgoing connections
// (49152) and what some systems do (32768).
func ephemeralFrom() int { return 32768 }
