package zookeeper

import (
	"strings"
	"testing"
)

// TestConfinedSettings checks that a controller may set sizes, numbers and switches on another
// machine, but no programs, files or code.
func TestConfinedSettings(t *testing.T) {
	for _, ok := range []Settings{
		{}, {Heap: "1g", JVMOptions: []string{"-XX:+UseZGC", "-XX:ParallelGCThreads=4", "-Xmn100m", "-XX:-UseAdaptiveSizePolicy"}},
		{Properties: map[string]string{"zookeeper.commitProcessor.numWorkerThreads": "4", "jute.maxbuffer": "1000000"}},
	} {
		if err := ok.CheckConfined(); err != nil {
			t.Errorf("%+v: %v", ok, err)
		}
	}
	bad := []Settings{{Java: "/bin/sh"}, {Java: "java"}}
	for _, o := range []string{
		"-XX:OnOutOfMemoryError=reboot", "-javaagent:/tmp/x.jar", "-agentpath:/tmp/x.so", "-cp", "--class-path=/tmp", "-XX:Flags=/tmp/f",
		"-Xlog:all:file=/etc/passwd", "-XX:HeapDumpPath=/etc", "-Xmx1g\n", "-Djava.class.path=/tmp", "-XX:+UseZGC -XX:OnError=x",
	} {
		bad = append(bad, Settings{JVMOptions: []string{o}})
	}
	for name, value := range map[string]string{
		"logback.configurationFile": "x", "java.class.path": "x", "zookeeper.ssl.keyStore.location": "/etc/key",
		"zookeeper.a": "../x", "zookeeper.b ": "1", "zookeeper.c": "1\n",
	} {
		bad = append(bad, Settings{Properties: map[string]string{name: value}})
	}
	for _, s := range bad {
		if err := s.CheckConfined(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
