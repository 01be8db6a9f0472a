//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// HostAddress is the name and address of a host.
type HostAddress struct{ Name, Address string } // an IPv4 address in 198.18.0.0/24

// AssignAddresses assigns an address to each name. The addresses are in the range that RFC 2544
// reserves for benchmarks.
func AssignAddresses(names ...string) (all []HostAddress) {
	for i, name := range names {
		all = append(all, HostAddress{name, fmt.Sprintf("198.18.0.%d", 1+i)})
	}
	return all
}

// OwnAddress is the address of this process in the hosts' network.
const OwnAddress = "198.18.0.254"

// Network is a set of hosts that can reach each other and this process.
type Network struct{ Hosts []*Host }

// Host is a simulated machine with its own network and name. A dedicated thread starts the host's
// processes and lives as long as the host.
type Host struct {
	HostAddress
	work chan func()
	gone chan struct{}
}

// New creates hosts in this process's network namespace, which must not be the machine's own (see
// RestartCommand).
func New(places ...HostAddress) (*Network, error) {
	if !IsRestarted() {
		return nil, errors.New("hosts are created in a separate network namespace, and this process is in its machine's")
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
	bridge.Name = "bridge"
	if err := netlink.LinkAdd(bridge); err != nil {
		return nil, fmt.Errorf("this machine has no bridges: %w", err)
	}
	if err := errors.Join(setLinkUp("lo", ""), setLinkUp(bridge.Name, OwnAddress)); err != nil {
		return nil, err
	}
	n := &Network{}
	for i, p := range places {
		h, err := newHost(p, fmt.Sprintf("port%d", i), bridge.Index)
		if err != nil {
			n.Close()
			return nil, fmt.Errorf("host %s cannot be made: %w", p.Name, err)
		}
		n.Hosts = append(n.Hosts, h)
	}
	return n, nil
}

// setLinkUp activates a link in the network namespace of the current thread. If address is not
// empty, setLinkUp first assigns it to the link.
func setLinkUp(link, address string) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return err
	}
	if address != "" {
		at := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(24, 32)}}
		if err := netlink.AddrAdd(l, at); err != nil {
			return err
		}
	}
	return netlink.LinkSetUp(l)
}

// newHost creates a host and connects it to a port of the bridge.
func newHost(p HostAddress, port string, bridge int) (*Host, error) {
	h := &Host{HostAddress: p, work: make(chan func()), gone: make(chan struct{})}
	made := make(chan error)
	go h.runThread(made)
	if err := <-made; err != nil {
		return nil, err
	}
	var network *os.File
	err := h.runOnThread(func() (err error) {
		network, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err == nil {
		link := &netlink.Veth{LinkAttrs: netlink.NewLinkAttrs(), PeerName: "eth0", PeerNamespace: netlink.NsFd(network.Fd())}
		link.Name, link.MasterIndex = port, bridge
		err = errors.Join(netlink.LinkAdd(link), network.Close())
	}
	if err == nil {
		err = setLinkUp(port, "")
	}
	if err == nil {
		err = h.runOnThread(func() error { return errors.Join(setLinkUp("lo", ""), setLinkUp("eth0", p.Address)) })
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// runThread moves the current thread into new namespaces for the host, and runs the functions from
// the channel h.work there until the host is closed. Then the thread ends, and the host's processes
// end with it.
func (h *Host) runThread(started chan<- error) {
	runtime.LockOSThread() // unlocked only on the process's first thread
	if unix.Gettid() == os.Getpid() {
		// /proc shows the namespaces of the process's first thread, and that thread never ends. So
		// this goroutine only locks the first thread while a new goroutine runs runThread on
		// another thread.
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.runThread(started)
		}()
		<-done
		runtime.UnlockOSThread()
		return
	}
	defer close(h.gone)
	err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWUTS)
	if err == nil {
		err = unix.Sethostname([]byte(h.Name))
	}
	started <- err
	if err != nil {
		return
	}
	for work := range h.work {
		work()
	}
}

// runOnThread runs a function on the host's thread.
func (h *Host) runOnThread(work func() error) error {
	done := make(chan error)
	h.work <- func() { done <- work() }
	return <-done
}

// Start starts a process on the host. The kernel kills the process when the host is closed or this
// process ends.
func (h *Host) Start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return h.runOnThread(c.Start)
}

// Limit limits the rate of the host's outgoing traffic, in bytes per second, until Unlimit is
// called.
func (h *Host) Limit(perSecond uint64) error {
	return h.withQdisc(func(q netlink.QdiscAttrs) error {
		const burst, waiting = 8 << 10, 1 << 20 // bytes
		return netlink.QdiscAdd(&netlink.Tbf{QdiscAttrs: q, Rate: perSecond, Buffer: netlink.Xmittime(perSecond, burst), Limit: waiting})
	})
}

// Unlimit removes the limit.
func (h *Host) Unlimit() error {
	return h.withQdisc(func(q netlink.QdiscAttrs) error { return netlink.QdiscDel(&netlink.Tbf{QdiscAttrs: q}) })
}

// withQdisc calls the function `what` with the attributes of the queueing discipline for the host's
// outgoing traffic.
func (h *Host) withQdisc(what func(netlink.QdiscAttrs) error) error {
	return h.runOnThread(func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return what(netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT})
	})
}

func (h *Host) close() {
	close(h.work)
	<-h.gone
}

// Close closes the hosts and thereby ends their processes. It must be called only once.
func (n *Network) Close() {
	for _, h := range n.Hosts {
		h.close()
	}
}
