package patroni

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/load/keys"
)

// values holds reusable memory for building the value that is expected in a response.
type values struct{ key, value []byte }

// identity returns a number that identifies the write of a key's value. For most keys, the number
// identifies the call, and is derived from the log position in the value. For a leader's key, the
// number identifies the member. If the load does not write the key, the identity is that of the
// preloaded value. The identity of a damaged value is keys.NoIdentity.
func (c *chronicle) identity(number uint64, value []byte) uint64 {
	s, v := c.script, &c.values
	each := uint64(s.KeysPerCluster()) // #nosec G115 -- a count
	cluster, k := int(number/each), Key(number%each)
	switch k {
	case Initialize:
		return constantIdentity(value, InitializeValue)
	case ConfigKey:
		return constantIdentity(value, ConfigValue)
	case Leader:
		nameCluster, member, ok := ParseMemberName(value)
		if !ok || nameCluster != cluster || member >= s.Members {
			return keys.NoIdentity
		}
		return keys.Identity(uint64(member)) // #nosec G115 -- a count
	}
	n, ok := ParseCallNumber(value)
	if !ok {
		return keys.NoIdentity
	}
	v.value = v.value[:0]
	switch k {
	case Status:
		v.value = AppendStatus(v.value, cluster, s.Members, n)
	case History:
		_, member, _ := ParseMemberName(lastName(value))
		v.value = AppendHistory(v.value, cluster, member, n)
	default:
		member := int(k - FirstMember)
		if v.value = AppendMember(v.value, member, false, n); len(v.value) != len(value) {
			v.value = AppendMember(v.value[:0], member, true, n)
		}
	}
	if !bytes.Equal(v.value, value) {
		return keys.NoIdentity
	}
	return keys.Identity(n)
}

// constantIdentity returns the identity of a value that always equals `constant`.
func constantIdentity(value []byte, constant string) uint64 {
	if string(value) != constant {
		return keys.NoIdentity
	}
	return keys.Identity(0)
}

// lastName returns the last member name in the value of a history key.
func lastName(value []byte) []byte {
	value = bytes.TrimSuffix(value, []byte(`"]]`))
	return value[bytes.LastIndexByte(value, '"')+1:]
}
