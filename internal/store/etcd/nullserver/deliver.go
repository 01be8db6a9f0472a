package nullserver

// due gives the answers that are due, and writes each connection's once.
func (s *server) due(batch []*pending) {
	touched := s.touched
	for _, p := range batch {
		if p == nil {
			s.Hangup()
			continue
		}
		c := p.conn
		c.Lock()
		if !c.Over() && !c.session.closing {
			c.session.due(p)
		}
		c.Unlock()
		if !c.touched {
			c.touched = true
			touched = append(touched, c)
		}
	}
	for _, c := range touched {
		c.touched = false
		c.Lock()
		c.Flush(false)
		c.Unlock()
	}
	clear(touched)
	s.touched = touched[:0]
}
