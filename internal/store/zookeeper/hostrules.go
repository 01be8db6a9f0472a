package zookeeper

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// administration is the document from which the rules are taken.
var administration = kv.Document{Title: adminGuide, URL: "https://zookeeper.apache.org/doc/current/zookeeperAdmin.html"}

// diskRule is ZooKeeper's requirement for the disk that holds its log.
var diskRule = kv.DiskRule{
	Percentile: 100, Limit: time.Second,
	Source: "ZooKeeper logs a warning if a sync of its log takes more than 1 s (fsync.warningthresholdms), because every write waits for the sync",
}

// hostRules returns ZooKeeper's requirements for machines.
func hostRules(disk kv.DiskRule) *kv.HostRules {
	return &kv.HostRules{
		Record: 2300, Written: "records of 2,300 bytes",
		Disk: disk, Document: administration,
		Rules: []kv.HostRule{
			{
				Quantity: kv.Swap, AtMost: 1, Advice: true,
				Effect: "if ZooKeeper swaps, all queued requests wait for the disk",
				Remedy: "set the Java heap well below the memory, or turn swap off", Source: administration,
			},
			{
				Quantity: kv.MeanRoundTrip, AtMost: (defaultSyncLimit * usualTick).Seconds() / 10, Advice: true,
				Effect: "10 such round trips take longer than syncLimit ticks (10 s by default); the leader drops a follower that does not respond within this time",
				Remedy: "place the members closer to each other, or raise tickTime or syncLimit", Source: administration,
			},
		},
		Settings: settingsFor,
	}
}

// usualTick is the length of a tick in the guide's example.
const usualTick = DefaultTick * time.Millisecond

// settingsFor computes tickTime. A follower must respond within syncLimit ticks, so that time must
// be at least 10 times as long as a round trip and the longest write together. The result is never
// below 2 s, the value in the guide's example.
func settingsFor(m kv.Measured) []kv.Setting {
	const unit = 100 * time.Millisecond
	tick := max(usualTick, (10*(m.P99RoundTrip+m.LongestWrite)/defaultSyncLimit+unit-1)/unit*unit)
	return []kv.Setting{{
		Name: "tickTime", Value: strconv.FormatInt(tick.Milliseconds(), 10),
		Reason: fmt.Sprintf("syncLimit (%d ticks) is then at least 10 times the sum of a round trip and the longest write (%s); tickTime is at least 2000, the value in the guide's example", defaultSyncLimit, text.Duration(float64(m.P99RoundTrip+m.LongestWrite))),
		Source: administration,
	}}
}
