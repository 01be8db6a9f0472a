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

// Settings holds the launch settings that a scenario file may give for ZooKeeper. Those of
// ZooKeeper's own configuration have its names and meanings (see the administrator's guide,
// https://zookeeper.apache.org/doc/r3.9.5/zookeeperAdmin.html). An omitted setting keeps
// ZooKeeper's default, except where the notes of Launch name another default.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// Java is the java command; the default is the java on the PATH.
	Java string `yaml:"java,omitempty" json:"java,omitempty"`
	// Heap is the fixed size of each member's Java heap, such as 512m or 4g; DefaultHeap if
	// empty.
	Heap string `yaml:"heap,omitempty" json:"heap,omitempty"`
	// JVMOptions are additional options of the Java virtual machine, such as -XX:+UseZGC, which
	// replaces the default garbage collector.
	JVMOptions []string `yaml:"jvm-options,omitempty" json:"jvm-options,omitempty"`
	// SnapCount is the number of transactions that a member logs before it writes a snapshot.
	// ZooKeeper subtracts a random part so that the members do not write snapshots
	// simultaneously.
	SnapCount int `yaml:"snap-count,omitempty" json:"snap-count,omitempty"`
	// ForceSync selects whether a transaction is synced to disk before it is acknowledged; true
	// by default.
	ForceSync *bool `yaml:"force-sync,omitempty" json:"force-sync,omitempty"`
	// TickTime is in milliseconds; DefaultTick if 0. InitLimit and SyncLimit are in ticks: a
	// follower must connect within InitLimit and must not lag by more than SyncLimit.
	TickTime  int `yaml:"tick-time,omitempty" json:"tick-time,omitempty"`
	InitLimit int `yaml:"init-limit,omitempty" json:"init-limit,omitempty"`
	SyncLimit int `yaml:"sync-limit,omitempty" json:"sync-limit,omitempty"`
	// MaxSessionTimeout is in milliseconds; 20 ticks by default.
	MaxSessionTimeout int `yaml:"max-session-timeout,omitempty" json:"max-session-timeout,omitempty"`
	// PreAllocSize is the step by which a log file is extended, in KiB.
	PreAllocSize int `yaml:"pre-alloc-size,omitempty" json:"pre-alloc-size,omitempty"`
	// MaxBuffer is the largest request in bytes (jute.maxbuffer).
	MaxBuffer int `yaml:"max-buffer,omitempty" json:"max-buffer,omitempty"`
	// GlobalOutstandingLimit limits the queued requests of all members together; above it they
	// stop reading from connections. DefaultOutstanding if 0.
	GlobalOutstandingLimit int `yaml:"global-outstanding-limit,omitempty" json:"global-outstanding-limit,omitempty"`
	// MaxClientConnections limits the connections from one client address to a member; 0, the
	// default here, means no limit.
	MaxClientConnections int `yaml:"max-client-connections,omitempty" json:"max-client-connections,omitempty"`
	// Properties are additional Java system properties, such as
	// zookeeper.commitProcessor.numWorkerThreads.
	Properties map[string]string `yaml:"properties,omitempty" json:"properties,omitempty"`
}

// The defaults of quorumbench.
const (
	DefaultHeap        = "512m"
	DefaultTick        = 2000 // ms
	DefaultOutstanding = 100_000
	defaultInitLimit   = 10 // ticks
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
			return fmt.Errorf("ZooKeeper's jvm-options has %q, which is not an option: it does not begin with a dash", o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if name == "" || strings.ContainsAny(name, "= \t\n") {
			return fmt.Errorf("ZooKeeper's properties has %q, which cannot be a property's name", name)
		}
	}
	return nil
}

// synced reports whether transactions are synced before they are acknowledged.
func (s *Settings) synced() bool { return s.ForceSync == nil || *s.ForceSync }

// jvm returns the options of the Java virtual machine. The default collector gets few threads
// because the members of a cluster on one machine share its cores.
func (s *Settings) jvm(gcLog string) []string {
	heap := cmp.Or(s.Heap, DefaultHeap)
	out := []string{"-Xms" + heap, "-Xmx" + heap}
	if !slices.ContainsFunc(s.JVMOptions, isCollector) {
		out = append(out, "-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=1")
	}
	out = append(out, s.JVMOptions...)
	out = append(out, "-Xlog:gc*:file="+gcLog, gcLogging)
	properties := map[string]string{
		"zookeeper.extendedTypesEnabled": "true", // TTL nodes
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

// gcLogging makes the Java virtual machine print each garbage collection pause to the member's
// log, in a form that Signal parses. The log is kept with the run.
const gcLogging = "-Xlog:gc:stdout:utctime,level,tags"

// confinedNumbers lists options whose value is a number. The value of other options can be a file
// name.
const confinedNumbers = "ActiveProcessorCount|ConcGCThreads|G1HeapRegionSize|InitiatingHeapOccupancyPercent|MaxDirectMemorySize|MaxGCPauseMillis|" +
	"MaxMetaspaceSize|MaxNewSize|MetaspaceSize|NewRatio|NewSize|ParallelGCThreads|SurvivorRatio"

// Options and properties that another machine may set: sizes, numbers and switches. Other options
// can name files or code to execute.
var (
	confinedOption   = regexp.MustCompile(`^-(X(mn|ms|mx|ss)[0-9]+[kKmMgG]?|XX:[+-][A-Za-z0-9]+|XX:(` + confinedNumbers + `)=[0-9]+[kKmMgG]?)$`)
	confinedProperty = regexp.MustCompile(`^(zookeeper|jute)\.[A-Za-z0-9._]+=[A-Za-z0-9.:_-]*$`)
)

// CheckConfined implements store.LaunchSettings.
func (s *Settings) CheckConfined() error {
	if s.Java != "" {
		return fmt.Errorf("ZooKeeper's java %q names a program, but another machine only runs its own", s.Java)
	}
	for _, o := range s.JVMOptions {
		if !confinedOption.MatchString(o) {
			return fmt.Errorf("ZooKeeper's jvm-options has %q, which another machine refuses: it could name a file or a program", o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !confinedProperty.MatchString(name + "=" + s.Properties[name]) {
			return fmt.Errorf("ZooKeeper's properties has %s, which another machine refuses: it could name a file or a program", name)
		}
	}
	return nil
}

var _ store.LaunchSettings = (*Settings)(nil)

var (
	_ store.FolderKeeper = (*admin)(nil)
	_ store.Cleaner      = (*admin)(nil)
)

var _ store.NullServed = (*Store)(nil)
