package network

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/host/helper"
)

// forwarder forwards packets between devices on one thread. The thread sleeps until a packet or a
// request arrives, or until a waiting packet must be sent.
type forwarder struct {
	fabric         *fabric
	pollFDs        []unix.PollFd // the entry at index 0 is the input for requests; the others are the devices
	partialRequest []byte        // the beginning of an incomplete request
	answers        *json.Encoder
	startTime      time.Time
	packet         [1 << 16]byte
}

// batch is the maximum number of packets that are read from one device before the next device is
// served.
const batch = 64

// Serve forwards packets between this machine and the members of a subnet such as 198.18.7.0/24.
// This process must have inherited the devices as file descriptors 3 and higher. Serve executes the
// requests that it reads from the file `in`, and returns at the end of this file.
func Serve(subnet string, members int, in, out *os.File) error {
	prefix, err := netip.ParsePrefix(subnet)
	if err != nil || !prefix.Addr().Is4() || prefix.Bits() != 24 || members < 1 || members >= hostByte {
		return fmt.Errorf("%q with %d members is not a valid network; specify an IPv4 subnet such as 198.18.7.0/24 and at most %d members", subnet, members, hostByte-1)
	}
	address := prefix.Addr().As4()
	s := &forwarder{answers: json.NewEncoder(out), startTime: time.Now()}
	s.fabric = newFabric([3]byte(address[:3]), members, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), s.send)
	for _, fd := range append([]int{int(in.Fd())}, devices(members)...) {
		if err := unix.SetNonblock(fd, true); err != nil {
			return fmt.Errorf("cannot use file descriptor %d for the members' network: %w", fd, err)
		}
		s.pollFDs = append(s.pollFDs, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if err := s.answers.Encode(helper.Answer{}); err != nil {
		return err
	}
	for {
		if more, err := s.handleEvents(); !more || err != nil {
			return err
		}
	}
}

// devices returns the file descriptors of the devices. The first is that of this machine's device.
func devices(members int) (all []int) {
	for i := range members + 1 {
		all = append(all, firstDevice+i)
	}
	return all
}

func (s *forwarder) now() int64 { return int64(time.Since(s.startTime)) }

// handleEvents waits until a packet or request arrives or a waiting packet is due, and then handles
// all of them. more is false at the end of the requests.
func (s *forwarder) handleEvents() (more bool, err error) {
	var timeout *unix.Timespec
	if at, waits := s.fabric.next(); waits {
		t := unix.NsecToTimespec(max(at-s.now(), 0))
		timeout = &t
	}
	if _, err := unix.Ppoll(s.pollFDs, timeout, nil); err != nil && err != unix.EINTR {
		return false, fmt.Errorf("the members' network cannot wait for packets: %w", err)
	} else if err != nil {
		return true, nil // the kernel does not set Revents if it returns EINTR
	}
	for i := range s.pollFDs[1:] {
		if s.pollFDs[1+i].Revents != 0 {
			s.forwardFrom(i)
		}
	}
	s.fabric.release(s.now())
	if s.pollFDs[0].Revents == 0 {
		return true, nil
	}
	return s.handleRequests()
}

// forwardFrom forwards packets from one end. The constant `batch` is the maximum number of these
// packets.
func (s *forwarder) forwardFrom(from int) {
	device := &s.pollFDs[1+from]
	for range batch {
		n, err := unix.Read(int(device.Fd), s.packet[:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case err != nil:
			device.Fd = -1 // the namespace was removed; with -1, poll ignores the device
			return
		}
		s.fabric.forward(s.now(), from, s.packet[:n])
	}
}

// send writes a packet to a device. If the device rejects the packet, the packet is lost, as in any
// network.
func (s *forwarder) send(to int, p []byte) { _, _ = unix.Write(int(s.pollFDs[1+to].Fd), p) }

// handleRequests executes the requests that have arrived.
func (s *forwarder) handleRequests() (more bool, err error) {
	n, err := unix.Read(int(s.pollFDs[0].Fd), s.packet[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return true, nil
	case err != nil:
		return false, fmt.Errorf("cannot read a request to the members' network: %w", err)
	case n == 0:
		return false, nil
	}
	s.partialRequest = append(s.partialRequest, s.packet[:n]...)
	for {
		line, rest, complete := bytes.Cut(s.partialRequest, []byte{'\n'})
		if !complete {
			return true, nil
		}
		s.partialRequest = rest
		var r request
		err := json.Unmarshal(line, &r)
		if err == nil {
			err = s.fabric.set(r.Faults)
		}
		if err := s.answers.Encode(helper.NewAnswer(err)); err != nil {
			return false, err
		}
	}
}
