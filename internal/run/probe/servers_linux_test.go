package probe

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

// A listening server is found through any name of this machine, whether the server listens on all
// addresses or on one address.
func TestFindServers(t *testing.T) {
	listen := func(network, at string) (port string) {
		l, err := net.Listen(network, at)
		if err != nil {
			t.Skipf("this machine cannot listen at %s: %v", at, err)
		}
		t.Cleanup(func() { _ = l.Close() })
		_, port, _ = net.SplitHostPort(l.Addr().String())
		return port
	}
	one, every := listen("tcp4", "127.0.0.1:0"), listen("tcp", ":0")
	endpoints := []string{"127.0.0.1:" + one, "localhost:" + one, "127.0.0.1:" + every, "127.0.0.3:" + every, "127.0.0.3:" + one, "192.0.2.1:" + one, "no endpoint", "127.0.0.1:x"}
	for _, ip := range ownAddresses() {
		if ip.Is4() && !ip.IsLoopback() {
			endpoints = append(endpoints, netip.AddrPortFrom(ip, 0).Addr().String()+":"+every)
		}
	}
	for i, l := range FindServers(t.Context(), endpoints) {
		here, ours := i < 5 || i >= 8, i < 4 || i >= 8
		if l.IsLocal != here || (l.PID == os.Getpid()) != ours || !ours && l.PID != 0 || l.IsForwarder() {
			t.Errorf("%s: %+v", endpoints[i], l)
		}
	}
}

func TestParseListener(t *testing.T) {
	for line, want := range map[string]string{
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0":                                    "127.0.0.1:8080 4711",
		"   1: 00000000000000000000000001000000:094B 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12 1 0000000000000000 100 0 0 10 0": "[::1]:2379 12",
		"   2: 0000000000000000FFFF00000100007F:094B 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 13 1 0000000000000000 100 0 0 10 0": "127.0.0.1:2379 13",
		"   3: 0100007F:1F90 0100007F:0001 01 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0":                                    "",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode":                                                                   "",
		"": "", "0: x:y 0 0A 0 0 0 0 0 1": "",
	} {
		at, inode, ok := parseListener(line)
		if got := at.String() + " " + inode; ok != (want != "") || ok && got != want {
			t.Errorf("%q is %s (%v), want %s", line, got, ok, want)
		}
	}
}
