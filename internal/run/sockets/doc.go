// Package sockets is what event loops do with sockets on Linux without Go's scheduler: the
// generator's and the relay's. System calls are made so that it does not hear of them
// (docs/decisions/0001), and a loop that has nothing to do is parked (0032). On other
// systems it has nothing.
package sockets
