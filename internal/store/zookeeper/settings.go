package zookeeper

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Settings holds the launch settings that a scenario file may contain for ZooKeeper. Settings from
// ZooKeeper's own configuration have ZooKeeper's names and meanings (see the administrator's guide,
// https://zookeeper.apache.org/doc/r3.9.5/zookeeperAdmin.html). If a setting is omitted,
// ZooKeeper's default applies, unless the notes of Launch mention another default.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// Java is the java command. The default is the first java in PATH.
	Java string `yaml:"java,omitempty" json:"java,omitempty"`
	// Heap is the fixed size of each member's Java heap, such as 512m or 4g. If it is empty,
	// DefaultHeap applies.
	Heap string `yaml:"heap,omitempty" json:"heap,omitempty"`
	// JVMOptions are additional options for the Java virtual machine. For example, -XX:+UseZGC
	// selects another garbage collector.
	JVMOptions []string `yaml:"jvm-options,omitempty" json:"jvm-options,omitempty"`
	// SnapCount is the number of transactions that a member logs before it writes a snapshot. Each
	// member subtracts a random part of it, so that the members do not write their snapshots at the
	// same time.
	SnapCount int `yaml:"snap-count,omitempty" json:"snap-count,omitempty"`
	// ForceSync makes a member sync each transaction to disk before it acknowledges the
	// transaction. If ForceSync is false, a member may acknowledge a transaction before the sync.
	// The default is true.
	ForceSync *bool `yaml:"force-sync,omitempty" json:"force-sync,omitempty"`
	// TickTime is in milliseconds. If it is 0, DefaultTick applies. InitLimit and SyncLimit are
	// numbers of ticks: a follower must connect within InitLimit and must not lag by more than
	// SyncLimit.
	TickTime  int `yaml:"tick-time,omitempty" json:"tick-time,omitempty"`
	InitLimit int `yaml:"init-limit,omitempty" json:"init-limit,omitempty"`
	SyncLimit int `yaml:"sync-limit,omitempty" json:"sync-limit,omitempty"`
	// MaxSessionTimeout is in milliseconds. The default is 20 ticks.
	MaxSessionTimeout int `yaml:"max-session-timeout,omitempty" json:"max-session-timeout,omitempty"`
	// PreAllocSize is the number of KiB by which a member extends its log file at a time.
	PreAllocSize int `yaml:"pre-alloc-size,omitempty" json:"pre-alloc-size,omitempty"`
	// MaxBuffer is the maximum size of a request, in bytes (jute.maxbuffer).
	MaxBuffer int `yaml:"max-buffer,omitempty" json:"max-buffer,omitempty"`
	// GlobalOutstandingLimit limits the total number of queued requests in all members. Above the
	// limit, the members stop reading from connections. If it is 0, DefaultOutstanding applies.
	GlobalOutstandingLimit int `yaml:"global-outstanding-limit,omitempty" json:"global-outstanding-limit,omitempty"`
	// MaxClientConnections limits the connections from one client address to one member. The
	// value 0 means no limit and is quorumbench's default.
	MaxClientConnections int `yaml:"max-client-connections,omitempty" json:"max-client-connections,omitempty"`
	// Properties are additional Java system properties, such as
	// zookeeper.commitProcessor.numWorkerThreads.
	Properties map[string]string `yaml:"properties,omitempty" json:"properties,omitempty"`
}

// The defaults for omitted settings. DefaultHeap is a heap size and DefaultOutstanding a number of
// requests.
const (
	DefaultHeap        = "512m"
	DefaultTick        = 2000 // in milliseconds
	DefaultOutstanding = 100_000
	defaultInitLimit   = 10 // in ticks, like defaultSyncLimit
	defaultSyncLimit   = 5
)

// Check implements store.Settings.
func (s *Settings) Check() error {
	if s.Heap != "" && !regexp.MustCompile(`^[1-9][0-9]{0,8}[kKmMgG]?$`).MatchString(s.Heap) {
		return fmt.Errorf("ZooKeeper's heap %q is not a size such as 512m or 4g", s.Heap)
	}
	if err := store.CheckSigns("ZooKeeper", s); err != nil {
		return err
	}
	if s.SnapCount == 1 {
		return fmt.Errorf("ZooKeeper's snap-count must be at least 2")
	}
	return s.checkJVM()
}

