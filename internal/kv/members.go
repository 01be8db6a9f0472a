package kv

// MaxMembers is how many members a cluster can have, whether it is started here
// or is running already: more than any store of this kind is run with.
const MaxMembers = 99
