package kubernetes

import (
	"bytes"
	"strconv"
)

// Objects are numbered through, resource by resource: those that are there when the
// load begins and those that it creates. Pods and events come last, and a pod that was
// removed leaves its number.

// Objects is how many there are of each resource in a load, and their numbers.
type Objects struct {
	First  [NumResources + 1]uint32 // number of a resource's first; the last is how many there are
	Before [NumResources]uint32     // of a resource: how many are there before
}

// Of is which resource an object is of, and its place there.
func (o *Objects) Of(number uint32) (Resource, uint32) {
	r := NumResources - 1
	for o.First[r] > number {
		r--
	}
	return r, number - o.First[r]
}

// All is how many objects there are.
func (o *Objects) All() uint32 { return o.First[NumResources] }

// inNamespace is how many objects a namespace has.
const inNamespace = 1000

// Keys makes keys of objects, and reads them. It belongs to one goroutine.
type Keys struct {
	Objects
	prefix string
	run    []byte // in the names of what the load creates: other runs on the store have others
	want   []byte
}

// NewKeys returns the keys of objects below a prefix such as /registry/. The number is
// another one for each load of a store.
func NewKeys(prefix string, o Objects, run uint64) *Keys {
	return &Keys{Objects: o, prefix: prefix, run: strconv.AppendUint(nil, run, 36)}
}

// digits is how many a place has in names, to the base of 36. Names are in the order of
// places.
const digits = 6

func appendPlace(b []byte, place uint32) []byte {
	at := len(b)
	b = append(b, "000000"[:digits]...)
	for i := len(b) - 1; i >= at; i-- {
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[place%36]
		place /= 36
	}
	return b
}

// Append appends an object's key.
func (k *Keys) Append(b []byte, number uint32) []byte {
	r, place := k.Of(number)
	b = append(append(b, k.prefix...), resources[r].path...)
	name := "app-"
	switch r {
	case Nodes:
		name = "node-"
	case MasterLeases: // an address in truth
		name = "apiserver-"
	case Leases:
		if other := int(place) - int(k.First[Leases]-k.First[Nodes]); other >= 0 {
			b, name = append(b, "kube-system/"...), "component-"
		} else {
			b, name = append(b, "kube-node-lease/"...), "node-"
		}
	default:
		b = append(appendPlace(append(b, "ns-"...), place/inNamespace), '/')
	}
	b = appendPlace(append(b, name...), place)
	if place >= k.Before[r] {
		b = append(append(b, '-'), k.run...)
	}
	return b
}

// AppendPath appends what is below the prefix, such as a resource's path.
func (k *Keys) AppendPath(b []byte, path string) []byte {
	return append(append(b, k.prefix...), path...)
}

// Number is the number of the object of a resource that has the key.
func (k *Keys) Number(r Resource, key []byte) (uint32, bool) {
	at := bytes.LastIndexByte(key, '/')
	name := key[at+1:]
	dash := bytes.IndexByte(name, '-')
	if at < 0 || dash < 0 || len(name) < dash+1+digits {
		return 0, false
	}
	place := uint64(0)
	for _, c := range name[dash+1 : dash+1+digits] {
		switch {
		case c >= '0' && c <= '9':
			place = place*36 + uint64(c-'0')
		case c >= 'a' && c <= 'z':
			place = place*36 + uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	if place >= uint64(k.First[r+1]-k.First[r]) {
		return 0, false
	}
	number := k.First[r] + uint32(place)
	k.want = k.Append(k.want[:0], number)
	return number, bytes.Equal(k.want, key)
}
