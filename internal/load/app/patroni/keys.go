package patroni

import (
	"bytes"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Key identifies one of a cluster's keys. The keys of the members come last, one for each member.
type Key uint8

// Fixed keys of a cluster, and the key of its first member.
const (
	Initialize Key = iota
	ConfigKey
	Leader
	Status
	History
	FirstMember
)

var fixedKeys = [FirstMember]string{"initialize", "config", "leader", "status", "history"}

// MemberPath is the part of a member's key between the cluster's scope and the member's name.
const MemberPath = "members/"

// keySize is the approximate size of a key without the prefix, in bytes.
const keySize = 3 + app.Digits + 1 + len(MemberPath) + 3 + app.Digits + 2

// KeysPerCluster returns the number of keys in a cluster.
func (c *Config) KeysPerCluster() int { return int(FirstMember) + c.Members }

// Keys returns the number of keys in all clusters.
func (c *Config) Keys() uint64 { return uint64(c.Clusters * c.KeysPerCluster()) }

// MemberKey returns the key of the member with the given number in its cluster.
func MemberKey(member int) Key { return FirstMember + Key(member) }

// AppendScope appends a cluster's scope, which is the common prefix of the cluster's keys, such as
// "/service/pg-000007/".
func AppendScope(b, prefix []byte, cluster int) []byte {
	return append(app.AppendNumber(append(append(b, prefix...), "pg-"...), uint32(cluster)), '/')
}

// AppendName appends the name of a member, such as "pg-000007-1".
func AppendName(b []byte, cluster, member int) []byte {
	b = append(app.AppendNumber(append(b, "pg-"...), uint32(cluster)), '-')
	return strconv.AppendInt(b, int64(member), 10)
}

// AppendKey appends one of a cluster's keys.
func AppendKey(b, prefix []byte, cluster int, k Key) []byte {
	b = AppendScope(b, prefix, cluster)
	if k < FirstMember {
		return append(b, fixedKeys[k]...)
	}
	return AppendName(append(b, MemberPath...), cluster, int(k-FirstMember))
}

// Number returns the number of a key that AppendKey created, counted over all clusters. It returns
// false for other keys.
func (c *Config) Number(prefix, key []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(key, prefix)
	if !ok || len(rest) < 3+app.Digits+1 || string(rest[:3]) != "pg-" || rest[3+app.Digits] != '/' {
		return 0, false
	}
	cluster, ok := number(rest[3 : 3+app.Digits])
	if !ok || cluster >= c.Clusters {
		return 0, false
	}
	rest = rest[3+app.Digits+1:]
	first := cluster * c.KeysPerCluster()
	if name, ok := bytes.CutPrefix(rest, []byte(MemberPath)); ok {
		nameCluster, member, ok := ParseMemberName(name)
		return uint64(first + int(FirstMember) + member), ok && nameCluster == cluster && member < c.Members
	}
	k, ok := ParseKey(rest)
	return uint64(first + int(k)), ok
}

// ParseKey returns the fixed key that has the given name below a cluster's scope. It does not
// recognize members' keys.
func ParseKey(name []byte) (Key, bool) {
	for i, fixedName := range fixedKeys {
		if string(name) == fixedName {
			return Key(i), true
		}
	}
	return 0, false
}

// ParseMemberName returns the cluster and the member in a name that AppendName created.
func ParseMemberName(name []byte) (cluster, member int, ok bool) {
	const head = 3 + app.Digits
	if len(name) < head+2 || string(name[:3]) != "pg-" || name[head] != '-' {
		return 0, 0, false
	}
	cluster, ok = number(name[3:head])
	if !ok {
		return 0, 0, false
	}
	member, ok = number(name[head+1:])
	return cluster, member, ok
}

// number parses a short decimal number.
func number(b []byte) (n int, ok bool) {
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, len(b) > 0 && len(b) < 9
}
