package etcd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Titles of the documents that contain the advice.
const (
	hardwareGuide = "etcd documentation, Hardware recommendations"
	tuningGuide   = "etcd documentation, Tuning"
	limitsGuide   = "etcd documentation, System limits"
)

// Figures from these documents, and limits for the advice.
const (
	etcdDefaultQuota = 2 << 30 // etcd's default quota
	maxQuota         = 8 << 30 // the largest quota that the documents suggest
	maxRequest       = 1.5 * (1 << 20)
	entryBytes       = 64  // bytes of an entry in addition to its key and value, for its revisions and for bbolt's key and page element
	pageFill         = 0.9 // share of a database page that contains data
	minHeartbeatRTTs = 0.5 // smallest recommended heartbeat interval, in round-trip times
	maxHeartbeatRTTs = 1.5
	electionRTTs     = 10
)

// hardware lists the example clusters in hardwareGuide: the largest load that each cluster can
// serve, and the machine that the guide recommends for each member.
var hardware = []struct {
	name           string
	clients        int
	requests, data float64
	cpus, memoryGB int
	iops           int
}{
	{"small", 100, 200, 100e6, 2, 8, 3600},
	{"medium", 500, 1000, 500e6, 4, 16, 6000},
	{"large", 1500, 10_000, 1e9, 8, 32, 8000},
	{"xLarge", math.MaxInt, math.Inf(1), math.Inf(1), 16, 64, 16_000},
}

// Size implements store.Sizer.
func (*Store) Size(l store.SizingInput) ([]store.ResourceUsage, []store.Advice, error) {
	var s Settings
	quota, owner := int64(etcdDefaultQuota), "etcd's own default, because the cluster's setting is not known"
	if l.Settings != nil {
		if err := json.Unmarshal(l.Settings, &s); err != nil {
			return nil, nil, fmt.Errorf("cannot read the recorded settings of etcd: %w", err)
		}
		quota, owner = cmp.Or(s.QuotaBackendBytes, DefaultQuota), "the cluster's quota-backend-bytes"
	}
	entry := float64(l.KeySize+l.ValueSize+entryBytes) / pageFill
	used := entry * (float64(l.Keys) + l.Writes*l.History.Seconds())
	fills := store.ResourceUsage{
		Resource: "database quota", Used: used, Limit: float64(quota), Source: limitsGuide,
		Explanation: fmt.Sprintf("each of the %s keys, and each value that was replaced in the last %s, occupies an estimated %.0f bytes of the database; the quota is %s, which is %s",
			text.Count(l.Keys), l.History, entry, text.Bytes(uint64(quota)), owner),
	}
	advice := []store.Advice{hardwareFor(&l, used)}
	if used > 0.8*float64(quota) {
		words := fmt.Sprintf("The database needs %s, and the quota is %s%s: compact the database more often than every %s, so that it keeps fewer replaced values",
			text.Bytes(uint64(used)), text.Bytes(uint64(quota)), originOfDefaults(&l), l.History)
		if used <= maxQuota && quota < maxQuota {
			words += fmt.Sprintf(", or increase quota-backend-bytes (the documentation suggests at most %s)", text.Bytes(maxQuota))
		}
		advice = append(advice, store.Advice{Topic: "database quota", Source: limitsGuide, Text: words + ". If the database exceeds the quota, etcd refuses every write."})
	}
	if request := float64(l.KeySize + l.ValueSize); request > maxRequest {
		advice = append(advice, store.Advice{Topic: "request size", Source: limitsGuide,
			Text: fmt.Sprintf("A write of %s is larger than %s, the largest request that etcd accepts unless max-request-bytes is set.", text.Bytes(uint64(request)), text.Bytes(maxRequest))})
	}
	if l.Members > 1 {
		advice = append(advice, timing(&l, &s)...)
	}
	if l.FsyncP99 > 0 {
		verdict := "which is within"
		if l.FsyncP99 > 10*time.Millisecond {
			verdict = "which exceeds"
		}
		advice = append(advice, store.Advice{Topic: "disk", Source: "etcd documentation, FAQ (What does the etcd warning \"failed to send out heartbeat on time\" mean?)",
			Text: fmt.Sprintf("The p99 of the syncs of the write-ahead log was %s, %s the recommended maximum of 10 ms.", text.Duration(float64(l.FsyncP99)), verdict)})
	}
	return []store.ResourceUsage{fills}, advice, nil
}

