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
		return Member{Name: long, Version: long, Alarms: slices.Repeat([]string{long}, 1000)}
	})
	if err != nil {
		t.Fatal(err)
	}
	m := s.Members[0]
	if len(m.Name) > MaxName+3 || len(s.Version) > MaxName+3 || len(m.Alarms) != MaxAlarms || len(m.Alarms[0]) > MaxName+3 || len(s.Members[1].Err.Error()) > MaxErrorText+3 {
		t.Errorf("%d %d %d %d", len(m.Name), len(s.Version), len(m.Alarms), len(s.Members[1].Err.Error()))
	}
}
