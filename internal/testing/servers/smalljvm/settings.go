// Package smalljvm provides settings for the ZooKeeper servers of tests.
package smalljvm

import "github.com/quorumbench/quorumbench/internal/store/zookeeper"

// Settings returns settings with which a member starts with little CPU time and memory: the JVM
// compiles methods only once and collects garbage in one thread, and the member does not sync its
// log.
func Settings() *zookeeper.Settings {
	no := false
	return &zookeeper.Settings{Heap: "160m", ForceSync: &no, JVMOptions: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}}
}
