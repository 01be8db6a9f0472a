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

// linked notes that a place's connection is there. One that is replaced by
// another to the same endpoint has not been gone unless that fails.
func (l *Loop) linked(c *conn) {
	if !c.linked {
		c.linked = true
		l.linkChanged(c.endpoint, 1, false)
	}
}

// unlinked notes that it is gone.
func (l *Loop) unlinked(c *conn, lost bool) {
	if c.linked {
		c.linked = false
		l.linkChanged(c.endpoint, -1, lost)
	}
}

func (l *Loop) linkChanged(endpoint string, delta int, lost bool) {
	if l.measuring && !l.cfg.NewConnection && len(l.res.LinkChanges) < mostLinkChanges {
		l.res.LinkChanges = append(l.res.LinkChanges, LinkChange{At: l.now, Endpoint: endpoint, Delta: delta, Lost: lost})
	}
}

// openLinks counts the connections with which the window opens.
func (l *Loop) openLinks() {
	l.res.Links = map[string]int{}
	if l.cfg.NewConnection {
		return
	}
	for _, i := range l.places {
		c := l.conns[i]
		l.res.Links[c.endpoint] += btoi(c.linked)
	}
}
