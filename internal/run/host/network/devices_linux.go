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

// Space is the network namespace of one member.
type Space struct {
	address netip.Addr
	handle  *os.File
}

// Address returns the member's IP address in the namespace.
func (s *Space) Address() string { return s.address.String() }

// close closes our handle to the namespace. The namespace continues to exist until its last process
// has exited.
func (s *Space) close() { _ = s.handle.Close() }

// Run calls the function `do` on a thread in the namespace. Sockets and processes that the function
// creates belong to the namespace.
func (s *Space) Run(do func() error) (err error) {
	RunOnThread(func() {
		err = runInNamespace(func() error { return unix.Setns(int(s.handle.Fd()), unix.CLONE_NEWNET) }, do)
	})
	return err
}

// RunOnThread calls the function `do` on a locked thread. It never uses the process's main thread,
// because /proc shows the namespaces of the main thread as those of the whole process.
func RunOnThread(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != os.Getpid() {
		do()
		return
	}
	done := make(chan struct{})
	go func() { // uses another thread, because this goroutine has locked the main thread
		defer close(done)
		RunOnThread(do)
	}()
	<-done
}

// ownNetwork is the network namespace of the current thread.
const ownNetwork = "/proc/thread-self/ns/net"

// runInNamespace calls the function `enter`, which moves the thread to another namespace. It then
// calls the function `do` there, and moves the thread back.
func runInNamespace(enter, do func() error) error {
	own, err := os.Open(ownNetwork)
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }()
	if err := enter(); err != nil {
		return err
	}
	err = do()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		runtime.LockOSThread() // the thread must exit with this goroutine, because no other goroutine may use it
		return errors.Join(err, fmt.Errorf("a thread cannot return from a member's network namespace: %w", back))
	}
	return err
}

// deviceSet contains the devices of a network: the device of this machine and the device in each
// member's namespace.
type deviceSet struct {
	subnet string
	files  []*os.File // one for each device; the first is this machine's device
	spaces []*Space
}

func (m *deviceSet) closeFiles() {
	for _, f := range m.files {
		_ = f.Close()
	}
}

// attempts is the maximum number of subnets that are tried. An attempt can fail because another
// process takes the same subnet at the same time.
const attempts = 50

// newDeviceSet creates the devices of a network with the given number of members.
func newDeviceSet(members int) (*deviceSet, error) {
	m := &deviceSet{}
	if err := m.create(members); err != nil {
		m.closeFiles()
		(&Network{spaces: m.spaces}).closeSpaces()
		return nil, refused(err)
	}
	return m, nil
}