// originOfDefaults returns the words that follow a setting's value in the advice if the value is
// etcd's default, which is assumed because quorumbench did not launch the cluster.
func originOfDefaults(l *store.SizingInput) string {
	if l.Settings != nil {
		return ""
	}
	return " by default (the cluster's setting is not known)"
}

// hardwareFor returns the advice for the guide's smallest example cluster that can serve the
// load.
func hardwareFor(l *store.SizingInput, data float64) store.Advice {
	h := hardware[0]
	for _, h = range hardware {
		if l.Clients < h.clients && l.Requests < h.requests && data <= h.data {
			break
		}
	}
	words := fmt.Sprintf("The load corresponds to a %s cluster in the documentation. The load has %s, %s and %s of data.", h.name, text.Plural(uint64(max(l.Clients, 0)), "client"), text.PerSecond(l.Requests), text.Bytes(uint64(data)))
	words += fmt.Sprintf(" Each member needs its own machine with %d processors, %d GB of memory and a disk that can do %s concurrent I/O operations per second", h.cpus, h.memoryGB, text.Count(uint64(h.iops)))
	if l.Processors > 0 && l.Memory > 0 {
		words += fmt.Sprintf("; the smallest machine of this cluster has %g processors and %s of memory", l.Processors, text.Bytes(uint64(l.Memory)))
	}
	return store.Advice{Topic: "hardware", Text: words + ".", Source: hardwareGuide}
}

// timing returns advice about the heartbeat interval and the election timeout, based on the
// measured round-trip time.
func timing(l *store.SizingInput, s *Settings) []store.Advice {
	if l.RoundTrip <= 0 {
		return []store.Advice{{Topic: "heartbeat and election", Source: tuningGuide,
			Text: "The round-trip time between members was not measured. Set heartbeat-interval to about this time, and election-timeout to at least ten times this time."}}
	}
	heartbeat := time.Duration(cmp.Or(s.HeartbeatInterval, defaultHeartbeat)) * time.Millisecond
	election := time.Duration(cmp.Or(s.ElectionTimeout, defaultElection)) * time.Millisecond
	rtt := text.Duration(float64(l.RoundTrip))
	beats := fmt.Sprintf("The mean round-trip time between members is %s, and heartbeat-interval is %s%s", rtt, heartbeat, originOfDefaults(l))
	switch {
	case float64(heartbeat) < minHeartbeatRTTs*float64(l.RoundTrip):
		beats += fmt.Sprintf(", which is too short: set heartbeat-interval to about %s (0.5 to 1.5 round-trip times are recommended)", l.RoundTrip.Round(time.Millisecond))
	case float64(heartbeat) > maxHeartbeatRTTs*float64(l.RoundTrip):
		beats += ", which is above the recommended 0.5 to 1.5 round-trip times. A long interval tolerates slow disks; a shorter interval detects the loss of the leader sooner but needs more messages"
	default:
		beats += ", which is within the recommended 0.5 to 1.5 round-trip times"
	}
	elects := fmt.Sprintf("election-timeout must be at least ten round-trip times (%s), and it is %s%s", text.Duration(electionRTTs*float64(l.RoundTrip)), election, originOfDefaults(l))
	if float64(election) < electionRTTs*float64(l.RoundTrip) {
		const step = 10 * time.Millisecond
		needed := (electionRTTs*l.RoundTrip + step - 1).Truncate(step)
		elects += fmt.Sprintf(": increase election-timeout to at least %s on all members", needed)
	} else {
		elects += ", which is long enough"
	}
	return []store.Advice{{Topic: "heartbeat", Text: beats + ".", Source: tuningGuide}, {Topic: "election timeout", Text: elects + ".", Source: tuningGuide}}
}
