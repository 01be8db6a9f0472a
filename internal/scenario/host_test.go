package scenario

import "testing"

func TestAddressesOverSSH(t *testing.T) {
	for address, want := range map[string][2]string{
		"db1":                    {"", "db1"},
		"db1.example.org:2222":   {"", "db1.example.org:2222"},
		"bench@10.0.0.1":         {"bench", "10.0.0.1"},
		"bench@corp@db_1:22":     {"bench@corp", "db_1:22"},
		"[2001:db8::1]":          {"", "2001:db8::1"},
		"2001:db8::1":            {"", "2001:db8::1"},
		"bench@[2001:db8::1]:23": {"bench", "[2001:db8::1]:23"},
	} {
		h := Host{Name: "a", Address: address, Transport: TransportSSH}
		if user, at, err := h.SSHAddress(); err != nil || [2]string{user, at} != want {
			t.Errorf("%s: %q at %q, %v", address, user, at, err)
		}
	}
	for _, address := range []string{
		"", "@db1", "a b@db1", "a\n@db1", "db1:", "db1:0", "db1:65536", "db1:ssh", ":22", "-oProxyCommand=x", "db1;x", "db1:22:22", "[::1", "a/b",
	} {
		h := Host{Name: "a", Address: address, Transport: TransportSSH}
		if _, _, err := h.SSHAddress(); err == nil {
			t.Errorf("SSHAddress accepts %q", address)
		}
	}
}
