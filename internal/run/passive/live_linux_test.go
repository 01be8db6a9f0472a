package passive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// opened collects the packets of a listener's port.
func opened(t *testing.T, l net.Listener, room int) *Packets {
	t.Helper()
	p, err := openRoom(uint16(l.Addr().(*net.TCPAddr).Port), room)
	if err != nil {
		t.Skipf("this machine does not permit capturing packets: %v", err)
	}
	return p
}

// served captures packets until stop is called.
func served(t *testing.T, p *Packets, cfg CaptureConfig) (a *tableRecorder, stop func() *Capture) {
	t.Helper()
	a = newTableRecorder()
	cfg.Tap, cfg.StartTime = TapConfig{Provider: a, Sink: a}, time.Now()
	c := NewCapture(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx, p) }()
	stop = sync.OnceValue(func() *Capture {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		return c
	})
	t.Cleanup(func() { stop() })
	return a, stop
}

// echo starts a server that echoes each connection's input until the input ends.
func echo(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this machine cannot listen at %s: %v", address, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l
}

// sendAndAwaitEcho sends text to an echo server and waits for the echo.
func sendAndAwaitEcho(t *testing.T, c net.Conn, text []byte) {
	t.Helper()
	go func() { _, _ = c.Write(text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, text) {
		t.Error("the echo differs from the sent bytes:", err)
	}
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Every byte on many concurrent connections is captured in order, in both directions, over IPv4 and
// IPv6.
func TestCapturedBytesAreDecoded(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			l := echo(t, address)
			a, stop := served(t, opened(t, l, bufferBytes), CaptureConfig{Hosts: []netip.Addr{l.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap()}})
			const conns = 20
			texts := map[string]bool{}
			var speak sync.WaitGroup
			for i := range conns {
				rng := rand.New(rand.NewPCG(uint64(i), 2))
				text := []byte(fmt.Sprintf("connection %d ", i))
				for n := 1 + rng.IntN(1<<20); len(text) < n; {
					text = append(text, byte('a'+rng.IntN(26)))
				}
				texts[string(text)] = true
				c := dial(t, l)
				speak.Go(func() {
					for rest := text; len(rest) > 0; {
						n := min(1+rng.IntN(200_000), len(rest))
						sendAndAwaitEcho(t, c, rest[:n])
						rest = rest[n:]
					}
					_ = c.Close()
				})
			}
			speak.Wait()
			if got := stop().Summary(); got.Connections != conns || got.AlreadyOpen != 0 || len(got.OtherAddresses) != 0 || len(a.gaps) > 0 {
				t.Errorf("%+v, gaps: %v", got, a.gaps)
			}
			for n, h := range a.conns {
				if !texts[string(h.received[clientSide])] || !bytes.Equal(h.received[clientSide], h.received[serverSide]) || h.endCount != 1 {
					t.Errorf("connection %d: %d and %d bytes were decoded, and the connection ended %d times", n, len(h.received[clientSide]), len(h.received[serverSide]), h.endCount)
				}
			}
		})
	}
}

// A connection whose beginning was not captured is not decoded.
func TestConnectionsOpenBeforeTheCaptureAreReported(t *testing.T) {
	l := echo(t, "127.0.0.1:0")
	before := dial(t, l)
	sendAndAwaitEcho(t, before, []byte("one"))
	a, stop := served(t, opened(t, l, bufferBytes), CaptureConfig{})
	sendAndAwaitEcho(t, before, []byte("two"))
	sendAndAwaitEcho(t, dial(t, l), []byte("three"))
	if got := stop().Summary(); got.Connections != 2 || got.AlreadyOpen != 1 || a.endReason(1) != reasonAlreadyOpen || len(a.gaps) != 1 {
		t.Errorf("%+v, gaps: %v", got, a.gaps)
	}
	if h := a.conns[2]; h == nil || string(h.received[serverSide]) != "three" {
		t.Errorf("decoded: %v", a.conns)
	}
}

// Lost packets are reported, and the rest of the affected connections is not decoded.
func TestLostPacketsAreReported(t *testing.T) {
	l := echo(t, "127.0.0.1:0")
	p := opened(t, l, 2*blockSize)
	c := dial(t, l)
	sendAndAwaitEcho(t, c, bytes.Repeat([]byte("x"), 4<<20))
	a, stop := served(t, p, CaptureConfig{})
	for known := false; !known; { // the ring has space again when the first packets have been read
		sendAndAwaitEcho(t, c, []byte("more"))
		select {
		case <-a.firstLost:
			known = true
		default:
		}
	}
	stop()
	missing := false
	for _, g := range a.gaps {
		missing = missing || g.Conn == 0 && strings.Contains(g.Reason, "could not be read in time")
	}
	if !missing || a.endReason(1) != reasonPacketMissing || a.conns[1].endCount != 1 {
		t.Errorf("the gaps are %v, and the connection ended %d times", a.gaps, a.conns[1].endCount)
	}
	if n := len(a.conns[1].received[clientSide]); n == 0 || n >= 4<<20 {
		t.Errorf("%d bytes were decoded", n)
	}
}

// An endless stream of packets does not prevent a capture from ending.
func TestCaptureEndsDuringEndlessPackets(t *testing.T) {
	l := echo(t, "127.0.0.1:0")
	a, stop := served(t, opened(t, l, 8*blockSize), CaptureConfig{})
	ended := make(chan struct{})
	var speak sync.WaitGroup
	defer speak.Wait()
	defer close(ended)
	for range 4 {
		c := dial(t, l)
		speak.Go(func() {
			text := bytes.Repeat([]byte("x"), 10_000)
			for {
				select {
				case <-ended:
					return
				default:
					sendAndAwaitEcho(t, c, text)
				}
			}
		})
	}
	<-a.firstFed
	stop() // must return
}

// The capture reports other addresses at which the port is used.
func TestCapturingAnUnusedAddress(t *testing.T) {
	l := echo(t, "127.0.0.1:0")
	_, stop := served(t, opened(t, l, bufferBytes), CaptureConfig{Hosts: []netip.Addr{netip.MustParseAddr("10.1.2.3")}})
	sendAndAwaitEcho(t, dial(t, l), []byte("one"))
	if got := stop().Summary(); got.Connections != 0 || len(got.OtherAddresses) != 1 || got.OtherAddresses[0] != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%+v", got)
	}
}

// A thread can lower its priority and then restore its original scheduling.
func TestThreadPriorityIsLoweredAndRestored(t *testing.T) {
	if !CanRestorePriority() {
		t.Skip("this process may not restore the priority of a thread")
	}
	policy := func() uint32 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Policy
	}
	before := policy()
	var p priority
	p.setIdle(true)
	if got := policy(); got != unix.SCHED_IDLE {
		t.Errorf("the scheduling policy is %d, want SCHED_IDLE", got)
	}
	p.setIdle(false)
	if got := policy(); got != before {
		t.Errorf("the scheduling policy is %d, want the original %d", got, before)
	}
}
