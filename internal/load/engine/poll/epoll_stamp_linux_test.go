package poll

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/certs"
)

// The system's time stamp is between the write call and the end of the read call, with and
// without TLS.
func TestArrivalIsStamped(t *testing.T) {
	server, client := certs.Configs(t)
	for name, secured := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			d := Dialer{Timeout: time.Minute}
			conf := func(c net.Conn) net.Conn { return c }
			if secured {
				d.TLS = client
				conf = func(c net.Conn) net.Conn { return tls.Server(c, server) }
			}
			p, err := NewPoller(1, time.Now(), d)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			// The peer returns each byte.
			go echo(listener, conf)
			p.Dial(0, listener.Addr().String())
			await(t, p, Dialed)
			// The system starts stamping packets shortly after the first socket has requested
			// stamps.
			for range 100_000 {
				before := p.Now()
				if n, err := p.Write(0, []byte{1}); n != 1 || err != nil {
					t.Fatal(n, err)
				}
				lag := int64(-1)
				for n := 0; n == 0; {
					await(t, p, Readable)
					var err error
					if n, lag, err = p.(TimestampPoller).ReadStamped(0, make([]byte, 100)); err != nil && err != ErrAgain {
						t.Fatal(err)
					}
				}
				took := p.Now() - before
				if lag > took {
					t.Errorf("the reply arrived %d ns ago, but was requested %d ns ago", lag, took)
				}
				if lag >= 0 {
					return
				}
			}
			t.Error("no reply has a receive time stamp")
		})
	}
}

// await waits until the connection is ready.
func await(t *testing.T, p Poller, what ReadyReason) {
	t.Helper()
	for until := p.Now() + 60*secondNS; p.Now() < until; {
		for _, r := range p.Wait(until, nil) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if r.Reason == what {
				return
			}
		}
	}
	t.Fatal("no connection was ready")
}

// echo accepts one connection and returns each byte.
func echo(l net.Listener, conf func(net.Conn) net.Conn) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	c = conf(c)
	defer func() { _ = c.Close() }()
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}
