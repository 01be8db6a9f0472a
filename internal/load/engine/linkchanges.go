package engine

// LinkChange records that a connection was opened or closed in the measurement window.
type LinkChange struct {
	At       int64 // on the loop's clock
	Endpoint string
	Delta    int  // 1: opened; -1: closed
	Lost     bool // the connection was lost; if unset, the load moved the place to another endpoint
}

// maxLinkChanges is the maximum number of changes that a loop records.
const maxLinkChanges = 1 << 16

// links counts the connections to each endpoint during the measurement window.
type links struct {
	recording bool
	opened    map[string]int // number of connections by endpoint when the window opened
	changes   []LinkChange
}

// begin counts the places that are connected when the window opens. It ignores connections for
// single operations.
func (k *links) begin(cs *connections) {
	k.opened = map[string]int{}
	if k.recording = !cs.singleUse; !k.recording {
		return
	}
	for _, i := range cs.places {
		c := cs.table[i]
		k.opened[c.endpoint] += countTrue(c.linked)
	}
}

// add must be called when a place is connected. If a connection is replaced by a new connection to
// the same endpoint, the two count as one continuous connection, unless the new connection fails.
func (k *links) add(c *conn, now int64) {
	if !c.linked {
		c.linked = true
		k.record(LinkChange{At: now, Endpoint: c.endpoint, Delta: 1})
	}
}

// remove must be called when a place's connection is closed.
func (k *links) remove(c *conn, lost bool, now int64) {
	if c.linked {
		c.linked = false
		k.record(LinkChange{At: now, Endpoint: c.endpoint, Delta: -1, Lost: lost})
	}
}

func (k *links) record(change LinkChange) {
	if k.recording && len(k.changes) < maxLinkChanges {
		k.changes = append(k.changes, change)
	}
}
