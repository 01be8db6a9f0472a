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

// Settings are the launch settings that a scenario file may give for
// ZooKeeper. Those of its own configuration have its names and meanings (see
// the administrator's guide, https://zookeeper.apache.org/doc/r3.9.5/zookeeperAdmin.html);
// what is left out keeps ZooKeeper's default, but for what Launch's notes say.
type Settings struct {
	store.PlainSettings `yaml:"-"`

	// Java is the java command; by default the one on the PATH.
	Java string `yaml:"java,omitempty" json:"java,omitempty"`
	// Heap is the size of each member's Java heap, fixed from the start, as in
	// 512m or 4g; DefaultHeap if empty.
	Heap string `yaml:"heap,omitempty" json:"heap,omitempty"`
	// JVMOptions are further options of the Java machine, such as
	// -XX:+UseZGC, which replaces the default choice of collector.
	JVMOptions []string `yaml:"jvm-options,omitempty" json:"jvm-options,omitempty"`
	// SnapCount is how many transactions a member logs before it writes a
	// snapshot (of which a random part is left out, so that not all do at once).
	SnapCount int `yaml:"snap-count,omitempty" json:"snap-count,omitempty"`
	// ForceSync says whether a transaction is synced to disk before it is
	// acknowledged; true by default.
	ForceSync *bool `yaml:"force-sync,omitempty" json:"force-sync,omitempty"`
	// TickTime is in milliseconds, DefaultTick if 0; InitLimit and SyncLimit
	// are ticks in which a follower must have connected and be up to date.
	TickTime  int `yaml:"tick-time,omitempty" json:"tick-time,omitempty"`
	InitLimit int `yaml:"init-limit,omitempty" json:"init-limit,omitempty"`
	SyncLimit int `yaml:"sync-limit,omitempty" json:"sync-limit,omitempty"`
	// MaxSessionTimeout is in milliseconds; 20 ticks by default.
	MaxSessionTimeout int `yaml:"max-session-timeout,omitempty" json:"max-session-timeout,omitempty"`
	// PreAllocSize is how far a log file is extended at a time, in KiB.
	PreAllocSize int `yaml:"pre-alloc-size,omitempty" json:"pre-alloc-size,omitempty"`
	// MaxBuffer is the largest request in bytes (jute.maxbuffer).
	MaxBuffer int `yaml:"max-buffer,omitempty" json:"max-buffer,omitempty"`
	// GlobalOutstandingLimit is how many requests all members together take
	// before they stop reading; DefaultOutstanding if 0.
	GlobalOutstandingLimit int `yaml:"global-outstanding-limit,omitempty" json:"global-outstanding-limit,omitempty"`
	// MaxClientConnections is how many connections one client address may
	// have at a member; 0 for no limit, which is our default.
	MaxClientConnections int `yaml:"max-client-connections,omitempty" json:"max-client-connections,omitempty"`
	// Properties are further Java system properties, such as
	// zookeeper.commitProcessor.numWorkerThreads.
	Properties map[string]string `yaml:"properties,omitempty" json:"properties,omitempty"`
}

// Our defaults.
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
			return fmt.Errorf("ZooKeeper's jvm-options has %q, which is no option: it does not begin with a dash", o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if name == "" || strings.ContainsAny(name, "= \t\n") {
			return fmt.Errorf("ZooKeeper's properties has %q, which cannot be a property's name", name)
		}
	}
	return nil
}

// synced says whether transactions are synced before they are acknowledged.
func (s *Settings) synced() bool { return s.ForceSync == nil || *s.ForceSync }

// jvm lists the options of the Java machine. The threads of the collector are
// few, because the members of a cluster on one machine share its cores.
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

// isCollector knows the options that choose a garbage collector.
func isCollector(o string) bool {
	return strings.HasPrefix(o, "-XX:+Use") && strings.HasSuffix(o, "GC")
}

// gcLogging is the option that adds a line for each pause of the garbage
// collector to the member's log, which is kept, in a form that Signal reads.
const gcLogging = "-Xlog:gc:stdout:utctime,level,tags"

// confinedNumbers are options whose value is a number: of others it can be the
// name of a file.
const confinedNumbers = "ActiveProcessorCount|ConcGCThreads|G1HeapRegionSize|InitiatingHeapOccupancyPercent|MaxDirectMemorySize|MaxGCPauseMillis|" +
	"MaxMetaspaceSize|MaxNewSize|MetaspaceSize|NewRatio|NewSize|ParallelGCThreads|SurvivorRatio"

// What settings from another machine may say to the Java machine: sizes, numbers
// and switches. Other options name files, or code to be run.
var (
	confinedOption   = regexp.MustCompile(`^-(X(mn|ms|mx|ss)[0-9]+[kKmMgG]?|XX:[+-][A-Za-z0-9]+|XX:(` + confinedNumbers + `)=[0-9]+[kKmMgG]?)$`)
	confinedProperty = regexp.MustCompile(`^(zookeeper|jute)\.[A-Za-z0-9._]+=[A-Za-z0-9.:_-]*$`)
)

// CheckConfined implements store.LaunchSettings.
func (s *Settings) CheckConfined() error {
	if s.Java != "" {
		return fmt.Errorf("ZooKeeper's java %q names a program, and another machine takes none but its own", s.Java)
	}
	for _, o := range s.JVMOptions {
		if !confinedOption.MatchString(o) {
			return fmt.Errorf("ZooKeeper's jvm-options has %q, which another machine does not take: it could name a file or a program", o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !confinedProperty.MatchString(name + "=" + s.Properties[name]) {
			return fmt.Errorf("ZooKeeper's properties has %s, which another machine does not take: it could name a file or a program", name)
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
