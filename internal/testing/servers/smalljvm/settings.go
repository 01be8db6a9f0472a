// Package smalljvm provides settings for the ZooKeeper servers of tests. It is a package, because no
// other package below internal/testing imports store/zookeeper.
package smalljvm

import "github.com/quorumbench/quorumbench/internal/store/zookeeper"

// Options are options with which a short run needs less CPU time: the JVM compiles methods only once
// and collects garbage in one thread.
var Options = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// Settings returns settings with which a member starts with little CPU time and memory. They contain
// Options, and the member does not sync its log.
func Settings() *zookeeper.Settings {
	no := false
	return &zookeeper.Settings{Heap: "160m", ForceSync: &no, JVMOptions: Options}
}
