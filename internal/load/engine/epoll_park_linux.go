package engine

import "golang.org/x/sys/unix"

// Park implements Parking. The beat's timer ends the wait, and beats again after it.
func (p *epoll) Park(until int64) {
	wait := until - p.Now()
	if wait <= 0 || len(p.ready) > 0 || !p.mayPark() {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(wait)}
	if unix.TimerfdSettime(p.beat, 0, &spec, nil) != nil {
		return
	}
	p.park.Wait(p.ep)
	p.SetBeat(p.period)
}

// mayPark makes what parking needs: a timer ends it.
func (p *epoll) mayPark() bool {
	if p.beat < 0 || p.beat == 0 && !p.makeBeat() {
		p.park.End()
	}
	return p.park.Ready()
}
