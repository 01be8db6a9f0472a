package network

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// hold is the argument with which the test binary starts a network and then waits until it is
// killed.
const hold = "hold"

// TestMain permits the test binary to run as the forwarding process, or to start a network and
// wait.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == Command:
		members, _ := strconv.Atoi(os.Args[3])
		if err := Serve(os.Args[2], members, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == hold:
		n, err := Start(context.Background(), os.Args[0], []string{"m1", "m2"})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(n.Space(0).Address())
		select {}
	default:
		os.Exit(m.Run())
	}
}

// generous is the time limit of each wait for an event that should happen immediately.
const generous = 30 * time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// joined returns a network with three members. Each member runs a TCP and a UDP echo server on the
// port in the constant `served`.
func joined(t *testing.T) *Network {
	t.Helper()
	if err := CheckSupport(); err != nil {
		t.Skip(err)
	}
	n, err := Start(t.Context(), os.Args[0], []string{"m1", "m2", "m3"})
	must(t, err)
	t.Cleanup(n.Close)
	for i := range 3 {
		echo(t, n.Space(i))
	}
	return n
}

const served = 7000

func echo(t *testing.T, s *Space) {
	t.Helper()
	var tcp net.Listener
	var udp net.PacketConn
	at := net.JoinHostPort(s.Address(), strconv.Itoa(served))
	must(t, s.Run(func() (err error) {
		tcp, err = net.Listen("tcp", at)
		if err == nil {
			udp, err = net.ListenPacket("udp", at)
		}
		return err
	}))
	t.Cleanup(func() { _, _ = tcp.Close(), udp.Close() })
	go func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	go func() {
		b := make([]byte, 2000)
		for {
			k, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(b[:k], from)
		}
	}()
}

// dial opens a connection to a member. The connection starts at another member, or at this machine
// if the parameter `from` is -1.
func (n *Network) dial(t *testing.T, protocol string, from, to int) net.Conn {
	t.Helper()
	var c net.Conn
	connect := func() (err error) {
		fd := unix.SOCK_STREAM
		if protocol == "udp" {
			fd = unix.SOCK_DGRAM
		}
		// The socket must be created on this thread, but a net.Dialer may use another thread.
		s, err := unix.Socket(unix.AF_INET, fd|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(s), "socket")
		defer func() { _ = f.Close() }()
		if err := unix.Connect(s, &unix.SockaddrInet4{Port: served, Addr: n.Space(to).address.As4()}); err != nil {
			return err
		}
		c, err = net.FileConn(f)
		return err
	}
	err := error(nil)
	if from < 0 {
		err = connect()
	} else {
		err = n.Space(from).Run(connect)
	}
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ping sends a word and waits for its echo, but not longer than the given time limit.
func ping(c net.Conn, word string, limit time.Duration) (took time.Duration, err error) {
	began := time.Now()
	_ = c.SetDeadline(began.Add(limit))
	if _, err := c.Write([]byte(word)); err != nil {
		return 0, err
	}
	b := make([]byte, len(word))
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return 0, err
		}
		if string(b) == word {
			return time.Since(began), nil
		}
	}
}

// Members and this machine can exchange messages of any size over TCP and UDP.
func TestMembersReachEachOther(t *testing.T) {
	n := joined(t)
	for from := -1; from < 3; from++ {
		for to := range 3 {
			for protocol, word := range map[string]string{"tcp": strings.Repeat("word", 100_000), "udp": "word"} {
				if _, err := ping(n.dial(t, protocol, from, to), word, generous); err != nil {
					t.Errorf("end %d of the network cannot reach end %d over %s: %v", from, to, protocol, err)
				}
			}
		}
	}
	for _, f := range []Fault{{From: "m1", To: "m4"}, {From: "m9", To: "m1"}} {
		if err := n.Set(t.Context(), []Fault{f}); err == nil || !strings.Contains(err.Error(), "its ends are clients, m1, m2, m3") {
			t.Errorf("a fault of a link with an unknown end returned: %v", err)
		}
	}
}

// quiet is how long a test waits for packets that must not arrive.
const quiet = 300 * time.Millisecond

// A cut link drops packets silently. A TCP connection survives the cut and delivers its data after
// the link is healed.
func TestConnectionSurvivesCutLink(t *testing.T) {
	n := joined(t)
	for _, c := range []struct {
		name   string
		faults []Fault
	}{
		{"both ways", []Fault{{"m1", "m2", Link{Cut: true}}, {"m2", "m1", Link{Cut: true}}}},
		{"there", []Fault{{"m1", "m2", Link{Cut: true}}}},
		{"back", []Fault{{"m2", "m1", Link{Cut: true}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tcp, udp, others := n.dial(t, "tcp", 0, 1), n.dial(t, "udp", 0, 1), n.dial(t, "tcp", 0, 2)
			_, err := ping(tcp, "before", generous)
			must(t, err)
			must(t, n.Set(t.Context(), c.faults))
			for _, conn := range []net.Conn{tcp, udp} {
				if _, err := ping(conn, "lost!!", quiet); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a ping over a cut link returned: %v", err)
				}
			}
			if _, err := ping(others, "others", generous); err != nil {
				t.Errorf("a ping over another link returned: %v", err)
			}
			if _, err := ping(n.dial(t, "tcp", -1, 1), "ours", generous); err != nil {
				t.Errorf("a ping from this machine returned: %v", err)
			}
			must(t, n.Set(t.Context(), nil))
			b := make([]byte, 6)
			_ = tcp.SetDeadline(time.Now().Add(generous))
			if _, err := io.ReadFull(tcp, b); err != nil || string(b) != "lost!!" {
				t.Errorf("after the link was healed, TCP delivered %q, %v", b, err)
			}
			if _, err := ping(udp, "after", generous); err != nil {
				t.Errorf("after the link was healed, a UDP ping returned: %v", err)
			}
		})
	}
}