func (s *Settings) checkJVM() error {
	for _, o := range s.JVMOptions {
		if !strings.HasPrefix(o, "-") {
			return fmt.Errorf("ZooKeeper's setting jvm-options contains %q, which is not an option, because it does not begin with a dash", o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if name == "" || strings.ContainsAny(name, "= \t\n") {
			return fmt.Errorf("ZooKeeper's setting properties contains %q, which cannot be a property's name", name)
		}
	}
	return nil
}

// synced reports whether a transaction is synced to disk before it is acknowledged.
func (s *Settings) synced() bool { return s.ForceSync == nil || *s.ForceSync }

// jvm returns the options for the Java virtual machine. The default garbage collector gets only a
// few threads, because all members on one machine share its cores.
func (s *Settings) jvm(gcLog string) []string {
	heap := cmp.Or(s.Heap, DefaultHeap)
	out := []string{"-Xms" + heap, "-Xmx" + heap}
	if !slices.ContainsFunc(s.JVMOptions, isCollector) {
		out = append(out, "-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=1")
	}
	out = append(out, s.JVMOptions...)
	out = append(out, "-Xlog:gc*:file="+gcLog, gcLogging)
	properties := map[string]string{
		"zookeeper.extendedTypesEnabled": "true", // allows nodes with a time to live
	}
	if s.MaxBuffer > 0 {
		properties["jute.maxbuffer"] = strconv.Itoa(s.MaxBuffer)
	}
	maps.Copy(properties, s.Properties)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		out = append(out, "-D"+name+"="+properties[name])
	}
	return out
}

// isCollector reports whether an option selects a garbage collector.
func isCollector(o string) bool {
	return strings.HasPrefix(o, "-XX:+Use") && strings.HasSuffix(o, "GC")
}

// gcLogging makes the Java virtual machine print each garbage collection pause to the member's log,
// in the format that Signal parses. The run directory keeps this log.
const gcLogging = "-Xlog:gc:stdout:utctime,level,tags"

// confinedNumbers lists the options whose values are numbers. The value of any other option could
// be a file name.
const confinedNumbers = "ActiveProcessorCount|ConcGCThreads|G1HeapRegionSize|InitiatingHeapOccupancyPercent|MaxDirectMemorySize|MaxGCPauseMillis|" +
	"MaxMetaspaceSize|MaxNewSize|MetaspaceSize|NewRatio|NewSize|ParallelGCThreads|SurvivorRatio"

// The options and properties that a controller may set on another machine: sizes, numbers and
// switches. Other options could refer to files or to code that is executed.
var (
	confinedOption   = regexp.MustCompile(`^-(X(mn|ms|mx|ss)[0-9]+[kKmMgG]?|XX:[+-][A-Za-z0-9]+|XX:(` + confinedNumbers + `)=[0-9]+[kKmMgG]?)$`)
	confinedProperty = regexp.MustCompile(`^(zookeeper|jute)\.[A-Za-z0-9._]+=[A-Za-z0-9.:_-]*$`)
)

// CheckConfined implements store.LaunchSettings.
func (s *Settings) CheckConfined() error {
	if s.Java != "" {
		return fmt.Errorf("ZooKeeper's setting java is the path of a program, %q, but members on other machines can only use the java that is installed there; remove the setting", s.Java)
	}
	for _, o := range s.JVMOptions {
		if !confinedOption.MatchString(o) {
			return fmt.Errorf("ZooKeeper's setting jvm-options contains %q, which other machines refuse, because it could name a file or a program", o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !confinedProperty.MatchString(name + "=" + s.Properties[name]) {
			return fmt.Errorf("ZooKeeper's setting properties contains %s, which other machines refuse, because its value could name a file or a program", name)
		}
	}
	return nil
}

var _ store.LaunchSettings = (*Settings)(nil)

var (
	_ store.FolderKeeper = (*admin)(nil)
	_ store.Cleaner      = (*admin)(nil)
)

var _ store.NullServerProvider = (*Store)(nil)
