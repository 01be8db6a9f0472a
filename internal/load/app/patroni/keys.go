package patroni

import (
	"bytes"
	"strconv"
)

// Key is which of a cluster's keys one is. Members' follow, one for each.
type Key uint8

// The keys of a cluster.
const (
	Initialize Key = iota
	ConfigKey
	Leader
	Status
	History
	FirstMember
)

var fixedKeys = [FirstMember]string{"initialize", "config", "leader", "status", "history"}

// MemberPath is where members' keys are below their cluster.
const MemberPath = "members/"

const (
	scopeDigits = 6
	// keySize is about how many bytes a key has behind the prefix.
	keySize = 3 + scopeDigits + 1 + len(MemberPath) + 3 + scopeDigits + 2
)

// PerCluster is how many keys a cluster has.
func (c *Config) PerCluster() int { return int(FirstMember) + c.Members }

// Keys is how many there are.
func (c *Config) Keys() uint64 { return uint64(c.Clusters * c.PerCluster()) }

// MemberKey is the key of a cluster's member.
func MemberKey(member int) Key { return FirstMember + Key(member) }

// AppendScope appends what all keys of a cluster begin with.
func AppendScope(b, prefix []byte, cluster int) []byte {
	return append(appendNumber(append(append(b, prefix...), "pg-"...), cluster), '/')
}

// AppendName appends the name of a member.
func AppendName(b []byte, cluster, member int) []byte {
	b = append(appendNumber(append(b, "pg-"...), cluster), '-')
	return strconv.AppendInt(b, int64(member), 10)
}

func appendNumber(b []byte, n int) []byte {
	for d := 100_000; d > 1 && n < d; d /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// AppendKey appends a cluster's key.
func AppendKey(b, prefix []byte, cluster int, k Key) []byte {
	b = AppendScope(b, prefix, cluster)
	if k < FirstMember {
		return append(b, fixedKeys[k]...)
	}
	return AppendName(append(b, MemberPath...), cluster, int(k-FirstMember))
}

// Number is the number of a key among all, which AppendKey made.
func (c *Config) Number(prefix, key []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(key, prefix)
	if !ok || len(rest) < 3+scopeDigits+1 || string(rest[:3]) != "pg-" || rest[3+scopeDigits] != '/' {
		return 0, false
	}
	cluster, ok := number(rest[3 : 3+scopeDigits])
	if !ok || cluster >= c.Clusters {
		return 0, false
	}
	rest = rest[3+scopeDigits+1:]
	first := cluster * c.PerCluster()
	if name, ok := bytes.CutPrefix(rest, []byte(MemberPath)); ok {
		of, member, ok := Member(name)
		return uint64(first + int(FirstMember) + member), ok && of == cluster && member < c.Members
	}
	k, ok := Named(rest)
	return uint64(first + int(k)), ok
}

// Named is which of a cluster's keys has a name, but for those of its members.
func Named(name []byte) (Key, bool) {
	for i, of := range fixedKeys {
		if string(name) == of {
			return Key(i), true
		}
	}
	return 0, false
}

// Member is whose name it is, as AppendName makes them.
func Member(name []byte) (cluster, member int, ok bool) {
	const head = 3 + scopeDigits
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

// number reads a short decimal number.
func number(b []byte) (n int, ok bool) {
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, len(b) > 0 && len(b) < 9
}