// A round trip over delayed links takes at least the sum of the delays in both directions. The
// tests of fabric check exact delays.
func TestDelayedLinks(t *testing.T) {
	n := joined(t)
	const late = 100 * time.Millisecond
	for protocol := range map[string]bool{"tcp": true, "udp": true} {
		c := n.dial(t, protocol, -1, 0)
		must(t, n.Set(t.Context(), []Fault{{Clients, "m1", Link{Delay: late}}}))
		if took, err := ping(c, "one way", generous); err != nil || took < late {
			t.Errorf("%s: %s, %v", protocol, took, err)
		}
		must(t, n.Set(t.Context(), []Fault{{Clients, "m1", Link{Delay: late}}, {"m1", Clients, Link{Delay: late}}}))
		if took, err := ping(c, "two ways", generous); err != nil || took < 2*late {
			t.Errorf("%s: %s, %v", protocol, took, err)
		}
	}
}

// A transfer over a link with a rate takes at least the time that results from this rate, without
// counting the data that the two ends buffer.
func TestSlowLossyAndUnorderedLinks(t *testing.T) {
	n := joined(t)
	word := strings.Repeat("x", 400_000)
	for name, l := range map[string]Link{"slow": {Rate: 1_000_000}, "lossy": {Loss: 0.02}, "unordered": {Reorder: 0.1}} {
		must(t, n.Set(t.Context(), []Fault{{"m2", "m3", l}}))
		took, err := ping(n.dial(t, "tcp", 1, 2), word, generous)
		if err != nil || l.Rate > 0 && took < 300*time.Millisecond {
			t.Errorf("%s: %s, %v", name, took, err)
		}
	}
}

// If the forwarding process or the process that started it is killed, no device remains. The
// surviving process exits or reports the reason.
func TestKilledProcessesLeaveNothing(t *testing.T) {
	if err := CheckSupport(); err != nil {
		t.Skip(err)
	}
	t.Run("the forwarder", func(t *testing.T) {
		n, err := Start(t.Context(), os.Args[0], []string{"m1"})
		must(t, err)
		device := deviceOf(t, n.Space(0).address)
		must(t, unix.Kill(n.PID(), unix.SIGKILL))
		if err := n.Set(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("a request to a network whose process was killed returned: %v", err)
		}
		n.Close()
		checkGone(t, device)
	})
	t.Run("the holder", func(t *testing.T) {
		holder := exec.Command(os.Args[0], hold)
		out, err := holder.StdoutPipe()
		must(t, err)
		must(t, holder.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		member, wrong := netip.ParseAddr(strings.TrimSpace(line))
		if err != nil || wrong != nil {
			t.Fatalf("%q, %v", line, err)
		}
		device := deviceOf(t, member)
		must(t, holder.Process.Kill())
		_ = holder.Wait()
		checkGone(t, device)
	})
}

// deviceOf returns the name of this machine's device in a member's subnet.
func deviceOf(t *testing.T, member netip.Addr) string {
	t.Helper()
	all, err := net.Interfaces()
	must(t, err)
	for _, i := range all {
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Masked().Contains(member) {
				return i.Name
			}
		}
	}
	t.Fatal("this machine has no device in the network")
	return ""
}

func checkGone(t *testing.T, device string) {
	t.Helper()
	settle.Eventually(t, device+" is gone", func() bool { _, err := net.InterfaceByName(device); return err != nil })
}

// A request for an impossible network fails with an error of one sentence.
func TestRefusesImpossibleNetworks(t *testing.T) {
	for _, c := range []struct {
		subnet  string
		members int
	}{{"198.18.7.0", 3}, {"198.18.7.0/16", 3}, {"fd00::/24", 3}, {"198.18.7.0/24", 0}, {"198.18.7.0/24", 254}} {
		if err := Serve(c.subnet, c.members, os.Stdin, os.Stdout); err == nil || !strings.Contains(err.Error(), "not a valid network") {
			t.Errorf("%s with %d members: %v", c.subnet, c.members, err)
		}
	}
	if err := refused(fmt.Errorf("x: %w", unix.EPERM)); !strings.Contains(err.Error(), "require root") {
		t.Error(err)
	}
	if err := refused(fmt.Errorf("x: %w", unix.ENOENT)); !strings.Contains(err.Error(), "TUN") {
		t.Error(err)
	}
}

// A subnet is in use if this machine has an address in it or a route to it.
func TestSubnetsInUse(t *testing.T) {
	for subnet, want := range map[string]bool{"127.1.2.0/24": true, "240.0.1.0/24": false} {
		if used, err := inUse(netip.MustParsePrefix(subnet), 0); err != nil || used != want {
			t.Errorf("%s: %v, %v", subnet, used, err)
		}
	}
	n := joined(t)
	s, err := n.Space(0).address.Prefix(24)
	must(t, err)
	if used, err := inUse(s, 0); err != nil || !used {
		t.Errorf("the subnet of an active network is in use: %v, %v", used, err)
	}
}
