package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Space is a member's network namespace.
type Space struct {
	address netip.Addr
	handle  *os.File
}

// Address is the member's in it.
func (s *Space) Address() string { return s.address.String() }

// close lets the namespace go, which is there until its last process has ended.
func (s *Space) close() { _ = s.handle.Close() }

// In does something in the namespace: sockets that are made and processes that are
// started belong to it.
func (s *Space) In(what func() error) (err error) {
	OnThread(func() {
		err = away(func() error { return unix.Setns(int(s.handle.Fd()), unix.CLONE_NEWNET) }, what)
	})
	return err
}

// OnThread does something on a thread that has nothing else to do meanwhile. It is not
// the process's first, whose namespaces /proc shows as the process's.
func OnThread(what func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != os.Getpid() {
		what()
		return
	}
	done := make(chan struct{})
	go func() { // on another thread, while we have this one
		defer close(done)
		OnThread(what)
	}()
	<-done
}

// ownNetwork is the thread's namespace.
const ownNetwork = "/proc/thread-self/ns/net"

// away has the thread go to another namespace, do something there, and come back.
func away(leave, what func() error) error {
	own, err := os.Open(ownNetwork)
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	if err := leave(); err != nil {
		return err
	}
	err = what()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		runtime.LockOSThread() // nobody else may have the thread: it ends with this goroutine
		return errors.Join(err, fmt.Errorf("a thread does not come back from a member's network: %w", back))
	}
	return err
}

// made are the devices of a network: this machine's, and the members'.
type made struct {
	subnet string
	files  []*os.File // this machine's first
	spaces []*Space
}

func (m *made) closeFiles() {
	for _, f := range m.files {
		_ = f.Close()
	}
}

// attempts bounds the search for a subnet: others may look for one at the same time.
const attempts = 50

// newDevices makes the devices of a network of so many members.
func newDevices(members int) (*made, error) {
	m := &made{}
	if err := m.all(members); err != nil {
		m.closeFiles()
		(&Network{spaces: m.spaces}).closeSpaces()
		return nil, refused(err)
	}
	return m, nil
}

// all makes them. Those that it made are there when it fails, too.
func (m *made) all(members int) error {
	subnet, err := m.join(rand.IntN)
	if err != nil {
		return err
	}
	m.subnet = subnet.String()
	for i := range members {
		s := &Space{address: place(subnet, i+1)}
		var device *os.File
		OnThread(func() {
			err = away(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() (err error) {
				if s.handle, err = os.Open(ownNetwork); err != nil {
					return err
				}
				m.spaces = append(m.spaces, s)
				if err := configure("lo", netip.Addr{}); err != nil {
					return err
				}
				device, _, err = newDevice("eth0", s.address)
				return err
			})
		})
		if device != nil {
			m.files = append(m.files, device)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// join makes this machine's device, in a subnet that nothing here is in.
func (m *made) join(pick func(n int) int) (netip.Prefix, error) {
	for range attempts {
		n := pick(512) // 198.18.0.0/15 has so many
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + n/256), byte(n), 0}), 24)
		if used, err := inUse(subnet, 0); err != nil || used {
			if err != nil {
				return subnet, err
			}
			continue
		}
		device, index, err := newDevice("quorumbench%d", place(subnet, ourPlace))
		if err != nil {
			return subnet, err
		}
		used, err := inUse(subnet, index)
		if err == nil && !used {
			m.files = append(m.files, device)
			return subnet, nil
		}
		_ = device.Close() // somebody took it at the same time
		if err != nil {
			return subnet, err
		}
	}
	return netip.Prefix{}, errors.New("the members' network finds no part of 198.18.0.0/15 that this machine does not use")
}

// place is an address of the subnet.
func place(subnet netip.Prefix, last int) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = byte(last)
	return netip.AddrFrom4(a)
}

// queueLength is how many packets wait for us at a device, where we may say so; else
// they are 500.
const queueLength = 10_000

