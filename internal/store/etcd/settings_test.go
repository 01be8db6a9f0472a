package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/quorumbench/quorumbench/internal/store"
)

// strictDecoder returns a function that decodes text with the strict rules for scenario files.
func strictDecoder(text string) func(any) error {
	return func(into any) error { return yaml.UnmarshalWithOptions([]byte(text), into, yaml.Strict()) }
}

func TestSettingsAreDecodedAndBecomeFlags(t *testing.T) {
	v, err := New().DecodeSettings(strictDecoder(`
snapshot-count: 50000
quota-backend-bytes: 1073741824
heartbeat-interval: 50
election-timeout: 500
pre-vote: false
unsafe-no-fsync: true
auto-compaction-mode: periodic
auto-compaction-retention: 5m
backend-batch-interval: 50ms
`))
	if err != nil {
		t.Fatal(err)
	}
	s := v.(*Settings)
	if s.SnapshotCount != 50000 || s.BackendBatchInterval != 50*time.Millisecond || *s.PreVote {
		t.Errorf("settings %+v", s)
	}
	var flags []string
	for _, o := range s.options() {
		flags = append(flags, fmt.Sprintf("%s=%v", o.Name, o.Value))
	}
	for _, want := range []string{
		"snapshot-count=50000", "quota-backend-bytes=1073741824", "pre-vote=false",
		"unsafe-no-fsync=true", "auto-compaction-retention=5m", "backend-batch-interval=50ms",
	} {
		if !slices.Contains(flags, want) {
			t.Errorf("the flags lack %s: %s", want, flags)
		}
	}
	if len(flags) != 9 {
		t.Errorf("flags contain settings that were not set: %s", flags)
	}
}

func TestDefaultSettings(t *testing.T) {
	v, err := New().DecodeSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := v.(*Settings).options()
	if len(opts) != 1 || opts[0] != (store.Setting{Name: "quota-backend-bytes", Value: int64(DefaultQuota)}) {
		t.Errorf("the defaults are %v", opts)
	}
}

func TestRefusesBadSettings(t *testing.T) {
	for text, want := range map[string]string{
		"snapshot-cuont: 5":                                               "snapshot-cuont",
		"heartbeat-interval: 500":                                         "at least five times",
		"election-timeout: 60000":                                         "at most 50000 ms",
		"auto-compaction-mode: sometimes":                                 "periodic or revision",
		"auto-compaction-mode: revision":                                  "number of revisions",
		"auto-compaction-retention: soon":                                 "neither a duration",
		"backend-bbolt-freelist-type: tree":                               "array, map",
		"log-level: chatty":                                               "debug, info",
		"quota-backend-bytes: -1":                                         "must not be negative",
		"heartbeat-interval: -1":                                          "heartbeat",
		"auto-compaction-retention: -3":                                   "neither a duration",
		"{auto-compaction-mode: revision, auto-compaction-retention: 5m}": "number of revisions",
	} {
		_, err := New().DecodeSettings(strictDecoder(text))
		if err == nil || !strings.Contains(err.Error(), want) && want != "heartbeat" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDefaultsEqualEtcds checks that the defaults in this package are equal to etcd's defaults.
func TestDefaultsEqualEtcds(t *testing.T) {
	c := embed.NewConfig()
	if c.TickMs != defaultHeartbeat || c.ElectionMs != defaultElection {
		t.Errorf("etcd's defaults are %d and %d ms", c.TickMs, c.ElectionMs)
	}
}
