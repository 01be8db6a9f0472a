package kubernetes

import (
	"bytes"
	"strconv"
)

// Objects are numbered consecutively, resource by resource. Within a resource, the objects that
// exist when the load begins have lower numbers than the objects that the load creates. Pods and
// events are the last resources. The number of a removed pod is not used again.

// Objects holds the range of object numbers of each resource in a load.
type Objects struct {
	// The number of each resource's first object. The last entry is the number of all objects.
	First  [NumResources + 1]uint32
	Before [NumResources]uint32 // by resource: the number of objects that exist when the load begins
}

// Resource returns the resource to which an object belongs, and the object's index within the
// resource.
func (o *Objects) Resource(number uint32) (Resource, uint32) {
	r := NumResources - 1
	for o.First[r] > number {
		r--
	}
	return r, number - o.First[r]
}

// Count returns the number of objects.
func (o *Objects) Count() uint32 { return o.First[NumResources] }

// objectsPerNamespace is the number of objects per namespace.
const objectsPerNamespace = 1000

// Keys encodes and parses the keys of objects. It is not safe for concurrent use.
type Keys struct {
	Objects
	prefix string
	// This part of the names of objects that the load creates differs between loads on the same
	// store.
	run      []byte
	expected []byte
}

// NewKeys returns the keys of objects below a prefix such as /registry/. The number `run` must
// differ between loads on the same store.
func NewKeys(prefix string, o Objects, run uint64) *Keys {
	return &Keys{Objects: o, prefix: prefix, run: strconv.AppendUint(nil, run, 36)}
}

// digits is the number of base-36 digits of an index in a name. Because the number of digits is
// fixed, names sort in the order of their indexes.
const digits = 6

func appendIndex(b []byte, index uint32) []byte {
	at := len(b)
	b = append(b, "000000"[:digits]...)
	for i := len(b) - 1; i >= at; i-- {
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[index%36]
		index /= 36
	}
	return b
}

// Append appends an object's key.
func (k *Keys) Append(b []byte, number uint32) []byte {
	r, index := k.Resource(number)
	b = append(append(b, k.prefix...), resources[r].path...)
	name := "app-"
	switch r {
	case Nodes:
		name = "node-"
	case MasterLeases: // in Kubernetes, the name is an IP address
		name = "apiserver-"
	case Leases:
		if other := int(index) - int(k.First[Leases]-k.First[Nodes]); other >= 0 {
			b, name = append(b, "kube-system/"...), "component-"
		} else {
			b, name = append(b, "kube-node-lease/"...), "node-"
		}
	default:
		b = append(appendIndex(append(b, "ns-"...), index/objectsPerNamespace), '/')
	}
	b = appendIndex(append(b, name...), index)
	if index >= k.Before[r] {
		b = append(append(b, '-'), k.run...)
	}
	return b
}

// AppendPath appends the prefix and then a path, for example a resource's path.
func (k *Keys) AppendPath(b []byte, path string) []byte {
	return append(append(b, k.prefix...), path...)
}

// Number returns the number of the object that has the given key. It returns false if the key does
// not belong to an object of the given resource.
func (k *Keys) Number(r Resource, key []byte) (uint32, bool) {
	at := bytes.LastIndexByte(key, '/')
	name := key[at+1:]
	dash := bytes.IndexByte(name, '-')
	if at < 0 || dash < 0 || len(name) < dash+1+digits {
		return 0, false
	}
	index := uint64(0)
	for _, c := range name[dash+1 : dash+1+digits] {
		switch {
		case c >= '0' && c <= '9':
			index = index*36 + uint64(c-'0')
		case c >= 'a' && c <= 'z':
			index = index*36 + uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	if index >= uint64(k.First[r+1]-k.First[r]) {
		return 0, false
	}
	number := k.First[r] + uint32(index)
	k.expected = k.Append(k.expected[:0], number)
	return number, bytes.Equal(k.expected, key)
}
