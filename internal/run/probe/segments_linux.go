package probe

import (
	"net"

	"golang.org/x/sys/unix"
)

// segments returns the number of segments with data that this side of a connection has sent, and
// how many of its segments it sent again (TCP_INFO in tcp(7)). Both are -1 if the kernel does not
// report them.
func segments(c *net.TCPConn) (sent, again int64) {
	sent, again = -1, -1
	raw, err := c.SyscallConn()
	if err != nil {
		return sent, again
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			sent, again = int64(info.Data_segs_out), int64(info.Total_retrans)
		}
	})
	return sent, again
}
