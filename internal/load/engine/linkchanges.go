package engine

// LinkChange is a connection that came or went in the measured window.
type LinkChange struct {
	At       int64 // on the loop's clock
	Endpoint string
	Delta    int  // 1 or -1
	Lost     bool // it broke; else the load moved away from it
}

// mostLinkChanges bounds what is kept of them.
const mostLinkChanges = 1 << 16

// links is how many connections there are to each endpoint, over the measured
// window.
type links struct {
	recording bool
	opened    map[string]int // when the window opened
	changes   []LinkChange
}

// open begins with the connections that the places have. Those of one operation
// each are not counted.
func (k *links) open(cs *connections) {
	k.opened = map[string]int{}
	if k.recording = !cs.brief; !k.recording {
		return
	}
	for _, i := range cs.places {
		c := cs.table[i]
		k.opened[c.endpoint] += btoi(c.linked)
	}
}

// add notes that a place's connection is there. One that is replaced by another
// to the same endpoint has not been gone unless that fails.
func (k *links) add(c *conn, now int64) {
	if !c.linked {
		c.linked = true
		k.change(LinkChange{At: now, Endpoint: c.endpoint, Delta: 1})
	}
}

// remove notes that it is gone.
func (k *links) remove(c *conn, lost bool, now int64) {
	if c.linked {
		c.linked = false
		k.change(LinkChange{At: now, Endpoint: c.endpoint, Delta: -1, Lost: lost})
	}
}

func (k *links) change(to LinkChange) {
	if k.recording && len(k.changes) < mostLinkChanges {
		k.changes = append(k.changes, to)
	}
}
