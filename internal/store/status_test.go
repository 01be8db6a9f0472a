package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

func TestAskAll(t *testing.T) {
	members := []Member{
		{Name: "a", Version: "1", Term: 3}, {Name: "b", Err: errors.New("b is dead")},
		{Name: "c", Version: "2", Term: 5}, {Name: "d", Version: "1", Term: 4},
	}
	s, err := AskAll(len(members), func(i int) Member { return members[i] })
	if err != nil || s.Version != "1, 2" || s.Term != 5 || len(s.Members) != 4 || s.Members[3].Name != "d" {
		t.Errorf("%+v %v", s, err)
	}
	_, err = AskAll(2, func(i int) Member { return Member{Err: errors.New([]string{"one", "two"}[i])} })
	if err == nil || err.Error() != "one; two" {
		t.Error(err)
	}
}

func TestTimeout(t *testing.T) {
	if (Access{}).Timeout() != 5*time.Second || (Access{DialTimeout: time.Second}).Timeout() != time.Second {
		t.Error("Timeout does not return the default of 5 s or the given dial timeout")
	}
}

type wish struct {
	PlainSettings `yaml:"-"`

	N int
}

func (w *wish) Check() error {
	if w.N < 0 {
		return errors.New("N is negative")
	}
	return nil
}

func TestSettings(t *testing.T) {
	of := func(n int) func(any) error {
		return func(into any) error {
			into.(*wish).N = n
			return nil
		}
	}
	if v, err := DecodeSettings[wish](nil); err != nil || v.(*wish).N != 0 {
		t.Errorf("%v %v", v, err)
	}
	if v, err := DecodeSettings[wish](of(7)); err != nil || v.(*wish).N != 7 {
		t.Errorf("%v %v", v, err)
	}
	if v, err := DecodeSettings[wish](of(-1)); err == nil || v != nil {
		t.Errorf("%v %v", v, err)
	}
	if v, err := DecodeSettings[wish](func(any) error { return errors.New("no YAML") }); err == nil || v != nil {
		t.Errorf("%v %v", v, err)
	}
	if s, err := SettingsOf[wish](nil); err != nil || s.N != 0 {
		t.Errorf("%v %v", s, err)
	}
	if s, err := SettingsOf[wish](&wish{N: 2}); err != nil || s.N != 2 {
		t.Errorf("%v %v", s, err)
	}
	if _, err := SettingsOf[wish](3); err == nil || err.Error() != "the settings have type int, want *store.wish" {
		t.Error(err)
	}
}

// fakeAdmin is an Admin whose cluster reports the given endpoints.
type fakeAdmin []string

func (fakeAdmin) Status(context.Context) (Status, error) { return Status{}, nil }
func (s fakeAdmin) Members(context.Context) (all []Member, err error) {
	for _, e := range s {
		all = append(all, Member{Endpoint: e})
	}
	return all, nil
}
func (fakeAdmin) Role(context.Context, int) Member { return Member{} }

func (fakeAdmin) UncheckedUserReason(context.Context) (string, error) { return "", nil }

func (fakeAdmin) Close() error { return nil }

func TestServerTextsAreBounded(t *testing.T) {
	few := fakeAdmin{"h:1", "h:2"}
	if list, err := AskMembers(t.Context(), few); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	for _, list := range []fakeAdmin{make(fakeAdmin, kv.MaxMembers+1), {"h:1", strings.Repeat("h", MaxName+1)}} {
		if _, err := AskMembers(t.Context(), list); err == nil {
			t.Errorf("AskMembers accepted %d members", len(list))
		}
	}
	long := strings.Repeat("x", 1<<20)
	s, err := AskAll(2, func(i int) Member {
		if i == 1 {
			return Member{Err: errors.New(long)}
		}
		return Member{Name: long, Version: long, Cluster: long, Alarms: slices.Repeat([]string{long}, 1000), Peers: slices.Repeat([]string{long}, 1000)}
	})
	if err != nil {
		t.Fatal(err)
	}
	m := s.Members[0]
	if len(m.Name) > MaxName+3 || len(s.Version) > MaxName+3 || len(m.Alarms) != MaxAlarms || len(m.Alarms[0]) > MaxName+3 || len(s.Members[1].Err.Error()) > MaxErrorText+3 {
		t.Errorf("%d %d %d %d", len(m.Name), len(s.Version), len(m.Alarms), len(s.Members[1].Err.Error()))
	}
	if len(m.Cluster) > MaxErrorText || len(m.Peers) != kv.MaxMembers || len(m.Peers[0]) > MaxName {
		t.Errorf("the cluster's name has %d bytes, and the first of %d peers has %d bytes", len(m.Cluster), len(m.Peers), len(m.Peers[0]))
	}
}

func TestSanitizedIsPrintable(t *testing.T) {
	const raw = "a\x1b[2J\nb"
	members, err := AskMembers(t.Context(), namedAdmin{})
	if err != nil {
		t.Fatal(err)
	}
	m := Member{Name: raw, Version: raw, Cluster: raw, HiddenData: raw, Alarms: []string{raw}, Peers: []string{raw}, Err: errors.New(raw)}
	s := m.Sanitized()
	for i, got := range []string{s.Name, s.Version, s.Cluster, s.HiddenData, s.Alarms[0], s.Peers[0], s.Err.Error(), members[0].Name} {
		if strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("text %d is %q, which is not printable", i, got)
		}
	}
	if m.Alarms[0] != raw || m.Peers[0] != raw {
		t.Errorf("Sanitized has changed the original member: %+v", m)
	}
	plain := errors.New("no response")
	if got := (Member{Err: plain}).Sanitized().Err; !errors.Is(got, plain) {
		t.Errorf("Sanitized replaced the printable error by %v", got)
	}
}

// namedAdmin is an Admin whose cluster has one member with an unprintable name.
type namedAdmin struct{ fakeAdmin }

func (namedAdmin) Members(context.Context) ([]Member, error) {
	return []Member{{Name: "a\x1b[2J\nb"}}, nil
}

func TestCheckOneCluster(t *testing.T) {
	leader := func(id, term uint64) Member { return Member{Endpoint: "h", ID: id, Term: term, Role: kv.Leader} }
	for _, c := range []struct {
		name    string
		members []Member
		want    string
	}{
		{"two leaders in the same term", []Member{leader(1, 3), leader(2, 3)}, "the leader in the same term"},
		{"two leaders in different terms", []Member{leader(1, 3), leader(2, 4)}, ""},
		{"two leaders in unknown terms", []Member{leader(1, 0), leader(2, 0)}, ""},
		{"two cluster IDs", []Member{{Cluster: "a"}, {Cluster: "b"}}, "(a and b)"},
		{"a common peer", []Member{{Peers: []string{"p", "q"}}, {Peers: []string{"q", "r"}}}, ""},
		{"no common peer", []Member{{Peers: []string{"p"}}, {Peers: []string{"q"}}}, "no peer in common"},
	} {
		err := CheckOneCluster(c.members)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: the error is %v, want %q", c.name, err, c.want)
		}
	}
}
