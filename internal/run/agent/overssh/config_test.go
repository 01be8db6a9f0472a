package overssh

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// configured returns a target that was completed from a configuration file.
func configured(t *testing.T, to Target, text string) (Target, identities, error) {
	t.Helper()
	to.Access.Config = file(t, "config", text)
	keys, err := to.configure()
	return to, keys, err
}

// A machine's target gets the values in the machine's entry, except for values that the scenario
// specifies.
func TestEntriesOfSSHsConfiguration(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	more := file(t, "more", "Host gen*\n  HostName %h.example.org\n  Port 2200\n")
	text := fmt.Sprintf(`
Include %s
Host db1 db2
  HostName 10.0.0.%%%%1
  User bench
  Port 2222
  IdentityFile ~/.ssh/bench
  IdentityFile "%%d/of %%r at %%h"
Host !db1 *
  User other
  IdentitiesOnly yes
`, more)
	for _, c := range []struct {
		of            Target
		user, address string
		keys          string
	}{
		{Target{Address: "db1"}, "bench", "10.0.0.%1:2222", fmt.Sprintf("{[%s/.ssh/bench %s/of bench at 10.0.0.%%1] false}", home, home)},
		{Target{Address: "db1:22", User: "me"}, "me", "10.0.0.%1:22", fmt.Sprintf("{[%s/.ssh/bench %s/of me at 10.0.0.%%1] false}", home, home)},
		{Target{Address: "gen7"}, "other", "gen7.example.org:2200", "{[] true}"},
		{Target{Address: "2001:db8::1"}, "other", "[2001:db8::1]:22", "{[] true}"},
	} {
		to, keys, err := configured(t, c.of, text)
		if err != nil || to.User != c.user || to.Address != c.address || fmt.Sprint(keys) != c.keys {
			t.Errorf("%s: the user is %s, the address %s and the keys %v, %v", c.of.Address, to.User, to.Address, keys, err)
		}
	}
	to := Target{Address: "db1"}
	if keys, err := to.configure(); err != nil || to.Address != "db1:22" || to.User != "" || len(keys.files) != 0 {
		t.Errorf("without a configuration file, the target is %+v with the keys %v, %v", to, keys, err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte("Port 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	to = Target{Address: "db1"}
	if _, err := to.configure(); err != nil || to.Address != "db1:7" {
		t.Errorf("with a configuration file in the home folder, the target is %+v, %v", to, err)
	}
	to = Target{Address: "db1", Access: Access{Config: NoConfig}}
	if _, err := to.configure(); err != nil || to.Address != "db1:22" {
		t.Errorf("with NoConfig, the target is %+v, %v", to, err)
	}
}

// An unsupported or invalid configuration is rejected with one sentence.
func TestRefusesConfigurations(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for text, want := range map[string]string{
		"Host db1\n  ProxyJump gate\n":    "contains a ProxyJump for db1",
		"ProxyCommand nc %h %p\n":         "contains a ProxyCommand for db1",
		"Host db1\n  Port ssh\n":          `the Port for db1 in `,
		"Host db1\n  HostName %k\n":       "HostName for db1 in ",
		"Host db1\n  IdentityFile %C%\n":  "IdentityFile for db1 in ",
		"Match exec true\n  Port 1\n":     "Match Exec is not supported",
		"Include " + t.TempDir() + "/[\n": "cannot use ssh's configuration: ",
	} {
		_, _, err := configured(t, Target{Address: "db1"}, text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
	to := Target{Address: "db1", Access: Access{Config: filepath.Join(t.TempDir(), "none there")}}
	if _, err := to.configure(); err == nil {
		t.Error("reading a missing configuration file succeeded")
	}
	if _, _, err := configured(t, Target{Address: "db1"}, "Host db1\n  ProxyJump none\n"); err != nil {
		t.Error(err)
	}
}

// A real server is reached by a name that exists only in ssh's configuration.
func TestAnEntryReachesAServer(t *testing.T) {
	s := servers.StartSSH(t, "127.0.0.77")
	to := reachable(t, s)
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	to.Address, to.Access.Identity = "db1", ""
	to.Access.Config = file(t, "config", "Host db1\n  HostName "+host+"\n  Port "+port+"\n  IdentityFile "+s.Identity+"\n  IdentitiesOnly yes\n")
	reached(t, s, to)
	to.Access.Config = file(t, "config", "Host db2\n  HostName "+host+"\n  Port "+port+"\n")
	refused(t, to, "found no key for the login")
}

// For any configuration file, the result is either a target and keys, or an error message of one
// sentence.
func FuzzConfiguration(f *testing.F) {
	for _, text := range []string{"", "Host db1\n  HostName %h\n  Port 22\n", "Match host db1\nUser x\n", "Host \"\n", "Host = \x00\n", "IdentityFile %\n", "Host !\n Port=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "include") {
			t.Skip("an Include reads other files")
		}
		parts, err := decode([]byte(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			return
		}
		e := entry{file: "config", machine: "db1", parts: parts}
		for _, key := range []string{"HostName", "User", "Port"} {
			if v, err := e.expandTokens(key, e.get(key), nil); err == nil && len(v) > len(text) {
				t.Errorf("the expanded value of %s is %q, which is longer than the file", key, v)
			}
		}
		if _, err := e.identities("db1", "me"); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	})
}
