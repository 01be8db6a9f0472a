// Package testhosts makes several machines of this one, for tests and for
// tools/hostsdemo: hosts with a network and a name of their own, joined by a
// bridge, with an agent on each. All of it lives in a network namespace of a
// process that Again starts, so that the machine's own network is not touched, and
// nothing is left when that process ends in any way. Linux alone has it.
package testhosts
