package zookeeper

import (
	"embed"
	"io/fs"

	"github.com/quorumbench/quorumbench/internal/store"
)

// serverFiles are the inputs of the server's build.
//
//go:embed server/pom.xml
var serverFiles embed.FS

// versions are those that can be installed, the default first.
var versions = [...]string{"3.9.5", "3.9.4"}

// sums pins the server's own jars.
func sums(version string) map[string]string {
	metrics := "lib/zookeeper-prometheus-metrics-3.9.4.jar"
	const metricsSum = "51853ff241cbb6a8a6249138ed941644fb01035f82b322915f554bdf06f22afa"
	switch version {
	case "3.9.5":
		return map[string]string{
			"lib/zookeeper-3.9.5.jar":      "936d025db1a85f085edea25048c3f5b3de5fc29329c371a10925e3b78b0b38a0",
			"lib/zookeeper-jute-3.9.5.jar": "abcbc7f9d6c493daa118da6fa3061a201e2c521217526e8535adfb56b629e52a",
			metrics:                        metricsSum,
		}
	case "3.9.4":
		return map[string]string{
			"lib/zookeeper-3.9.4.jar":      "7bb3bb38bbddbc71424c59a7a0b170a1b2147313a84c972225ab0568dab513bf",
			"lib/zookeeper-jute-3.9.4.jar": "bd9750935add09b6cb920f7bcf0fa7b9a8165c45cdafd8ee1fc6808c46ec9094",
			metrics:                        metricsSum,
		}
	}
	return nil
}

// Server implements store.Store. Any other version can be given as a
// folder that holds its jars in lib.
func (*Store) Server(version string) (store.ServerSource, error) {
	v, err := store.PickVersion(Name, version, versions[:])
	if err != nil {
		return store.ServerSource{}, err
	}
	files, err := fs.Sub(serverFiles, "server")
	return store.ServerSource{
		Store: Name, Version: v, Versions: versions[:], Kind: store.Maven,
		Files: files, Args: []string{"-Dzookeeper.version=" + v},
		Tools: []store.Tool{
			{
				Name: "java", Running: true,
				Missing: "ZooKeeper needs Java 11 or newer: install it, such as Debian's default-jre-headless",
			},
			{
				Name:    "mvn",
				Missing: "obtaining ZooKeeper needs Maven: install it, such as Debian's maven, or give a folder that holds the server's jars in lib with --exec",
			},
		},
		Check: store.ServerCheck{
			Holds: []string{
				"lib/zookeeper-" + v + ".jar", "lib/zookeeper-jute-" + v + ".jar",
				"lib/zookeeper-prometheus-metrics-3.9.4.jar", "lib/logback-classic-1.3.15.jar",
			},
			Sums: sums(v),
		},
		License: "Apache License 2.0",
	}, err
}
