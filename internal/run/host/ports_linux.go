package host

import (
	"fmt"
	"os"
)

// loopback draws one of the addresses that all belong to the machine itself
// (RFC 1122, section 3.2.1.3), and leaves 127.0.x.y to those who write it.
func loopback(pick func(n int) int) string {
	return fmt.Sprintf("127.%d.%d.%d", 1+pick(254), pick(256), 1+pick(254))
}

// ephemeralFrom is the lowest port that the kernel gives to outgoing
// connections.
func ephemeralFrom() int {
	low := 32768
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(b), &low)
	}
	return low
}
