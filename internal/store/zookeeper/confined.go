package zookeeper

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/store"
)

var _ store.LaunchSettings = (*Settings)(nil)

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
