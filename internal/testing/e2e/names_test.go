//go:build linux

package e2e_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a DNS server. While the field `knows` is true, it answers each query with the same
// address. After the test has set `knows` to false, it answers that the name does not exist or, if
// `mute` is set, sends no answer.
type nameServer struct {
	address [4]byte
	knows   atomic.Bool
	mute    bool // send no answer while knows is false
}

// serve answers queries at port 53 of an address until the test ends.
func (n *nameServer) serve(t *testing.T, address string) {
	t.Helper()
	socket, err := net.ListenPacket("udp", net.JoinHostPort(address, "53"))
	if err != nil {
		t.Skipf("the test cannot start a name server: %v", err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		b := make([]byte, 1<<16)
		for {
			size, from, err := socket.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := n.answer(b[:size]); reply != nil {
				_, _ = socket.WriteTo(reply, from) // after an error, the client repeats its query
			}
		}
	}()
}

func (n *nameServer) answer(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	switch {
	case !n.knows.Load() && n.mute:
		return nil
	case !n.knows.Load():
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: n.address},
		}}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}

// TestKeysAreRemovedWhenNamesNoLongerResolve checks that a run removes its keys even if the names
// of its endpoints can no longer be resolved after the load has begun.
func TestKeysAreRemovedWhenNamesNoLongerResolve(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 || exec.Command(unshare, "--mount", "true").Run() != nil {
		t.Skip("the names of a mount namespace need unshare and root")
	}
	var addresses atomic.Int32
	eachUsed(t, func(t *testing.T, w *world, u *inUse) {
		of, port, _ := net.SplitHostPort(u.endpoint)
		names := &nameServer{address: [4]byte(net.ParseIP(of).To4()), mute: u.store == "etcd"}
		names.knows.Store(true)
		address := net.IPv4(127, 53, 0, byte(addresses.Add(1))).String()
		names.serve(t, address)
		resolver := w.file(t, "resolv.conf", "nameserver "+address+"\n")
		before := u.read(t)
		real, err := filepath.EvalSymlinks("/etc/resolv.conf")
		if err != nil {
			t.Skip(err)
		}
		w.env = append(w.env, "GODEBUG=netdns=go")
		p := w.startWith(t, unshare, "--mount", "sh", "-c", `mount --bind "$1" "$2" && shift 2 && exec "$@"`, "sh", resolver, real,
			os.Getenv(binaryEnv), "bench", "put", "--store", u.store, "--endpoints", "store.example.:"+port, "--duration", "1s", "--rate", "200", "--out", w.path("run"))
		p.awaitText(t, "measuring")
		names.knows.Store(false)
		p.exits(t, exitDone)
		if said := p.stderr.String(); !strings.Contains(said, "the cluster no longer contains anything from this run") {
			t.Errorf("the output is %q", said)
		}
		u.unchanged(t, before, p.args)
	})
}