// create creates the devices. If it fails, m contains the devices that were already created.
func (m *deviceSet) create(members int) error {
	subnet, err := m.createHostDevice(rand.IntN)
	if err != nil {
		return err
	}
	m.subnet = subnet.String()
	for i := range members {
		s := &Space{address: addressAt(subnet, i+1)}
		var device *os.File
		RunOnThread(func() {
			err = runInNamespace(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() (err error) {
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

// createHostDevice creates this machine's device in a subnet that this machine does not use yet.
func (m *deviceSet) createHostDevice(pick func(n int) int) (netip.Prefix, error) {
	for range attempts {
		n := pick(512) // the number of /24 subnets in 198.18.0.0/15
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + n/256), byte(n), 0}), 24)
		if used, err := inUse(subnet, 0); err != nil || used {
			if err != nil {
				return subnet, err
			}
			continue
		}
		device, index, err := newDevice("quorumbench%d", addressAt(subnet, hostByte))
		if err != nil {
			return subnet, err
		}
		used, err := inUse(subnet, index)
		if err == nil && !used {
			m.files = append(m.files, device)
			return subnet, nil
		}
		_ = device.Close() // another process took the same subnet at the same time
		if err != nil {
			return subnet, err
		}
	}
	return netip.Prefix{}, errors.New("the members' network requires a /24 subnet in 198.18.0.0/15 that this machine does not use, but no such subnet was found")
}

// addressAt returns the address that is in the given subnet and has the given last byte.
func addressAt(subnet netip.Prefix, last int) netip.Addr {
	a := subnet.Addr().As4()
	a[3] = byte(last)
	return netip.AddrFrom4(a)
}

// queueLength is the maximum number of packets that wait at a device until we read them. If we lack
// the permission to set this length, the kernel's default of 500 applies.
const queueLength = 10_000

// newDevice creates a device in the thread's network namespace, assigns it the address with a
// 24-bit mask, and brings it up. The device exists until the returned file is closed.
func newDevice(name string, address netip.Addr) (file *os.File, index int, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot open the device /dev/net/tun: %w", err)
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
		return nil, 0, fmt.Errorf("cannot create a device for the members' network: %w", err)
	}
	if err := configure(r.Name(), address); err != nil {
		return nil, 0, err
	}
	is, err := ioctl(r.Name(), unix.SIOCGIFINDEX, nil)
	if err != nil {
		return nil, 0, err
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), int(is.Uint32()), nil
}

// configure brings up a device in the thread's network namespace. If the address is valid,
// configure first assigns it to the device.
func configure(name string, address netip.Addr) error {
	r, err := ioctl(name, unix.SIOCGIFFLAGS, nil)
	if err != nil {
		return err
	}
	steps := []step{{unix.SIOCSIFFLAGS, func(is *unix.Ifreq) error { is.SetUint16(r.Uint16() | unix.IFF_UP); return nil }}}
	if address.IsValid() {
		steps = append([]step{
			{unix.SIOCSIFADDR, func(is *unix.Ifreq) error { return is.SetInet4Addr(address.AsSlice()) }},
			{unix.SIOCSIFNETMASK, func(is *unix.Ifreq) error { return is.SetInet4Addr([]byte{255, 255, 255, 0}) }},
		}, steps...)
		// In a user namespace, this is not permitted, and the kernel's default remains.
		_, _ = ioctl(name, unix.SIOCSIFTXQLEN, func(is *unix.Ifreq) error { is.SetUint32(queueLength); return nil })
	}
	for _, s := range steps {
		if _, err := ioctl(name, s.request, s.fill); err != nil {
			return err
		}
	}
	return nil
}

// step is one ioctl on a device.
type step struct {
	request uint
	fill    func(*unix.Ifreq) error
}

// ioctl performs an ioctl on a device in the thread's network namespace and returns the result.
func ioctl(name string, request uint, fill func(*unix.Ifreq) error) (*unix.Ifreq, error) {
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
		return nil, fmt.Errorf("cannot configure the device %s for the members' network: %w", name, err)
	}
	return r, nil
}

// inUse reports whether the subnet overlaps an address or route of this machine. It ignores routes
// through the device with the index ignoredDevice, the default route, and the pair of /1 routes
// with which VPNs replace the default route.
func inUse(subnet netip.Prefix, ignoredDevice int) (bool, error) {
	b, err := syscall.NetlinkRIB(syscall.RTM_GETROUTE, syscall.AF_INET)
	if err != nil {
		return false, fmt.Errorf("cannot read this machine's routes: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return false, fmt.Errorf("cannot read this machine's routes: %w", err)
	}
	for i := range messages {
		if to, device := routeOf(&messages[i]); device != ignoredDevice && to.Bits() > 1 && to.Overlaps(subnet) {
			return true, nil
		}
	}
	return false, nil
}

// routeOf returns the destination and the device of a route.
func routeOf(m *syscall.NetlinkMessage) (to netip.Prefix, device int) {
	const lengthAt = 1 // offset of the destination's prefix length in struct rtmsg
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

// refused adds an explanation to an error if the error shows that this machine does not permit or
// support networks for members.
func refused(err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("network faults require root, or separate user and network namespaces (for example, run under unshare --map-root-user --net): %w", err)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("network faults require TUN devices, which this machine does not have: %w", err)
	}
	return err
}
