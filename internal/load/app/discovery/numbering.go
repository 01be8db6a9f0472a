package discovery

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// numbering assigns numbers to the instances. The instances of service s have `numbersPerService`
// consecutive numbers, starting at s × numbersPerService. The lowest of these numbers belong to the
// instances that exist before the load. The following numbers belong to the instances that are
// added during the load.
type numbering struct {
	config
	numbersPerService uint32 // number of instance numbers per service
	prefix            string
	slash             byte // separator between the names of the service and the instance
}

// newNumbering returns a numbering for the initial instances and for the instances that are added
// in a load of the given length.
func newNumbering(c config, prefix string, length time.Duration) numbering {
	p := numbering{config: c, numbersPerService: uint32(c.instancesOfService(length)), prefix: prefix, slash: '/'}
	if c.catalog {
		p.slash = '-'
	}
	return p
}

// serviceForClient returns the service that a client uses as its i-th service.
func (p *numbering) serviceForClient(client, i int) uint32 {
	return uint32((client*p.servicesPerClient + i) % p.services)
}

// users returns the clients that use a service.
func (p *numbering) users(service uint32) (clients []uint32) {
	for at := int(service); at < p.clients*p.servicesPerClient; at += p.services {
		clients = append(clients, uint32(at/p.servicesPerClient))
	}
	return clients
}

// count returns how many instance numbers are assigned. The highest instance number is count minus
// one.
func (p *numbering) count() uint32 { return p.numbersPerService * uint32(p.services) }

// existsAtStart reports whether an instance exists at the start of the load.
func (p *numbering) existsAtStart(object uint32) bool {
	return object%p.numbersPerService < uint32(p.instances)
}

// initialInstance returns the n-th of the instances that exist at the start of the load.
func (p *numbering) initialInstance(n uint64) uint32 {
	each := uint64(p.instances)
	return uint32(n/each)*p.numbersPerService + uint32(n%each)
}

// change returns the instance that change i adds and the instance that it removes. Both belong to
// the same service, and the services take turns in the given order. The removed instance is the
// oldest instance of the service.
func (p *numbering) change(order []int, i int) (added, removed uint32) {
	first, k := uint32(order[i%p.services])*p.numbersPerService, uint32(i/p.services)
	return first + uint32(p.instances) + k, first + k
}

func (p *numbering) appendService(b []byte, service uint32) []byte {
	return app.AppendNumber(append(append(b, p.prefix...), 's'), service)
}

// appendKey appends an instance's key, or its ID in the catalog.
func (p *numbering) appendKey(b []byte, object uint32) []byte {
	return app.AppendNumber(append(p.appendService(b, object/p.numbersPerService), p.slash, 'i'), object%p.numbersPerService)
}

// number returns the instance whose key appendKey created. The result `ok` is false for other keys.
func (p *numbering) number(key []byte) (object uint32, ok bool) {
	const digits = app.Digits
	if len(key) != len(p.prefix)+len("s/i")+2*digits || string(key[:len(p.prefix)]) != p.prefix {
		return 0, false
	}
	rest := key[len(p.prefix):]
	service, ok := app.ReadNumber(rest[1 : 1+digits])
	place, fine := app.ReadNumber(rest[len(rest)-digits:])
	if !ok || !fine || rest[0] != 's' || rest[1+digits] != p.slash || rest[2+digits] != 'i' || service >= uint32(p.services) || place >= p.numbersPerService {
		return 0, false
	}
	return service*p.numbersPerService + place, true
}
