package etcd_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// TestSizing checks that the advice changes at the limits that etcd's documents state.
func TestSizing(t *testing.T) {
	t.Parallel()
	settings, err := json.Marshal(&etcd.Settings{QuotaBackendBytes: 1 << 30, HeartbeatInterval: 100, ElectionTimeout: 1000})
	if err != nil {
		t.Fatal(err)
	}
	l := store.SizingInput{Settings: settings, Members: 3, Requests: 150, Writes: 150, Clients: 50, Keys: 10_000, KeySize: 20, ValueSize: 256, History: time.Minute, RoundTrip: 10 * time.Millisecond}
	said := func() (fill store.ResourceUsage, text string) {
		fills, advice, err := etcd.New().Size(l)
		if err != nil || len(fills) != 1 {
			t.Fatalf("%d fillings, %v", len(fills), err)
		}
		for _, a := range advice {
			if a.Source == "" {
				t.Errorf("%s has no source", a.Topic)
			}
			text += a.Topic + ": " + a.Text + "\n"
		}
		return fills[0], text
	}
	fill, text := said()
	if fill.Limit != 1<<30 || !strings.Contains(text, "corresponds to a small cluster") || !strings.Contains(text, "above the recommended 0.5 to 1.5") || !strings.Contains(text, "(100 ms), and it is 1s, which is long enough.") {
		t.Errorf("the limit is %g, and the advice is\n%s", fill.Limit, text)
	}
	before := fill.Used
	l.Requests, l.Writes, l.RoundTrip, l.FsyncP99 = 5000, 5000, 250100*time.Microsecond, 20*time.Millisecond
	fill, text = said()
	for _, want := range []string{"corresponds to a large cluster", "too short: set heartbeat-interval to about 250ms", "increase election-timeout to at least 2.51s", "exceeds the recommended maximum of 10 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("the advice does not contain %q:\n%s", want, text)
		}
	}
	if fill.Used <= before {
		t.Errorf("the store uses %g with more writes, but %g with fewer", fill.Used, before)
	}
	l.History, l.ValueSize, l.Settings, l.Members = time.Hour, 2<<20, nil, 1
	fill, text = said()
	for _, want := range []string{"compact the database more often", "larger than 1.50 MiB", "xLarge"} {
		if !strings.Contains(text, want) {
			t.Errorf("the advice does not contain %q:\n%s", want, text)
		}
	}
	if fill.Limit != 2<<30 || strings.Contains(text, "heartbeat") {
		t.Errorf("the limit of an unknown cluster is %g, and the advice for a single member is\n%s", fill.Limit, text)
	}
	if !strings.Contains(text, "the quota is 2.00 GiB by default (the cluster's setting is not known): compact") {
		t.Errorf("the advice does not say that the quota is a default:\n%s", text)
	}
	l.Members, l.RoundTrip = 3, 10*time.Millisecond
	if _, text = said(); strings.Count(text, " by default (the cluster's setting is not known), which is") != 2 {
		t.Errorf("the advice does not say that the heartbeat interval and the election timeout are defaults:\n%s", text)
	}
	l.Settings = json.RawMessage("7")
	if _, _, err := etcd.New().Size(l); err == nil {
		t.Error("Size accepted invalid settings")
	}
}

// TestSizingRaisesOnlySmallQuotas checks that Size does not advise to increase a quota that is
// already the largest recommended quota.
func TestSizingRaisesOnlySmallQuotas(t *testing.T) {
	t.Parallel()
	for quota, want := range map[int64]bool{4 << 30: true, 8 << 30: false} {
		settings, err := json.Marshal(&etcd.Settings{QuotaBackendBytes: quota})
		if err != nil {
			t.Fatal(err)
		}
		_, advice, err := etcd.New().Size(store.SizingInput{Settings: settings, Members: 1, Keys: 7 << 10, KeySize: 20, ValueSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(advice, func(a store.Advice) bool { return a.Topic == "database quota" })
		if i < 0 {
			t.Fatalf("with a quota of %d bytes, the advice does not mention the quota: %+v", quota, advice)
		}
		if got := strings.Contains(advice[i].Text, "increase quota-backend-bytes"); got != want {
			t.Errorf("with a quota of %d bytes, the advice is %q; increasing the quota is advised: %v, want %v", quota, advice[i].Text, got, want)
		}
	}
}
