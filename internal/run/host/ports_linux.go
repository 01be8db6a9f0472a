package host

import (
	"fmt"
	"os"
)

// loopback returns a random loopback address (RFC 1122, section 3.2.1.3). It avoids the range
// 127.0.x.y, which other programs use.
func loopback(pick func(n int) int) string {
	return fmt.Sprintf("127.%d.%d.%d", 1+pick(254), pick(256), 1+pick(254))
}

// firstEphemeralPort returns the lowest port that the kernel uses for outgoing connections.
func firstEphemeralPort() int {
	low := 32768
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(b), &low)
	}
	return low
}
