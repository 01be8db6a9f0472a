package nullserver

import (
	"fmt"
	"strings"
)

// version is what the null server calls itself.
const version = "3.9.5-null"

// word answers a four-letter word; ok is false if it is none.
func (s *session) word(word string) (text string, ok bool) {
	mode := "follower"
	switch {
	case len(s.server.members) == 1:
		mode = "standalone"
	case s.member == 0:
		mode = "leader"
	}
	switch word {
	case "ruok":
		return "imok", true
	case "srvr":
		return fmt.Sprintf("Zookeeper version: %s, built on null\nLatency min/avg/max: 0/0.0/0\nReceived: 0\nSent: 0\n"+
			"Connections: 1\nOutstanding: 0\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
			version, s.tree.Revision(), mode, len(s.tree.Interval(nil, nil))), true
	case "conf":
		return s.conf(), true
	case "dirs":
		return "datadir_size: 0\nlogdir_size: 0\n", true
	case "mntr":
		return fmt.Sprintf("zk_version\t%s\nzk_server_state\t%s\nzk_znode_count\t%d\n", version, mode, len(s.tree.Interval(nil, nil))), true
	}
	return "", false
}

func (s *session) conf() string {
	own := s.server.members[s.member]
	var b strings.Builder
	fmt.Fprintf(&b, "clientPort=%s\nserverId=%d\nmembership: \n", own[strings.LastIndexByte(own, ':')+1:], s.member+1)
	for i, address := range s.server.members {
		fmt.Fprintf(&b, "server.%d=%s:1:2:participant;%s\n", i+1, address[:strings.LastIndexByte(address, ':')], address)
	}
	return b.String()
}
