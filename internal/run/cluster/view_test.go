package cluster

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// bed feeds responses to a View at times relative to a start time.
type bed struct {
	*View
	t     *testing.T
	began time.Time
}

func newBed(t *testing.T, n int) *bed {
	return &bed{NewView(n), t, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (b *bed) timeAt(d time.Duration) time.Time { return b.began.Add(d) }

// answer feeds a response from member i. The response arrives at the time d, 10 ms after the
// request.
func (b *bed) answer(d time.Duration, i int, m store.Member) []Change {
	return b.Update(i, b.timeAt(d-10*time.Millisecond), b.timeAt(d), m)
}

// silent feeds an error for a request to member i. The request was sent at d - 1 s and was not
// answered within a second.
func (b *bed) silent(d time.Duration, i int) []Change {
	return b.Update(i, b.timeAt(d-time.Second), b.timeAt(d), store.Member{Err: errors.New("no response within the time limit")})
}

func (b *bed) want(got []Change, want ...Change) {
	b.t.Helper()
	for i := range got {
		got[i].Since, got[i].Err = time.Time{}, nil
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the changes are %+v, want %+v", got, want)
	}
}

func (b *bed) leads(want int, term uint64) {
	b.t.Helper()
	if i, at := b.Leader(); i != want || at != term {
		b.t.Errorf("member %d is leader in term %d, want member %d in term %d", i, at, want, term)
	}
}

func leadsIn(id, term uint64) store.Member {
	return store.Member{ID: id, Role: kv.Leader, Term: term, Leader: id}
}

func follows(id, term, leader uint64) store.Member {
	return store.Member{ID: id, Role: kv.Follower, Term: term, Leader: leader}
}

// three returns a cluster whose members have all responded. The first member is leader.
func three(t *testing.T) *bed {
	b := newBed(t, 3)
	b.answer(0, 0, leadsIn(1, 4))
	b.answer(0, 1, follows(2, 4, 1))
	b.answer(0, 2, follows(3, 4, 1))
	return b
}

func TestTheFirstAnswersNameTheLeader(t *testing.T) {
	b := newBed(t, 3)
	b.leads(-1, 0)
	b.want(b.answer(0, 1, follows(2, 4, 1))) // it is not known yet which member has ID 1
	b.want(b.answer(time.Millisecond, 0, leadsIn(1, 4)), Change{Kind: LeaderElected, Member: 0, Term: 4, At: b.timeAt(time.Millisecond)})
	b.leads(0, 4)
}

// The leader is suspended, and another leader is elected. The response of any member is enough to
// know the new leader. Only the suspended member is lost. When it continues, its outdated claims to
// be leader are ignored.
func TestFollowsElectionWhileLeaderIsPaused(t *testing.T) {
	b := three(t)
	b.want(b.answer(900*time.Millisecond, 1, store.Member{ID: 2, Term: 5})) // the member is a candidate
	b.want(b.silent(1000*time.Millisecond, 0))
	elected := b.answer(1100*time.Millisecond, 2, follows(3, 5, 2))
	if len(elected) != 1 || !elected[0].Since.Equal(b.timeAt(-10*time.Millisecond)) {
		t.Errorf("the election's Since should be the last confirmation of the previous leader: %+v", elected)
	}
	b.want(elected, Change{Kind: LeaderElected, Member: 1, Term: 5, PreviousTerm: 4, At: b.timeAt(1100 * time.Millisecond)})
	b.leads(1, 5)
	if got := b.Followers(); !slices.Equal(got, []int{2}) {
		t.Errorf("the followers that respond are %v", got)
	}
	b.want(b.silent(1500*time.Millisecond, 0))
	b.want(b.silent(2500*time.Millisecond, 0), Change{Kind: MemberLost, Member: 0, At: b.timeAt(0)})
	b.want(b.silent(3500*time.Millisecond, 0))
	if b.Members()[0].Err == nil || b.Members()[1].Err != nil {
		t.Errorf("the members are %+v", b.Members())
	}
	// When the old leader continues, it believes at first that it is still leader.
	b.want(b.answer(4000*time.Millisecond, 0, leadsIn(1, 4)),
		Change{Kind: MemberBack, Member: 0, At: b.timeAt(4000 * time.Millisecond)},
		Change{Kind: LeaderRenewed, Member: 0, Term: 5, At: b.timeAt(4000 * time.Millisecond)})
	b.leads(1, 5)
	b.want(b.answer(4100*time.Millisecond, 0, follows(1, 5, 2)))
	if got := b.Followers(); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("the followers are %v", got)
	}
}

// A member is not lost after a slow response. It is not lost after several unanswered requests
// either, if it responded to other requests between them. A process that has exited is lost
// immediately.
func TestMemberIsLostAfterSilence(t *testing.T) {
	b := three(t)
	for k := range 10 {
		d := time.Duration(k) * 3 * time.Second
		b.want(b.silent(d+1000*time.Millisecond, 2))
		b.want(b.silent(d+1900*time.Millisecond, 2))
		b.want(b.answer(d+2500*time.Millisecond, 2, follows(3, 4, 1)))
	}
	gone := store.Member{Err: errors.New("nothing listens there"), ProcessEnded: true}
	at := b.timeAt(40 * time.Second)
	b.want(b.Update(2, at, at, gone), Change{Kind: MemberLost, Member: 2, At: at})
	b.want(b.Update(2, at, at, gone))
	if got := b.Followers(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the followers changed without an election: %v", got)
	}
}

// A member that responds that it cannot serve, for example during an election, is not lost.
func TestUnavailableMemberIsNotLost(t *testing.T) {
	b := three(t)
	for d := range 30 {
		b.want(b.answer(time.Duration(d)*time.Second, 1, store.Member{}))
	}
	if m := b.Members()[1]; m.ID != 2 || m.Role != kv.UnknownRole || m.Err != nil {
		t.Errorf("the unavailable member is %+v", m)
	}
}

// If members report no terms, the periods of leadership are counted.
func TestPeriodsWithoutTerms(t *testing.T) {
	b := newBed(t, 2)
	b.want(b.answer(0, 0, leadsIn(1, 0)), Change{Kind: LeaderElected, Member: 0, Term: 1, At: b.timeAt(0)})
	b.want(b.answer(time.Second, 1, leadsIn(2, 0))) // it is unknown which of the two leaders is the current one
	b.answer(2*time.Second, 0, follows(1, 0, 0))
	b.want(b.answer(3*time.Second, 1, leadsIn(2, 0)), Change{Kind: LeaderElected, Member: 1, Term: 2, PreviousTerm: 1, At: b.timeAt(3 * time.Second)})
	b.leads(1, 2)
}

// For any order and delay of the responses, the leader is that of the highest reported term, and
// terms never decrease.
func TestTheHighestTermCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		b := newBed(t, 5)
		for i := range 5 {
			b.answer(0, i, follows(uint64(i+1), 0, 0)) // reports the member's ID
		}
		leaders := map[uint64]int{}
		highest, before := uint64(0), uint64(0)
		for k := range 60 {
			term := uint64(1 + r.IntN(k+1))
			if _, ok := leaders[term]; !ok {
				leaders[term] = r.IntN(5)
			}
			i, leader := r.IntN(5), leaders[term]
			m := follows(uint64(i+1), term, uint64(leader+1))
			if i == leader {
				m = leadsIn(uint64(i+1), term)
			}
			highest = max(highest, term)
			for _, c := range b.answer(time.Duration(k)*time.Millisecond, i, m) {
				if c.Kind != LeaderElected || c.Term <= before || c.PreviousTerm != before {
					t.Fatalf("the change after term %d is %+v", before, c)
				}
				before = c.Term
			}
			b.leads(leaders[highest], highest)
		}
	}
}
