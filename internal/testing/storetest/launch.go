package storetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// TwoMemberSpec returns the specification of a two-member cluster below a folder, for tests that
// call Launch but start nothing.
func TwoMemberSpec(dir string) store.LaunchSpec {
	return store.LaunchSpec{Cluster: "c1", Members: []kv.MemberPlace{
		{Name: "m1", Host: "127.5.6.7", Ports: []int{2001, 2002, 2003, 2004}, Dir: filepath.Join(dir, "m1")},
		{Name: "m2", Host: "127.5.6.7", Ports: []int{2005, 2006, 2007, 2008}, Dir: filepath.Join(dir, "m2")},
	}}
}

// CheckLaunchRefuses checks that Launch refuses invalid specifications, each with an error of a
// single line. It creates each specification with one of the given changes, or with a change that
// no store accepts.
func CheckLaunchRefuses(t *testing.T, st store.Store, spec func(dir string) store.LaunchSpec, changes map[string]func(*store.LaunchSpec)) {
	t.Helper()
	changes["no members"] = func(s *store.LaunchSpec) { s.Members = nil }
	changes["one port"] = func(s *store.LaunchSpec) { s.Members[0].Ports = []int{1} }
	changes["relative folder"] = func(s *store.LaunchSpec) { s.Members[1].Dir = "m2" }
	changes["other settings"] = func(s *store.LaunchSpec) { s.Settings = "x" }
	for name, change := range changes {
		s := spec("/data")
		change(&s)
		if _, err := st.Launch(s); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ServerVersions checks that a store describes the server of its default version, even if the
// version is given with a leading v. The parameter `unknown` is a version that the store must
// refuse.
func ServerVersions(t *testing.T, st store.Store, unknown string) {
	t.Helper()
	known, err := st.Server("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.Server("v" + known.Version)
	if err != nil || s.Version != known.Versions[0] || s.Files == nil {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := st.Server(unknown); err == nil {
		t.Errorf("Server accepted the unknown version %s", unknown)
	}
}
