package replay

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// writtenKey returns the key that a part writes.
func writtenKey(part *call.Part) []byte {
	if part.Flags&call.Sequential != 0 && len(part.End) > 0 {
		return part.End
	}
	return part.Key
}

// containsKey reports whether a part's range of keys contains key.
func containsKey(part *call.Part, key []byte) bool {
	switch part.Scope {
	case call.Prefix:
		return bytes.HasPrefix(key, part.Key)
	case call.LaterPage:
		return bytes.HasPrefix(key, part.End) && bytes.Compare(key, part.Key) >= 0
	case call.FromKey:
		return bytes.Compare(key, part.Key) >= 0
	case call.Interval:
		return bytes.Compare(key, part.Key) >= 0 && bytes.Compare(key, part.End) < 0
	}
	return bytes.Equal(key, part.Key)
}

// wroteKey reports whether a part was executed in the recording and either wrote a key, or removed
// a key that may have existed.
func wroteKey(c *call.Call, part *call.Part) bool {
	if part.Action != call.Write && part.Action != call.Remove {
		return false
	}
	if part.Action == call.Remove && c.KeyCount == 0 {
		return false // no key was removed
	}
	return executed(c, part)
}

// executed reports whether a part was executed in the recording.
func executed(c *call.Call, part *call.Part) bool {
	if !c.OK() {
		return false
	}
	switch part.Branch {
	case call.Then:
		return c.GuardsHeld || !c.Guarded
	case call.Else:
		return c.Guarded && !c.GuardsHeld
	}
	return true
}

// changesKey reports whether a call wrote or removed a key in the recording.
func changesKey(c *call.Call, key []byte) bool {
	for i := range c.Parts {
		part := &c.Parts[i]
		if writes := part.Action == call.Write || part.Action == call.Remove; writes && executed(c, part) && containsKey(part, key) {
			return true
		}
	}
	return false
}

// expectsNoKey reports whether a part is a guard that holds only if its key does not exist.
func expectsNoKey(part *call.Part) bool {
	return part.Action == call.Compare && part.Target <= call.Modified && part.Relation == call.Equal && part.Number == 0
}

// countGuards returns the number of guards in a call.
func countGuards(c *call.Call) (n int) {
	for i := range c.Parts {
		if c.Parts[i].Action == call.Compare {
			n++
		}
	}
	return n
}
