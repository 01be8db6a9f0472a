package patroni

import (
	"bytes"
	"strconv"
)

// Values have the form in which Patroni 4.1 writes them. Each value contains a position in the
// database's write-ahead log. The position increases with each call, so that a value identifies the
// call that wrote it.
const (
	firstPosition = 0x4000000
	positionStep  = 96 // number of bytes by which the log grows with each call
)

// appendPosition appends the log position for call n.
func appendPosition(b []byte, n uint64) []byte {
	return strconv.AppendUint(b, firstPosition+n*positionStep, 10)
}

// AppendMember appends the value of a member's key.
func AppendMember(b []byte, member int, isLeader bool, n uint64) []byte {
	host := int64(member%200 + 10)
	b = append(b, `{"conn_url":"postgres://192.0.2.`...)
	b = append(strconv.AppendInt(b, host, 10), `:5432/postgres","api_url":"http://192.0.2.`...)
	b = append(strconv.AppendInt(b, host, 10), `:8008/patroni","state":"running","role":"`...)
	if isLeader {
		b = appendPosition(append(b, `primary","version":"4.1.5","xlog_location":`...), n)
	} else {
		b = appendPosition(append(b, `replica","version":"4.1.5","xlog_location":`...), n)
		b = appendPosition(append(b, `,"replay_lsn":`...), n)
		b = appendPosition(append(b, `,"receive_lsn":`...), n)
		b = append(b, `,"replication_state":"streaming"`...)
	}
	return append(b, `,"timeline":1}`...)
}

// AppendStatus appends the value of a cluster's status.
func AppendStatus(b []byte, cluster, members int, n uint64) []byte {
	b = append(appendPosition(append(b, `{"optime":`...), n), `,"slots":{`...)
	for m := range members {
		if m > 0 {
			b = append(b, ',')
		}
		b = appendPosition(append(AppendName(append(b, '"'), cluster, m), `":`...), n)
	}
	b = append(b, `},"retain_slots":[`...)
	for m := range members {
		if m > 0 {
			b = append(b, ',')
		}
		b = append(AppendName(append(b, '"'), cluster, m), '"')
	}
	return append(b, "]}"...)
}

// AppendHistory appends the value of a cluster's history after a failover.
func AppendHistory(b []byte, cluster, leader int, n uint64) []byte {
	b = appendPosition(append(b, `[[1,`...), n)
	b = append(b, `,"no recovery target specified","2026-11-25T19:08:06.471991+00:00","`...)
	return append(AppendName(b, cluster, leader), `"]]`...)
}

// ConfigValue is the value of a cluster's configuration key. InitializeValue is the value of the
// key that identifies the database.
const (
	ConfigValue     = `{"ttl":30,"loop_wait":10,"retry_timeout":10,"maximum_lag_on_failover":1048576,"postgresql":{"use_pg_rewind":true}}`
	InitializeValue = "7712187336345185051"
)

// positionPrefixes holds the texts that can precede the log position. Each value contains exactly
// one of these texts, once.
var positionPrefixes = [][]byte{[]byte(`"xlog_location":`), []byte(`"optime":`), []byte(`[[1,`)}

// ParseCallNumber returns the number of the call that wrote a value. It computes the number from
// the log position in the value.
func ParseCallNumber(value []byte) (n uint64, ok bool) {
	for _, name := range positionPrefixes {
		i := bytes.Index(value, name)
		if i < 0 {
			continue
		}
		place, digits := uint64(0), 0
		for _, d := range value[i+len(name):] {
			if d < '0' || d > '9' || digits > 17 {
				break
			}
			place = place*10 + uint64(d-'0')
			digits++
		}
		n = (place - firstPosition) / positionStep
		return n, place >= firstPosition && n*positionStep+firstPosition == place
	}
	return 0, false
}

// MeanValueSize returns the mean size of the written values in bytes.
func (c *Config) MeanValueSize() int {
	const at = 1 << 20
	leader, replica := len(AppendMember(nil, 0, true, at)), len(AppendMember(nil, 0, false, at))
	status := len(AppendStatus(nil, 0, c.Members, at))
	return (leader + replica*(c.Members-1) + status) / (c.Members + 1)
}
