package probe

import (
	"encoding/binary"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sockets finds the TCP connections of processes. The kernel lists all connections (sock_diag(7))
// with their socket numbers. /proc/PID/fd shows which socket numbers belong to a process.
type sockets struct {
	costLimiter
	owner    map[uint32]int     // process ID by socket number; 0 if the socket belongs to no sampled process
	previous map[uint32]traffic // traffic in the previous reading, by socket number
	totals   map[int]traffic    // traffic since sampling began, by process ID
}

// traffic is the traffic of connections.
type traffic struct{ received, sent, retransmitted int64 } // numbers of received bytes, of acknowledged bytes, and of retransmitted segments

// socket is a TCP connection.
type socket struct {
	number        uint32
	send, receive int64 // number of bytes queued
	traffic
}

// add adds the figures of each process's connections to the process's row. The figures remain
// unknown if no reading is due or if the kernel does not list connections.
func (k *sockets) add(s *Sampler, now time.Time, rows []ProcessUsage) {
	k.runIfDue(now, s.cpu, func() {
		all, ok := tcpSockets()
		if !ok {
			return
		}
		k.resolve(s, all, rows)
		at := map[int]*ProcessUsage{}
		for i := range rows {
			if r := &rows[i]; r.OK {
				r.SendQueue, r.ReceiveQueue = 0, 0
				at[r.PID] = r
			}
		}
		seen := make(map[uint32]traffic, len(all))
		for _, connection := range all {
			seen[connection.number] = connection.traffic
			owner := k.owner[connection.number]
			if before := k.previous[connection.number]; k.previous != nil {
				sum := k.totals[owner]
				sum.received += max(connection.received-before.received, 0)
				sum.sent += max(connection.sent-before.sent, 0)
				sum.retransmitted += max(connection.retransmitted-before.retransmitted, 0)
				k.totals[owner] = sum
			}
			if r := at[owner]; r != nil {
				r.SendQueue += connection.send
				r.ReceiveQueue += connection.receive
			}
		}
		k.previous = seen
		for pid, r := range at {
			sum := k.totals[pid]
			r.ReceivedBytes, r.SentBytes, r.Retransmitted = sum.received, sum.sent, sum.retransmitted
		}
	})
}

// resolve finds the processes to which new sockets belong.
func (k *sockets) resolve(s *Sampler, all []socket, rows []ProcessUsage) {
	owner, known := make(map[uint32]int, len(all)), true
	for _, one := range all {
		pid, seen := k.owner[one.number]
		owner[one.number] = pid
		known = known && seen
	}
	if k.owner = owner; known {
		return
	}
	if k.totals == nil {
		k.totals = map[int]traffic{}
	}
	for i := range rows {
		if !rows[i].OK {
			continue
		}
		dir := s.path(rows[i].PID, "fd")
		names, _ := listNames(dir)
		for _, name := range names {
			link, _ := os.Readlink(dir + "/" + name)
			text, isSocket := strings.CutPrefix(link, "socket:[")
			if n := number([]byte(strings.TrimSuffix(text, "]"))); isSocket && n > 0 {
				if _, ours := owner[uint32(n)]; ours {
					owner[uint32(n)] = rows[i].PID
				}
			}
		}
	}
}

// Layout of struct inet_diag_req_v2, struct inet_diag_msg and the attribute that contains struct
// tcp_info (linux/inet_diag.h).
const (
	diagRequest  = 56
	diagMessage  = 72
	diagInfo     = 2
	diagReceive  = 56
	diagSend     = 60
	diagNumber   = 68
	tcpListening = 10
)

// tcpSockets returns the TCP connections in this process's network namespace, except connections
// that no longer belong to a process.
func tcpSockets() (all []socket, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, false
	}
	defer func() { _ = unix.Close(fd) }()
	// The kernel answers immediately; the timeout is only a precaution.
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}) != nil {
		return nil, false
	}
	buffer := make([]byte, 64<<10)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		request := make([]byte, unix.SizeofNlMsghdr+diagRequest)
		binary.NativeEndian.PutUint32(request, uint32(len(request)))
		binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
		binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
		request[16], request[17], request[18] = family, unix.IPPROTO_TCP, 1<<(diagInfo-1)
		binary.NativeEndian.PutUint32(request[20:], ^uint32(1<<tcpListening))
		if unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
			return nil, false
		}
		for done := false; !done; {
			n, _, err := unix.Recvfrom(fd, buffer, 0)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return nil, false
			}
			if all, done, ok = parseSocketList(buffer[:n], all); !ok {
				return nil, false
			}
		}
	}
	return all, true
}

// parseSocketList parses one packet of the kernel's answer and appends its connections to the slice
// `all`. done is true for the last packet; ok is false if b is invalid.
func parseSocketList(b []byte, all []socket) (_ []socket, done, ok bool) {
	for len(b) >= unix.SizeofNlMsghdr {
		length, kind := int(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint16(b[4:])
		if length < unix.SizeofNlMsghdr || length > len(b) {
			return all, false, false
		}
		body := b[unix.SizeofNlMsghdr:length]
		b = b[min((length+3)&^3, len(b)):]
		switch {
		case kind == unix.NLMSG_DONE:
			return all, true, true
		case kind != unix.SOCK_DIAG_BY_FAMILY || len(body) < diagMessage:
			return all, false, false
		}
		at := func(offset int) uint32 { return binary.NativeEndian.Uint32(body[offset:]) }
		one := socket{number: at(diagNumber), send: int64(at(diagSend)), receive: int64(at(diagReceive)), traffic: parseTraffic(body[diagMessage:])}
		if one.number != 0 {
			all = append(all, one)
		}
	}
	return all, false, true
}

// parseTraffic reads a connection's traffic from the attributes of the connection. Older kernels do
// not report numbers of bytes.
func parseTraffic(b []byte) (c traffic) {
	for len(b) >= 4 {
		length, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
		if length < 4 || length > len(b) {
			break
		}
		if info := b[4:length]; kind == diagInfo && len(info) >= int(unsafe.Offsetof(unix.TCPInfo{}.Bytes_received))+8 {
			long := func(offset uintptr) int64 { return int64(binary.NativeEndian.Uint64(info[offset:])) }
			c.retransmitted = int64(binary.NativeEndian.Uint32(info[unsafe.Offsetof(unix.TCPInfo{}.Total_retrans):]))
			c.sent, c.received = long(unsafe.Offsetof(unix.TCPInfo{}.Bytes_acked)), long(unsafe.Offsetof(unix.TCPInfo{}.Bytes_received))
			return c
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	return c
}