// newDevice makes a device in the thread's namespace, gives it an address of a subnet
// of 256, and begins to use it. It is there until its file is closed.
func newDevice(name string, at netip.Addr) (file *os.File, index int, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("the device /dev/net/tun: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	r, err := unix.NewIfreq(name)
	if err != nil {
		return nil, 0, err
	}
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		return nil, 0, fmt.Errorf("a device of the members' network: %w", err)
	}
	if err := configure(r.Name(), at); err != nil {
		return nil, 0, err
	}
	is, err := ask(r.Name(), unix.SIOCGIFINDEX, nil)
	if err != nil {
		return nil, 0, err
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), int(is.Uint32()), nil
}

// configure gives a device of the thread's namespace an address, if there is one, and
// begins to use it.
func configure(name string, at netip.Addr) error {
	r, err := ask(name, unix.SIOCGIFFLAGS, nil)
	if err != nil {
		return err
	}
	steps := []step{{unix.SIOCSIFFLAGS, func(is *unix.Ifreq) error { is.SetUint16(r.Uint16() | unix.IFF_UP); return nil }}}
	if at.IsValid() {
		steps = append([]step{
			{unix.SIOCSIFADDR, func(is *unix.Ifreq) error { return is.SetInet4Addr(at.AsSlice()) }},
			{unix.SIOCSIFNETMASK, func(is *unix.Ifreq) error { return is.SetInet4Addr([]byte{255, 255, 255, 0}) }},
		}, steps...)
		// In a user namespace it has to stay as it is.
		_, _ = ask(name, unix.SIOCSIFTXQLEN, func(is *unix.Ifreq) error { is.SetUint32(queueLength); return nil })
	}
	for _, s := range steps {
		if _, err := ask(name, s.request, s.fill); err != nil {
			return err
		}
	}
	return nil
}

// step is one request to the system about a device.
type step struct {
	request uint
	fill    func(*unix.Ifreq) error
}

// ask has the system do something with a device of the thread's namespace, or say
// something of it.
func ask(name string, request uint, fill func(*unix.Ifreq) error) (*unix.Ifreq, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	r, err := unix.NewIfreq(name)
	if err == nil && fill != nil {
		err = fill(r)
	}
	if err == nil {
		err = unix.IoctlIfreq(fd, request, r)
	}
	if err != nil {
		return nil, fmt.Errorf("the device %s of the members' network: %w", name, err)
	}
	return r, nil
}

// inUse reports whether an address or a route of this machine is in the subnet, but for
// those of a device, or the subnet is in one that is neither the default route nor one of
// the halves that VPNs set in its place.
func inUse(subnet netip.Prefix, but int) (bool, error) {
	b, err := syscall.NetlinkRIB(syscall.RTM_GETROUTE, syscall.AF_INET)
	if err != nil {
		return false, fmt.Errorf("this machine's routes cannot be read: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return false, fmt.Errorf("this machine's routes cannot be read: %w", err)
	}
	for i := range messages {
		if to, device := routeOf(&messages[i]); device != but && to.Bits() > 1 && to.Overlaps(subnet) {
			return true, nil
		}
	}
	return false, nil
}

// routeOf is where a route leads, and its device.
func routeOf(m *syscall.NetlinkMessage) (to netip.Prefix, device int) {
	const lengthAt = 1 // of the destination, in bits, in struct rtmsg
	if m.Header.Type != syscall.RTM_NEWROUTE || len(m.Data) <= lengthAt {
		return to, 0
	}
	attributes, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil {
		return to, 0
	}
	for _, a := range attributes {
		switch {
		case a.Attr.Type == syscall.RTA_DST && len(a.Value) == 4:
			to = netip.PrefixFrom(netip.AddrFrom4([4]byte(a.Value)), int(m.Data[lengthAt]))
		case a.Attr.Type == syscall.RTA_OIF && len(a.Value) == 4:
			device = int(binary.NativeEndian.Uint32(a.Value))
		}
	}
	return to, device
}

// refused makes a sentence of an error that says that this machine does not allow it.
func refused(err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("faults of the network need root, or a network of one's own in which that may be done, as by unshare --map-root-user --net: %w", err)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("faults of the network need TUN devices, which this machine does not have: %w", err)
	}
	return err
}
